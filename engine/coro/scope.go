package coro

import "github.com/seed-41655fb1/weft/engine/failure"

// Scope is what can be canceled: everything that waits under it, and the scopes within it. It does not know the scopes within it, so
// one that nobody uses any more is freed.
type Scope struct {
	s      *Scheduler
	parent *Scope
	err    error // set when it was canceled itself, before one that it is within
}

// NewScope returns a scope that nothing but its own Cancel cancels.
func (s *Scheduler) NewScope() *Scope { return &Scope{s: s} }

// Child returns a scope that is canceled with its parent.
func (p *Scope) Child() *Scope { return &Scope{s: p.s, parent: p} }

// Err is nil until the scope is canceled, and then says so.
func (p *Scope) Err() error {
	for ; p != nil; p = p.parent {
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// Cancel cancels the scope and those within it, and wakes what waits under them.
// Canceling twice does nothing.
func (p *Scope) Cancel(reason string) {
	if p.Err() != nil {
		return
	}
	p.err = &failure.CanceledError{Reason: reason}
	p.s.wakeCanceled()
}
