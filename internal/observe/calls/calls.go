// Package calls wraps the ports of a process and counts the calls that failed: those that the table
// or a queue refused, throttled or did not answer, and those of KMS and S3. Its wrappers are around
// the adapters, so a failure that a retry of an adapter absorbs is not seen here.
//
// These are no failures, because the service works:
//
//   - a condition that does not hold, and contention between transactions;
//   - a body that is too large, a body that is damaged, and a wrong page token;
//   - a call whose caller has left, and one that its caller's deadline has ended within 5 s.
//
// A write whose outcome is unknown is not repeated by its adapter, but by its caller. It counts if
// the call of the same method before it had no answer either.
package calls

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// patience is how long a call has waited that counts as unanswered when its caller's deadline ends
// it: longer than two tries without an answer.
const patience = 5 * time.Second

// Calls counts the calls of a process that failed. It is safe for concurrent use. It logs a line
// at level warn for each service and verdict, once a minute at most.
type Calls struct {
	options Options
	outages observe.Outages // by service and verdict
}

// Options are the options of Calls.
type Options struct {
	// Observe gets an event for each failed call; nil is nobody.
	Observe *observe.Hub
	// Log gets the lines; nil is slog.Default.
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// New returns Calls that have counted nothing.
func New(o Options) *Calls {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Calls{options: o}
}

// messages are the messages of lines.
var messages = map[observe.Service]string{
	observe.ServiceStore:   "a call of the store failed",
	observe.ServiceQueue:   "a call of a queue failed",
	observe.ServicePayload: "a call of what encrypts payloads, or keeps large ones, failed",
}

// Ports wraps the ports of a process: its stores, and its queues.
func (c *Calls) Ports(p executor.Ports) executor.Ports {
	p.Log, p.Attempts, p.Timers, p.Queue = c.Log(p.Log), c.attempts(p.Attempts), c.timers(p.Timers), c.sender(p.Queue)
	if p.Lister != nil {
		p.Lister = c.lister(p.Lister)
	}
	if p.Keys != nil {
		p.Keys = c.signing(p.Keys)
	}
	if p.Rates != nil {
		p.Rates = c.rates(p.Rates)
	}
	if p.Eraser != nil {
		p.Eraser = c.eraser(p.Eraser)
	}
	if p.Scanner != nil {
		p.Scanner = c.scanner(p.Scanner)
	}
	if p.Inspector != nil {
		p.Inspector = c.inspector(p.Inspector)
	}
	if p.Redriver != nil {
		p.Redriver = c.redriver(p.Redriver)
	}
	if p.Keeper != nil {
		p.Keeper = &keeper{p.Keeper, c.ofQueue("Keep")}
	}
	return p
}

// method is a method of a port.
type method struct {
	calls   *Calls
	service observe.Service
	name    string
	// silent says that the last call that ended had no answer.
	silent atomic.Bool
}

func (c *Calls) method(of observe.Service, name string) *method {
	return &method{calls: c, service: of, name: name}
}

// now returns the time.
func (m *method) now() time.Time { return m.calls.options.Now() }

// ended reports the end of a call that began at a moment.
func (m *method) ended(ctx context.Context, began time.Time, err error, attrs ...any) {
	if err == nil {
		m.answered()
		return
	}
	now := m.now()
	verdict, final := judge(err)
	switch ended := ctx.Err(); {
	case errors.Is(ended, context.Canceled) || errors.Is(err, context.Canceled):
		return
	case verdict == "":
		m.answered()
		return
	case verdict != observe.VerdictUnanswered:
		m.answered()
	case ended != nil && now.Sub(began) < patience:
		return // the caller had no time for an answer
	case ended == nil && !final && !m.silent.Swap(true):
		return // the caller repeats it
	}
	m.calls.fails(ctx, now, m.service, verdict, err, append([]any{"operation", m.name}, attrs...))
}

func (m *method) answered() {
	if m.silent.Load() {
		m.silent.Store(false)
	}
}

// fails counts a failed call and logs it, if a line is due.
func (c *Calls) fails(ctx context.Context, now time.Time, of observe.Service, verdict observe.Verdict, err error, attrs []any) {
	f := observe.CallFailure{Service: of, Verdict: verdict}
	c.options.Observe.Observe(ctx, &f)
	attrs = append([]any{"cause", string(of), "verdict", string(verdict)}, attrs...)
	if code := codeOf(err); code != "" {
		attrs = append(attrs, "code", code)
	}
	c.outages.Of(string(of)+" "+string(verdict)).Fails(c.options.Log, slog.LevelWarn, now, messages[of], err, attrs...)
}
