package weftest

import (
	"time"
)

// call is something that the test wants done at a moment.
type call struct {
	at time.Time
	fn func()
}

// After has fn called when d has passed, on a goroutine of its own: to send a signal while the test waits for a result, or
// to look at how far the workflow is. At one moment timers of workflows come first, and calls in the order in which they
// were given. fn reports with t.Error, not with t.Fatal.
func (e *Env) After(d time.Duration, fn func()) {
	c := &call{time.Now().Add(d), fn}
	e.changed(func() { e.calls = append(e.calls, c) })
}

// Sleep lets time pass, and returns when all that happens until then has happened.
func (e *Env) Sleep(d time.Duration) {
	time.Sleep(d)
	e.Settle()
}

// Settle returns when nothing more can happen without time passing: activities have run, and workflows wait. Use it instead
// of synctest.Wait, which does not deliver messages.
func (e *Env) Settle() {
	settled := make(chan struct{})
	e.changed(func() { e.settlers = append(e.settlers, settled) })
	select {
	case <-settled:
	case <-e.done:
	}
}

// first is the place of the call that comes next; -1 where there is none. e.mu is held.
func (e *Env) first() int {
	place := -1
	for i, c := range e.calls {
		if place < 0 || c.at.Before(e.calls[place].at) {
			place = i
		}
	}
	return place
}

// called is when the next call comes.
func (e *Env) called() (at time.Time, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.first(); i >= 0 {
		return e.calls[i].at, true
	}
	return at, false
}

// call calls what is due; false where nothing is.
func (e *Env) call() bool {
	e.mu.Lock()
	i := e.first()
	if i < 0 || e.calls[i].at.After(time.Now()) {
		e.mu.Unlock()
		return false
	}
	c := e.calls[i]
	e.calls = append(e.calls[:i:i], e.calls[i+1:]...)
	e.mu.Unlock()
	e.spawn(c.fn)
	return true
}

// missing fails the test where a call has not come: it may be the one that would have found something.
func (e *Env) missing() {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.calls {
		e.t.Errorf("weftest: what env.After was given for %s has not been called when the test ended, at %s: wait for it with "+
			"env.Sleep, or leave it out", stamp(c.at), stamp(time.Now()))
	}
}
