package weftest

import (
	"time"
)

// call is a function that the test wants to be called at a time.
type call struct {
	at time.Time
	fn func()
}

// After calls fn when d has passed, on a goroutine of its own. Use it to send a signal while the
// test waits for a result, or to look at the workflow's progress. If several things are due at the
// same time, timers of workflows fire first, and then calls run in the order of After. fn reports
// with t.Error, not with t.Fatal.
func (e *Env) After(d time.Duration, fn func()) {
	c := &call{time.Now().Add(d), fn}
	e.changed(func() { e.calls = append(e.calls, c) })
}

// Sleep lets d pass. It returns when everything that is due by then has happened.
func (e *Env) Sleep(d time.Duration) {
	time.Sleep(d)
	e.Settle()
}

// Settle returns when nothing more can happen unless time passes: activities have run, and
// workflows wait. Use it instead of synctest.Wait, which does not deliver messages.
func (e *Env) Settle() {
	settled := make(chan struct{})
	e.changed(func() { e.settlers = append(e.settlers, settled) })
	select {
	case <-settled:
	case <-e.done:
	}
}

// first returns the index of the call that is due next, or -1 if there is none. e.mu is held.
func (e *Env) first() int {
	place := -1
	for i, c := range e.calls {
		if place < 0 || c.at.Before(e.calls[place].at) {
			place = i
		}
	}
	return place
}

// called returns when the next call is due.
func (e *Env) called() (at time.Time, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.first(); i >= 0 {
		return e.calls[i].at, true
	}
	return at, false
}

// call starts the calls that are due. It returns false if there are none.
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

// missing fails the test if a call has not run, because that call may contain a check.
func (e *Env) missing() {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.calls {
		e.t.Errorf("weftest: the function that env.After was to call at %s has not been called when the test ended, at %s: wait for it with "+
			"env.Sleep, or leave it out", stamp(c.at), stamp(time.Now()))
	}
}
