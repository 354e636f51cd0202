package settings

import (
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/limits"
)

// Updates are the limits of the updates of a run, of functions and of local servers. A missing one
// is 0, which is the default of executor.Defaults.
type Updates struct {
	UpdatesInFlight     limits.Limit `env:"WEFT_UPDATES_IN_FLIGHT" placeholder:"N" parameter:"UpdatesInFlight" wrong:"Give a number above 0, or none." unset:"10" help:"How many updates of a run may be accepted and not completed: a number, or none for no limit."`
	UpdateBytesInFlight limits.Limit `env:"WEFT_UPDATE_BYTES_IN_FLIGHT" placeholder:"N" parameter:"UpdateBytesInFlight" wrong:"Give a number above 0, or none." unset:"20971520" help:"How many bytes the inputs of these updates may have before another update has to wait: a number, or none."`
	UpdatesInTotal      limits.Limit `env:"WEFT_UPDATES_IN_TOTAL" placeholder:"N" parameter:"UpdatesInTotal" wrong:"Give a number above 0, or none." unset:"none" help:"How many updates a run accepts in its life: a number, or none."`
}

// Logging is what a process logs. It has a variable, and no flag.
type Logging struct {
	LogLevel string `env:"WEFT_LOG_LEVEL" reader:"Main" enum:"info,debug,warn,error" parameter:"LogLevel" wrong:"The level is debug, info, warn or error." help:"What the program logs: debug, info, warn or error."`
}

// ServerLogging is what a local server logs besides. It has a variable, and no flag.
type ServerLogging struct {
	LogFormat string `env:"WEFT_LOG_FORMAT" reader:"Main" enum:"console,json,text" unset:"console on a terminal, json elsewhere" help:"The form of the log. console: for people. json: a line of JSON, with the fields of Lambda's own lines. text: key=value. NO_COLOR and TERM=dumb leave out the colours of console."`
}

// EngineLimits returns limits of updates as the engine takes them.
func EngineLimits(u Updates) engine.Limits {
	return engine.Limits{
		UpdatesInFlight: int(u.UpdatesInFlight), UpdateBytesInFlight: int(u.UpdateBytesInFlight), UpdatesInTotal: int(u.UpdatesInTotal),
	}
}
