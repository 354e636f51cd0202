package coro

import (
	"slices"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// Scope is what can be canceled: everything that waits under it, and the scopes within it.
type Scope struct {
	s        *Scheduler
	parent   *Scope
	children []*Scope
	canceled bool
	err      error
}

// NewScope returns a scope that nothing but its own Cancel cancels.
func (s *Scheduler) NewScope() *Scope { return &Scope{s: s} }

// Child returns a scope that is canceled with its parent.
func (p *Scope) Child() *Scope {
	c := &Scope{s: p.s, parent: p, canceled: p.canceled, err: p.err}
	if !p.canceled {
		p.children = append(p.children, c)
	}
	return c
}

// Err is nil until the scope is canceled, and then says so.
func (p *Scope) Err() error {
	if p == nil {
		return nil
	}
	return p.err
}

// Cancel cancels the scope and those within it, and wakes what waits under them.
// Canceling twice does nothing.
func (p *Scope) Cancel(reason string) {
	if p.canceled {
		return
	}
	p.cancel(&failure.CanceledError{Reason: reason})
	if p.parent != nil {
		p.parent.children = slices.DeleteFunc(p.parent.children, func(c *Scope) bool { return c == p })
	}
	p.s.wakeCanceled()
}

func (p *Scope) cancel(err error) {
	if p.canceled {
		return
	}
	p.canceled, p.err = true, err
	children := p.children
	p.children = nil
	for _, c := range children {
		c.cancel(err)
	}
}
