// Package limits is how operators bound the updates of a run, and the activities of a task queue: in the environment, and on the command line.
//
//	variable                       flag                        default
//	─────────────────────────────  ──────────────────────────  ────────
//	WEFT_UPDATES_IN_FLIGHT         --updates-in-flight         10
//	WEFT_UPDATE_BYTES_IN_FLIGHT    --update-bytes-in-flight    20 MiB
//	WEFT_UPDATES_IN_TOTAL          --updates-in-total          none
//
// Each is a number above 0, or the word none.
//
// And how many activities of a task queue they let begin: see Rate.
package limits

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-41655fb1/weft/engine"
)

// Flags are the limits on a command line, for kong. One that is not given is 0, which is the default; the defaults are those of
// turn.Defaults.
type Flags struct {
	UpdatesInFlight     Limit `env:"WEFT_UPDATES_IN_FLIGHT" placeholder:"N" help:"How many updates of a run may be accepted and not completed: a number, or none for no limit (10)."`
	UpdateBytesInFlight Limit `env:"WEFT_UPDATE_BYTES_IN_FLIGHT" placeholder:"N" help:"From how many bytes of their inputs on another one has to wait: a number, or none (20971520)."`
	UpdatesInTotal      Limit `env:"WEFT_UPDATES_IN_TOTAL" placeholder:"N" help:"How many updates a run accepts in its life: a number, or none (none)."`
}

// Engine is the limits for the engine.
func (f *Flags) Engine() engine.Limits {
	return engine.Limits{
		UpdatesInFlight: int(f.UpdatesInFlight), UpdateBytesInFlight: int(f.UpdateBytesInFlight), UpdatesInTotal: int(f.UpdatesInTotal),
	}
}

// Environment reads the limits from variables. One that is not set is 0, which is the default. All that is wrong is in the
// error.
func Environment(get func(string) string) (engine.Limits, error) {
	var f Flags
	var wrong []error
	for _, v := range []struct {
		name  string
		limit *Limit
	}{
		{"WEFT_UPDATES_IN_FLIGHT", &f.UpdatesInFlight},
		{"WEFT_UPDATE_BYTES_IN_FLIGHT", &f.UpdateBytesInFlight},
		{"WEFT_UPDATES_IN_TOTAL", &f.UpdatesInTotal},
	} {
		if text := get(v.name); text != "" {
			if err := v.limit.UnmarshalText([]byte(text)); err != nil {
				wrong = append(wrong, fmt.Errorf("%s is %w", v.name, err))
			}
		}
	}
	return f.Engine(), errors.Join(wrong...)
}

// Limit is a limit as an operator gives it. 0 is the default, and None is no limit.
type Limit int

// None is no limit.
const None Limit = -1

// UnmarshalText reads a number above 0, or the word none.
func (l *Limit) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*l = None
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n <= 0 {
		return fmt.Errorf("%q: give a number above 0, or none for no limit", text)
	}
	*l = Limit(n)
	return nil
}

// Duration is a time as an operator gives it, above 0. The zero Duration was not given.
type Duration time.Duration

// UnmarshalText reads a time as Go writes it: 90s, 10m, 48h.
func (d *Duration) UnmarshalText(text []byte) error {
	t, err := time.ParseDuration(string(text))
	if err != nil || t <= 0 {
		return fmt.Errorf("%q: give a time above 0, as 90s, 10m or 48h", text)
	}
	*d = Duration(t)
	return nil
}
