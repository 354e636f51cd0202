package weft

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/isolate"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/seal"
)

// Flags are the flags and environment variables of a local server, for kong. Main parses them, and a program with a command line of its
// own can embed them. No flag has a default here: a field that was not given is empty, and Over leaves the option alone then.
type Flags struct {
	Addr         string   `env:"WEFT_ADDR" placeholder:"HOST:PORT" help:"Address to serve the HTTP API at (127.0.0.1:8080)."`
	Data         string   `env:"WEFT_DATA" placeholder:"DIR" help:"Directory in which everything is kept (.weft)."`
	AllowedHosts []string `name:"allowed-hosts" env:"WEFT_ALLOWED_HOSTS" placeholder:"HOST" help:"Names by which the server may be asked, besides localhost and the address it is bound to, or * for any."`
	CORSOrigins  []string `name:"cors-origins" env:"WEFT_CORS_ORIGINS" placeholder:"ORIGIN" help:"Origins whose web pages may use the API, as http://localhost:5173, or * for all."`
	Auth         *bool    `negatable:"" env:"WEFT_AUTH" help:"Demand the token in the file token of the data directory; --no-auth demands none. Without either, a server that is bound to anything but loopback demands it."`
	TLSCert      string   `name:"tls-cert" env:"WEFT_TLS_CERT" placeholder:"FILE" help:"Certificate chain in PEM; with --tls-key, the server speaks HTTPS only."`
	TLSKey       string   `name:"tls-key" env:"WEFT_TLS_KEY" placeholder:"FILE" help:"Private key of the certificate in PEM."`
	Retention    Duration `env:"WEFT_RETENTION" placeholder:"TIME" help:"How long a run is kept after it has closed, as 48h; two hours at least (168h)."`
	DeleteEvery  Duration `env:"WEFT_DELETE_EVERY" placeholder:"TIME" help:"How often the server looks for what has expired, and deletes it (1m)."`
	DeleteAtOnce *int     `env:"WEFT_DELETE_AT_ONCE" placeholder:"N" help:"How many expired items one write deletes, 10,000 at most; 0 is the default (200)."`
	limits.QueueFlags
	limits.Flags
	seal.KeyFlags
	local.MemoryFlags
	isolate.ProcessFlags
}

// Duration is a time as an operator gives it: 90s, 10m, 48h. The zero Duration was not given.
type Duration = limits.Duration

// AfterApply refuses --auth beside --no-auth, of which the last would hold. Either replaces WEFT_AUTH.
func (f *Flags) AfterApply(c *kong.Context) error {
	auth := slices.ContainsFunc(c.Args, func(arg string) bool { return arg == "--auth" || strings.HasPrefix(arg, "--auth=") })
	if auth && slices.Contains(c.Args, "--no-auth") {
		return errors.New("--auth and --no-auth are both given: choose one")
	}
	return nil
}

// Over returns o with what was given on the command line or in the environment in place of what o has. A flag that was given as 0 is 0; a
// text or a list that is empty was not given.
func (f *Flags) Over(o Options) Options {
	replace(&o.Addr, f.Addr)
	replace(&o.Data, f.Data)
	replace(&o.TLSCert, f.TLSCert)
	replace(&o.TLSKey, f.TLSKey)
	replace(&o.KeyFile, f.KeyFile)
	replace(&o.Retention, time.Duration(f.Retention))
	replace(&o.DeleteEvery, time.Duration(f.DeleteEvery))
	replace(&o.Rate, f.Rate)
	replace(&o.MemoryLimit, int64(f.MemoryLimit))
	replaceAll(&o.AllowedHosts, f.AllowedHosts)
	replaceAll(&o.CORSOrigins, f.CORSOrigins)
	given := f.Engine()
	replace(&o.Limits.UpdatesInFlight, given.UpdatesInFlight)
	replace(&o.Limits.UpdateBytesInFlight, given.UpdateBytesInFlight)
	replace(&o.Limits.UpdatesInTotal, given.UpdatesInTotal)
	o.Isolate = f.ProcessFlags.Over(o.Isolate)
	if f.DeleteAtOnce != nil {
		o.DeleteAtOnce = *f.DeleteAtOnce
	}
	if f.Auth != nil {
		o.Auth, o.NoAuth = *f.Auth, !*f.Auth
	}
	if f.Compress != nil {
		o.Compress = *f.Compress != "off"
	}
	if f.LargePayloads != nil {
		o.SmallPayloads = !*f.LargePayloads
	}
	if len(f.TaskQueues) > 0 {
		all := map[string]TaskQueue{}
		maps.Copy(all, o.TaskQueues)
		maps.Copy(all, f.TaskQueues)
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

// replaceAll sets a list if one was given.
func replaceAll(option *[]string, given []string) {
	if len(given) > 0 {
		*option = given
	}
}
