// Package limits has the types of the values with which operators bound the updates of a run and
// the activities of a task queue, in the environment and on the command line. Package settings
// declares the settings.
package limits

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

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

// Duration is a time that an operator gives, above 0. The zero Duration was not given.
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

// Size is a number of bytes, written as GOMEMLIMIT is: 512MiB, 2GiB or 1000000.
type Size int64

// UnmarshalText reads a size. The error says what is wrong. 0 is no size, and a negative size is an
// error.
func (s *Size) UnmarshalText(text []byte) error {
	number, unit := string(text), int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n, found := strings.CutSuffix(number, suffix); found {
			number, unit = n, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(number, "B"), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is no size: give for example 512MiB or 2GiB", text)
	}
	*s = Size(n * unit)
	return nil
}
