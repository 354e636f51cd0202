package sim

import (
	"context"
	"encoding/binary"
	"time"
)

// world is the simulation as the host.Host of its processes.
type world struct {
	s *simulation
	p *process
}

// Now returns the time by the clock of the process.
func (w world) Now() time.Time { return w.s.clock(w.p) }

// ID returns a new id, which is derived from the seed.
func (w world) ID() (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], w.s.ids.Uint64())
	binary.BigEndian.PutUint64(id[8:], w.s.ids.Uint64())
	return id
}

// Wait leaves the actor until its wait has ended.
func (w world) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	w.s.pause(wait{until: w.s.now.Add(d), wake: wake, ctx: ctx})
	return ctx.Err()
}

// Guard calls fn in this goroutine, because there are no others.
func (w world) Guard(_ time.Duration, fn func()) bool {
	fn()
	return true
}

// Within lets another actor of the process call fn.
func (w world) Within(limit time.Duration, fn func()) bool {
	s, me := w.s, w.s.running
	a := s.spawn(me.name+" goes on", me.process, fn)
	until := s.now.Add(limit)
	for !a.ended && s.now.Before(until) {
		s.pause(wait{until: until, wake: a.gone})
	}
	me.did.add(a.did)
	return a.ended
}

// Together calls the functions one after the other. Other actors call those of an invocation that
// handles a batch of messages, as other goroutines do in a Lambda function.
func (w world) Together(fns ...func()) {
	if w.s.running.invokes {
		w.s.together(fns)
		return
	}
	for _, fn := range fns {
		fn()
	}
}

// WithTimeout returns a context that ends at a time of the simulation.
func (w world) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	t := &timed{Context: ctx, s: w.s, deadline: w.s.now.Add(d)}
	return t, func() { t.canceled = true }
}

// timed is a context with a deadline in the simulation's time. Nobody selects on its Done.
type timed struct {
	context.Context
	s        *simulation
	deadline time.Time
	canceled bool
}

// Deadline returns its own deadline or its parent's, whichever is earlier.
func (t *timed) Deadline() (time.Time, bool) {
	if outer, ok := t.Context.Deadline(); ok && outer.Before(t.deadline) {
		return outer, true
	}
	return t.deadline, true
}

// Err returns why the context has ended, or nil.
func (t *timed) Err() error {
	switch {
	case t.canceled:
		return context.Canceled
	case t.Context.Err() != nil:
		return t.Context.Err()
	case !t.s.now.Before(t.deadline):
		return context.DeadlineExceeded
	}
	return nil
}
