package observe

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// remindEvery is the shortest time between two lines about an outage.
const remindEvery = time.Minute

// Outage logs a repeated failure: one line when it begins, at most one a minute while it lasts, and
// one when it has ended. A line has the number of failures since the line before, as times, if
// there is more than one. A failure within a minute of the last line is logged when the minute is
// over. The zero value is ready.
type Outage struct {
	mu     sync.Mutex
	last   time.Time // of the last line about a failure
	failed int       // failures since then
	said   bool      // there was a line, and none about the end
}

// Fails counts a failure, and logs it if a line is due. err may be nil.
func (o *Outage) Fails(log *slog.Logger, level slog.Level, now time.Time, message string, err error, args ...any) {
	o.mu.Lock()
	o.failed++
	times := o.failed
	due := o.last.IsZero() || now.Sub(o.last) >= remindEvery
	if due {
		o.last, o.failed, o.said = now, 0, true
	}
	o.mu.Unlock()
	if due {
		if err != nil {
			args = append(args, "error", err)
		}
		if times > 1 {
			args = append(args, "times", times)
		}
		log.Log(context.Background(), level, message, args...)
	}
}

// Works logs the end of an outage, with the failures that had no line. It does nothing if there was
// no line about one.
func (o *Outage) Works(log *slog.Logger, message string, args ...any) {
	o.mu.Lock()
	said, failed := o.said, o.failed
	if said {
		o.said, o.failed = false, 0
	}
	o.mu.Unlock()
	if said {
		if failed > 0 {
			args = append(args, "times", failed)
		}
		log.Info(message, args...)
	}
}

// Outages are repeated failures of several causes, which the program knows. Each cause has its own
// lines. The zero value is ready.
type Outages struct {
	mu  sync.Mutex
	all []*causedOutage
}

type causedOutage struct {
	cause string
	Outage
}

// Of returns the outage of a cause.
func (o *Outages) Of(cause string) *Outage {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, known := range o.all {
		if known.cause == cause {
			return &known.Outage
		}
	}
	n := &causedOutage{cause: cause}
	o.all = append(o.all, n)
	return &n.Outage
}

// Work is Works for each of the outages. Its lines have their causes.
func (o *Outages) Work(log *slog.Logger, message string) {
	o.mu.Lock()
	all := o.all
	o.mu.Unlock()
	for _, known := range all {
		known.Works(log, message, "cause", known.cause)
	}
}
