package coro

import "github.com/seed-41655fb1/weft/engine/failure"

// Scope can be canceled, and with it everything that waits under it, and the scopes within it. It
// refers to a scope within it only while a coroutine waits under that one, so an unused one is
// freed.
type Scope struct {
	s      *Scheduler
	parent *Scope
	err    error // set if it was canceled itself, before one that it is within

	waiting []*Coroutine // those that wait under it, in no order
	within  []*Scope     // the scopes within it under which a coroutine waits, in no order
	at      int          // its index in the parent's within, while a coroutine waits under it
}

// NewScope returns a scope that nothing but its own Cancel cancels.
func (s *Scheduler) NewScope() *Scope { return &Scope{s: s} }

// Child returns a scope that is canceled with its parent.
func (p *Scope) Child() *Scope { return &Scope{s: p.s, parent: p} }

// Err returns nil until the scope is canceled, and then the cancellation.
func (p *Scope) Err() error {
	for ; p != nil; p = p.parent {
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// Cancel cancels the scope and those within it, and wakes the coroutines that wait under them.
// Canceling twice does nothing.
func (p *Scope) Cancel(reason string) {
	if p.Err() != nil {
		return
	}
	p.err = &failure.CanceledError{Reason: reason}
	p.s.wakeCanceled(p)
}

// used reports whether a coroutine waits under the scope, or under one within it.
func (p *Scope) used() bool { return len(p.waiting)+len(p.within) > 0 }

// enter notes that a coroutine waits under the scope.
func (p *Scope) enter(c *Coroutine) {
	used := p.used()
	c.at = len(p.waiting)
	p.waiting = append(p.waiting, c)
	for ; !used && p.parent != nil; p = p.parent {
		parent := p.parent
		used = parent.used()
		p.at = len(parent.within)
		parent.within = append(parent.within, p)
	}
}

// leave notes that a coroutine that has entered no longer waits.
func (p *Scope) leave(c *Coroutine) {
	last := len(p.waiting) - 1
	p.waiting[c.at] = p.waiting[last]
	p.waiting[c.at].at = c.at
	p.waiting[last] = nil
	p.waiting = p.waiting[:last]
	for ; !p.used() && p.parent != nil; p = p.parent {
		all := p.parent.within
		last := len(all) - 1
		all[p.at] = all[last]
		all[p.at].at = p.at
		all[last] = nil
		p.parent.within = all[:last]
	}
}

// wakeAll wakes those that wait under the scope and those within it.
func (p *Scope) wakeAll(s *Scheduler) {
	for todo := []*Scope{p}; len(todo) > 0; {
		p, todo = todo[len(todo)-1], todo[:len(todo)-1]
		for _, c := range p.waiting {
			if c.blocked { // not so while it is being closed
				s.wake(c)
			}
		}
		todo = append(todo, p.within...)
	}
}
