package limits

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is how many attempts at the activities of a task queue may begin. The zero value is no
// limit.
type Rate struct {
	// PerSecond is how many on average: from one in an hour to 1,000.
	PerSecond float64
	// Burst is how many may begin at once when none has begun for a while; 0 is those of one
	// second, but at least 1.
	Burst int
}

// The bounds of a rate. Above the highest, the mark of a queue could not be written fast enough: it
// is one item of a table.
const (
	leastPerSecond = 1.0 / 3600
	mostPerSecond  = 1000
	mostBurst      = 100_000
)

// Limited reports whether there is a limit.
func (r Rate) Limited() bool { return r.PerSecond > 0 }

// Every returns the time from one attempt to the next, in microseconds, rounded up.
func (r Rate) Every() time.Duration {
	return time.Duration(math.Ceil(float64(time.Second/time.Microsecond)/r.PerSecond)) * time.Microsecond
}

// AtOnce returns how many attempts may begin at once.
func (r Rate) AtOnce() int {
	if r.Burst > 0 {
		return r.Burst
	}
	return int(math.Ceil(r.PerSecond))
}

// Check returns an error if a rate is invalid.
func (r Rate) Check() error {
	switch {
	case r == Rate{}:
		return nil
	case r.PerSecond == 0:
		return fmt.Errorf("a burst of %d without a rate: give the rate, too", r.Burst)
	case !(r.PerSecond >= leastPerSecond && r.PerSecond <= mostPerSecond): // NaN is refused, too
		return fmt.Errorf("a rate of %v in a second: give one from 1 in an hour to %d in a second", r.PerSecond, mostPerSecond)
	case r.Burst < 0 || r.Burst > mostBurst:
		return fmt.Errorf("a burst of %d: give one up to %d, or 0 for those of a second", r.Burst, mostBurst)
	}
	return nil
}

// UnmarshalText reads a rate as 50/s, 30/m or 10/h, with a burst as 50/s+100.
func (r *Rate) UnmarshalText(text []byte) error {
	rate, burst, bursts := strings.Cut(string(text), "+")
	number, unit, _ := strings.Cut(rate, "/")
	n, err := strconv.ParseFloat(number, 64)
	per := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if err != nil || per == 0 || n <= 0 {
		return errRate(text)
	}
	*r = Rate{PerSecond: n / per}
	if bursts {
		if r.Burst, err = strconv.Atoi(burst); err != nil || r.Burst == 0 {
			return errRate(text)
		}
	}
	return r.Check()
}

func errRate(text []byte) error {
	return fmt.Errorf("%q is no rate: give a number in a second, a minute or an hour, as 50/s, 30/m or 10/h, and a burst if you like, as 50/s+100", text)
}

// PerSecond is the PerSecond of a Rate in the variable of a function; 0 is no limit.
type PerSecond float64

// UnmarshalText reads a number, as 50 or 0.5.
func (p *PerSecond) UnmarshalText(text []byte) error {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: give a number of attempts in a second, as 50 or 0.5, or 0 for any number", text)
	}
	*p = PerSecond(n)
	return nil
}

// Burst is the Burst of a Rate in the variable of a function.
type Burst int

// UnmarshalText reads a number.
func (b *Burst) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return fmt.Errorf("%q: give a number of attempts, or 0 for those of a second", text)
	}
	*b = Burst(n)
	return nil
}

// TaskQueue is how one process serves a task queue.
type TaskQueue struct {
	// AtOnce is how many of its activities run at once; 0 is as many as of the default queue.
	AtOnce int
	Rate   Rate
}

// UnmarshalText reads how many at once, a rate after an @, or both: 2, 2@50/s, @50/s.
func (q *TaskQueue) UnmarshalText(text []byte) error {
	atOnce, rate, rated := strings.Cut(string(text), "@")
	*q = TaskQueue{}
	if atOnce != "" || !rated {
		n, err := strconv.Atoi(atOnce)
		if err != nil || n < 0 {
			return fmt.Errorf("%q: give how many activities run at once, as 2, and their rate after an @, as 2@50/s or @50/s", text)
		}
		q.AtOnce = n
	}
	if !rated {
		return nil
	}
	return q.Rate.UnmarshalText([]byte(rate))
}

// TaskQueues are task queues by their names.
type TaskQueues map[string]TaskQueue

// UnmarshalText reads them as reports=2;slow=8@50/s, and adds them to those that all has.
func (all *TaskQueues) UnmarshalText(text []byte) error {
	if *all == nil {
		*all = TaskQueues{}
	}
	for one := range strings.SplitSeq(string(text), ";") {
		name, value, named := strings.Cut(one, "=")
		if !named {
			return fmt.Errorf("%q: give a name and how many activities run at once, as reports=2, and others after a semicolon", one)
		}
		var q TaskQueue
		if err := q.UnmarshalText([]byte(value)); err != nil {
			return fmt.Errorf("task queue %q: %w", name, err)
		}
		(*all)[name] = q
	}
	return nil
}
