package command

import (
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Waiting says how long a request waits for what has not happened yet.
type Waiting struct {
	wait, waited time.Duration
	asked        bool
	streams      bool
}

// Waits reports whether the request waits, also if its time is over: see AtMost.
func (w Waiting) Waits() bool { return w.asked }

// Wait returns how long the request waits; 0 is not at all. It is not negative.
func (w Waiting) Wait() time.Duration { return w.wait }

// Waited returns how long its caller had waited before, with the requests of the same call, since
// the last news. It is not negative, and at most mostWaited.
func (w Waiting) Waited() time.Duration { return w.waited }

// Streams reports whether the answer becomes a part of a stream of server-sent events, whose reader
// does not pause.
func (w Waiting) Streams() bool { return w.streams }

// AtMost returns the same wait, cut to d; a negative d is 0.
func (w Waiting) AtMost(d time.Duration) Waiting {
	w.wait = min(w.wait, max(d, 0))
	return w
}

// mostWaited is the longest time that a caller counts as having waited.
const mostWaited = 10 * 365 * 24 * time.Hour

// waiting parses how long a request waits. wait is a duration such as "20s"; if it is empty, the
// request does not wait.
func (p *Parser) waiting(wait string) (Waiting, error) {
	d := time.Duration(0)
	if wait != "" {
		var err error
		if d, err = time.ParseDuration(wait); err != nil || d < 0 {
			return Waiting{}, refusal.Invalid.New("wait is not a duration: give for example wait=20s")
		}
	}
	return p.waitingFor(d)
}

// waitingFor is waiting for a wait that is parsed already.
func (p *Parser) waitingFor(wait time.Duration) (Waiting, error) {
	w := Waiting{wait: wait, asked: wait > 0, streams: p.Streams}
	if len(p.Waited) == 0 {
		return w, nil
	}
	d, err := time.ParseDuration(strings.Join(p.Waited, ", ")) // several are as wrong as one that is empty
	if err != nil || d < 0 {
		return Waiting{}, refusal.Invalid.New("the header Weft-Waited is not a duration: give how long the call has waited, for example 3.25s, or no header")
	}
	w.waited = min(d, mostWaited)
	return w, nil
}
