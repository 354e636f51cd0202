package coro

// List has the coroutines that wait for one thing, the longest wait first. The zero value is empty.
// A List must not be copied. Each of its operations takes constant time, or time in proportion to
// the coroutines that it wakes.
type List struct {
	head, tail *place
	// idleFrom is the first place whose coroutine may not be ready: those of all places before it
	// are ready, or have ended. It is nil if there is none.
	idleFrom *place
	added    uint64 // places so far
	own      place  // used when it is free: most lists never have a second place
}

// place is a coroutine's place on a list.
type place struct {
	list       *List // nil if it is on none
	c          *Coroutine
	number     uint64 // places of a list have ascending numbers
	prev, next *place
}

// empty reports whether the list is empty.
func (l *List) empty() bool { return l.head == nil }

// add adds a coroutine at the end. A coroutine may have several places.
func (l *List) add(c *Coroutine) *place {
	p := &l.own
	if p.list != nil {
		p = &place{}
	}
	l.added++
	*p = place{list: l, c: c, number: l.added, prev: l.tail}
	if l.tail == nil {
		l.head = p
	} else {
		l.tail.next = p
	}
	l.tail = p
	if l.idleFrom == nil {
		l.idleFrom = p
	}
	return p
}

// leave takes the place off its list, if it is on one.
func (p *place) leave() {
	l := p.list
	if l == nil {
		return
	}
	if l.idleFrom == p {
		l.idleFrom = p.next
	}
	if p.prev == nil {
		l.head = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.tail = p.prev
	} else {
		p.next.prev = p.prev
	}
	*p = place{}
}

// waitsAgain notes that the coroutine of the place, which was ready, waits.
func (p *place) waitsAgain() {
	if l := p.list; l != nil && (l.idleFrom == nil || p.number < l.idleFrom.number) {
		l.idleFrom = p
	}
}

// WakeAll makes all waiting coroutines ready.
func (l *List) WakeAll(s *Scheduler) {
	for p := l.idleFrom; p != nil; p = p.next {
		s.wake(p.c)
	}
	l.idleFrom = nil
}

// WakeOne makes the coroutine ready that has waited longest and is not ready yet.
func (l *List) WakeOne(s *Scheduler) {
	if c := l.idle(); c != nil {
		s.wake(c)
	}
}

// idle returns the coroutine that has waited longest and is not ready yet, or nil.
func (l *List) idle() *Coroutine {
	for l.idleFrom != nil && (l.idleFrom.c.queued || l.idleFrom.c.finished) {
		l.idleFrom = l.idleFrom.next
	}
	if l.idleFrom == nil {
		return nil
	}
	return l.idleFrom.c
}
