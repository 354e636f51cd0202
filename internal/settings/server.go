package settings

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/seed-41655fb1/weft/internal/limits"
)

// Server are the settings of a local server, as kong reads them. A field that was not given is
// empty or nil.
type Server struct {
	Addr         string          `env:"WEFT_ADDR" placeholder:"HOST:PORT" unset:"127.0.0.1:8080" help:"Address to serve the HTTP API at."`
	Data         string          `env:"WEFT_DATA" placeholder:"DIR" unset:".weft" help:"Directory in which everything is stored."`
	AllowedHosts []string        `name:"allowed-hosts" env:"WEFT_ALLOWED_HOSTS" placeholder:"HOST" help:"Names by which the server may be addressed, besides localhost and the address it is bound to, or * for any."`
	CORSOrigins  []string        `name:"cors-origins" env:"WEFT_CORS_ORIGINS" placeholder:"ORIGIN" help:"Origins whose web pages may use the API, as http://localhost:5173, or * for all."`
	WebhookHosts []string        `name:"webhook-hosts" env:"WEFT_WEBHOOK_HOSTS" placeholder:"HOST" unset:"*" help:"Hosts that callers may have notified of the ends of runs, as hooks.example.com, *.example.com or * for all. HTTP and loopback addresses are allowed, too."`
	Auth         *bool           `negatable:"" env:"WEFT_AUTH" help:"Demand the token that is in the file token of the data directory; --no-auth demands none. Without either flag, the server demands it if it is bound to any address but loopback."`
	Page         *bool           `negatable:"" env:"WEFT_PAGE" help:"Serve the web page at /, which is the default; --no-page serves only the API."`
	TLSCert      string          `name:"tls-cert" env:"WEFT_TLS_CERT" placeholder:"FILE" help:"Certificate chain in PEM; with --tls-key, the server speaks HTTPS only."`
	TLSKey       string          `name:"tls-key" env:"WEFT_TLS_KEY" placeholder:"FILE" help:"Private key of the certificate in PEM."`
	Retention    limits.Duration `env:"WEFT_RETENTION" placeholder:"TIME" unset:"168h" help:"How long a run is kept after it has closed, as 48h; at least two hours."`
	DeleteEvery  limits.Duration `env:"WEFT_DELETE_EVERY" placeholder:"TIME" unset:"1m" help:"How often the server deletes what has expired."`
	DeleteAtOnce *int            `env:"WEFT_DELETE_AT_ONCE" placeholder:"N" unset:"200" help:"How many expired items one write deletes, 10,000 at most; 0 is the default."`
	Queues
	Updates
	Keys
	Compression
	LogFailures   *string      `enum:"types,text" env:"WEFT_LOG_FAILURES" placeholder:"types|text" unset:"text on a terminal, types elsewhere" help:"What the log has of a failure in workflows and activities. types: its kind, its type and its place. text: also what the error or the panic says, which may hold payloads."`
	Chain         *bool        `negatable:"" env:"WEFT_CHAIN" help:"Run the activity that follows from another in the process that ran the other, without a message, as a deployment does by default."`
	LargePayloads *bool        `negatable:"" env:"WEFT_LARGE_PAYLOADS" help:"Accept payloads of up to 5 MiB: those that are too large for an item of the table are stored separately. With --no-large-payloads the limit is 256 KiB."`
	MemoryLimit   *limits.Size `env:"WEFT_MEMORY_LIMIT" placeholder:"SIZE" help:"Memory that the process aims to stay within, as 512MiB: GOMEMLIMIT, and the sizes of caches and buffers, follow from it. Without it the limit is half of the machine's or the container's memory. At least 64MiB."`
	Isolate       *int         `env:"WEFT_ISOLATE" placeholder:"N" help:"Run the code of workflows and activities in this many child processes; 0 runs it in the server process."`
	IsolateMemory *int         `env:"WEFT_ISOLATE_MEMORY" placeholder:"MIB" help:"Hard limit of the memory of each child process, in MiB; 0 is half of the machine's, divided among them."`
	IsolateCPUs   *int         `name:"isolate-cpus" env:"WEFT_ISOLATE_CPUS" placeholder:"N" help:"Processors that each child process uses at once; 0 is all."`
}

// Defaults returns the defaults of a local server that are not those of the executor.
func Defaults() (s Server) {
	for _, declared := range Of[Server]() {
		switch to := reflect.ValueOf(&s).Elem().FieldByName(declared.Field).Addr().Interface().(type) {
		case *string:
			*to = declared.Default
		case *limits.Duration:
			mustRead(&declared, to.UnmarshalText([]byte(declared.Default)))
		case **int:
			if declared.Default != "" {
				n, err := strconv.Atoi(declared.Default)
				mustRead(&declared, err)
				*to = &n
			}
		}
	}
	return s
}

// mustRead panics if a default could not be read.
func mustRead(s *Setting, err error) {
	if err != nil {
		panic(fmt.Sprintf("the default of %s: %v", s.Field, err))
	}
}

// Queues are the task queues of a local server. They have flags, and no variables.
type Queues struct {
	TaskQueues limits.TaskQueues `placeholder:"NAME=N@RATE" help:"Task queues, each with how many of its activities run at once, and how many may begin in a second (s), minute (m) or hour (h), as reports=2;slow=8@50/s;mail=@30/m+5 (of which 5 at once); 0 is 64, as the default queue has."`
	Rate       limits.Rate       `placeholder:"RATE" help:"How many activities of the default task queue may begin, as 50/s. Without it, there is no limit."`
}

// Keys are the keys of a data directory.
type Keys struct {
	KeyFile string `name:"key-file" env:"WEFT_KEY_FILE" placeholder:"FILE" help:"File of the keys that encrypt what is stored: a line for each, with an id and 32 bytes in base64. The first encrypts, all of them decrypt."`
}

// Compression says how the contents of a data directory are compressed.
type Compression struct {
	Compress *string `enum:"off,zstd" env:"WEFT_COMPRESS" placeholder:"off|zstd" help:"Compress what is stored: off or zstd."`
}

// Compresses reports whether the contents are compressed; otherwise is the answer if that was not
// given.
func Compresses(c Compression, otherwise bool) bool {
	if c.Compress == nil {
		return otherwise
	}
	return *c.Compress != "off"
}
