package weft

import (
	"cmp"
	"io"
	"log/slog"
	"maps"
	"net"
	"reflect"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/isolate"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// Options are the settings of a local server. The zero value serves at 127.0.0.1:8080 and keeps
// everything in .weft.
type Options struct {
	// Addr is the address to serve at; empty is 127.0.0.1:8080.
	Addr string
	// Data is the directory in which this process alone keeps everything; empty is .weft.
	Data string
	// Backend opens a store, queues and blobs of the program's own, which replace those in Data;
	// nil uses Data. With a Backend, Data holds only the token and the record of code that ended
	// the process, and there is no backup over HTTP.
	Backend backend.Open
	// AllowedHosts are host names that a request may name, besides localhost, loopback addresses,
	// the host of Addr, and the address that the connection was made to. "*" is any name: web pages
	// of others can then reach the server by DNS rebinding.
	AllowedHosts []string
	// Auth demands a bearer token, and NoAuth demands none. Without either, the server demands one
	// unless it is bound to loopback. The token is in the file token of Data, with mode 0600. The
	// first start creates it and prints it once.
	Auth, NoAuth bool
	// NoPage serves only the API, and no web page at /.
	NoPage bool
	// TLSCert and TLSKey are PEM files: a certificate chain and its private key. With both, the
	// server speaks HTTPS only, with TLS 1.2 or later. It reads them once.
	TLSCert, TLSKey string
	// Retention is how long a closed run is kept, two hours at least; 0 is a week. A run keeps the
	// retention that was set when it started.
	Retention time.Duration
	// DeleteEvery is how often the server deletes what has expired, a second at least; 0 is a
	// minute. DeleteAtOnce is how many items one write deletes, 10,000 at most; 0 is 200. Other
	// writes run in between.
	DeleteEvery  time.Duration
	DeleteAtOnce int
	// CORSOrigins are the origins whose web pages may use the API, such as http://localhost:5173,
	// or * for all. If it is empty, a page of another origin can neither read a response nor write
	// anything.
	CORSOrigins []string
	// WebhookHosts are the hosts that callers may have notified of the ends of runs: a name, *. and
	// a name for all names below it, or * for all. If it is empty, all are. Private addresses are
	// never connected to, and loopback addresses are.
	WebhookHosts []string
	// Limits bounds the updates of a run. A field that is 0 has its default (10 in flight, 20 MiB
	// of their inputs, any number in total); a negative field is no limit.
	Limits engine.Limits
	// KeyFile is a file of keys that encrypt all inputs, results and other payloads in Data; empty
	// encrypts nothing. Each line is a key: an id, and 32 bytes in base64. The first key encrypts,
	// and all keys decrypt. If the first line is "none", nothing new is encrypted. docs/security.md
	// has the rest.
	KeyFile string
	// Compress compresses stored payloads of 1 KiB or more.
	Compress bool
	// SmallPayloads refuses payloads of more than 256 KiB, as a deployment without a bucket does.
	// Otherwise they may have 5 MiB: what is too large for an item of a table is kept separately,
	// in Data.
	SmallPayloads bool
	// Chain runs the activity that follows from another in the process that ran the other, without
	// a message, as if its author had set activity.Options.Inline. A deployment does so by default.
	Chain bool
	// TaskQueues are task queues for activities, besides those that activities are declared with.
	// Each has the number of its activities that run at once, where 0 is 64 as on the default
	// queue, and an optional rate.
	TaskQueues map[string]TaskQueue
	// Rate is that of the default task queue.
	Rate Rate
	// MemoryLimit is how many bytes of memory the process aims to stay within. GOMEMLIMIT and the
	// sizes of caches and buffers follow from it. 0 keeps the limit that the process has.
	MemoryLimit int64
	// Isolate runs the code of workflows and activities in child processes, which are this program
	// executed again. The zero value runs it in this process. docs/operations.md says what that
	// costs and what it protects.
	Isolate Isolation
	// Greeting prints a text when the server is ready; nil prints how to start the first workflow.
	// The argument is the server's base URL. If callers need a token, the server adds its header to
	// the curl commands of the text.
	Greeting func(out io.Writer, url string)
	// Log receives the messages for operators; nil is slog.Default. Payloads are never logged,
	// unless LogFailures is "text".
	Log *slog.Logger
	// LogFailures is what the log has of a failure in workflows and activities: with "types" its
	// kind, its type and its place, and with "text" also what the error or the panic says, which
	// may hold payloads. Empty is "types", except that Main uses "text" if it logs to a terminal.
	LogFailures string
	// Telemetry opens the exporter of spans and metrics: weftotel.Open, which the program has to
	// import. nil exports nothing.
	Telemetry Telemetry
}

// Telemetry opens the exporter of spans and metrics. weftotel.Open is one.
type Telemetry = observe.Open

// Isolation is how code is isolated:
//
//   - Children is the number of child processes; 0 is none.
//   - MemoryMiB is the hard limit of the memory of each in MiB; 0 is half of the machine's divided
//     by Children.
//   - CPUs is the GOMAXPROCS of each; 0 is Go's default.
type Isolation = isolate.Limits

// TaskQueue limits the activities of a task queue: AtOnce is how many run at once, 0 for 64, and
// Rate is how many may begin.
type TaskQueue = limits.TaskQueue

// Rate is how many attempts at activities of a task queue may begin: PerSecond on average, from one
// an hour to 1,000 a second, and Burst at once after a pause. A Burst of 0 is those of one second,
// and 1 at least. The zero Rate is no limit.
type Rate = limits.Rate

// webhooks returns the receivers that may be notified of the ends of runs.
func (o *Options) webhooks() (guard.Policy, error) {
	allowed, err := guard.Parse(cmp.Or(strings.Join(o.WebhookHosts, ","), "*"))
	allowed.Local = true
	return allowed, err
}

// local returns the settings of the server that is bound to an address, which it serves at url.
func (o *Options) local(bound net.Addr, url string, keys codec.Keys, hub *observe.Hub) local.Options {
	webhooks, _ := o.webhooks() // run has checked it
	return local.Options{
		URL: url, Dir: o.Data, Backend: o.Backend, Origins: o.CORSOrigins, Hosts: append([]string{local.HostOf(o.Addr)}, o.AllowedHosts...),
		Auth: o.Auth || !o.NoAuth && !local.IsLoopback(bound), NoPage: o.NoPage, DeleteEvery: o.DeleteEvery, DeleteAtOnce: o.DeleteAtOnce,
		Keys: keys, Compress: o.Compress, LargePayloads: !o.SmallPayloads, TaskQueues: o.TaskQueues, Rate: o.Rate, Log: o.Log, LogFailures: o.LogFailures, MemoryLimit: o.MemoryLimit, Isolate: isolate.OptionsOf(o.Isolate),
		Executor: executor.Options{Engine: engine.Options{Limits: o.Limits, Chain: o.Chain}, Retention: o.Retention, Observe: hub, CheckLooks: checkedLooks, Webhooks: webhooks},
	}
}

// Over returns o with each option replaced that was given on the command line or in the
// environment. A number or a size that was given as 0 sets 0. An empty text, list or variable, and
// a duration of 0, count as not given. Of a rate or a task queue only the given parts replace those
// of o.
func (f *Flags) Over(o Options) Options {
	replaceAll(reflect.ValueOf(&o).Elem(), reflect.ValueOf(f.Server))
	given := settings.EngineLimits(f.Updates)
	replace(&o.Limits.UpdatesInFlight, given.UpdatesInFlight)
	replace(&o.Limits.UpdateBytesInFlight, given.UpdateBytesInFlight)
	replace(&o.Limits.UpdatesInTotal, given.UpdatesInTotal)
	o.Isolate = isolate.ReplaceLimits(o.Isolate, f.Isolate, f.IsolateMemory, f.IsolateCPUs)
	if f.Auth != nil {
		o.Auth, o.NoAuth = *f.Auth, !*f.Auth
	}
	if f.Page != nil {
		o.NoPage = !*f.Page
	}
	o.Compress = settings.Compresses(f.Compression, o.Compress)
	if f.LargePayloads != nil {
		o.SmallPayloads = !*f.LargePayloads
	}
	o.Rate = options.Merge(o.Rate, f.Rate)
	if len(f.TaskQueues) > 0 {
		all := map[string]TaskQueue{}
		maps.Copy(all, o.TaskQueues)
		for name, given := range f.TaskQueues {
			all[name] = options.Merge(all[name], given)
		}
		o.TaskQueues = all
	}
	return o
}

// replace sets an option if a value was given.
func replace[T comparable](option *T, given T) {
	var none T
	if given != none {
		*option = given
	}
}

// replaceAll sets each option in all from the given flag of the same name, if the types match.
func replaceAll(all, flags reflect.Value) {
	for i := range flags.NumField() {
		field, given := flags.Type().Field(i), flags.Field(i)
		if field.Anonymous {
			replaceAll(all, given)
			continue
		}
		option := all.FieldByName(field.Name)
		none := given.IsZero() || given.Kind() == reflect.Slice && given.Len() == 0
		given = reflect.Indirect(given)
		if none || !option.IsValid() || given.Kind() == reflect.Map || given.Kind() == reflect.Struct {
			continue // it was not given, or Over merges it
		}
		if given.CanConvert(option.Type()) {
			option.Set(given.Convert(option.Type()))
		}
	}
}
