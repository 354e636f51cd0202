package coro

import "slices"

// List are the coroutines that wait for one thing, those that have waited longest first. The zero value is empty. A List must not be
// copied.
type List struct {
	waiting []*Coroutine
	first   [1]*Coroutine // where the first one stands: most lists never have a second
}

func (l *List) add(c *Coroutine) {
	if l.waiting == nil {
		l.waiting = l.first[:0]
	}
	l.waiting = append(l.waiting, c)
}

func (l *List) remove(c *Coroutine) {
	if i := slices.Index(l.waiting, c); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// WakeAll makes all that wait ready.
func (l *List) WakeAll(s *Scheduler) {
	for _, c := range l.waiting {
		s.wake(c)
	}
}

// WakeOne makes ready the one that has waited longest and is not ready yet.
func (l *List) WakeOne(s *Scheduler) {
	if c := l.idle(); c != nil {
		s.wake(c)
	}
}

// idle is the one that has waited longest and is not ready yet, or nil.
func (l *List) idle() *Coroutine {
	for _, c := range l.waiting {
		if !c.queued && !c.finished {
			return c
		}
	}
	return nil
}
