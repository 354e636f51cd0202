package coro

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// Semaphore hands out units in the order of the requests: small requests do not overtake a large
// one before them. A semaphore of size 1 is a mutex.
type Semaphore struct {
	size  int
	free  int
	queue line[*ticket]
}

type ticket struct {
	n       int
	scope   *Scope
	granted bool
	list    List
}

// NewSemaphore returns a semaphore of this many units.
func NewSemaphore(size int) *Semaphore { return &Semaphore{size: size, free: size} }

// check panics with a misuse failure if n units can never be had: a coroutine that waited for them
// would hold up all others.
func (m *Semaphore) check(n int) {
	if n < 0 || n > m.size {
		panic(misuse("%d units of a semaphore that has %d cannot be acquired", n, m.size))
	}
}

func misuse(format string, args ...any) error {
	return &failure.OtherError{Kind: failure.KindMisuse, Message: fmt.Sprintf(format, args...)}
}

// kind returns the kind of the lists of those that wait for units.
func (m *Semaphore) kind() Kind {
	if m.size == 1 {
		return OnLock
	}
	return OnSemaphore
}

// TryAcquire takes n units if they are free and no coroutine waits.
func (m *Semaphore) TryAcquire(n int) bool {
	m.check(n)
	if !m.queue.empty() || m.free < n {
		return false
	}
	m.free -= n
	return true
}

// Acquire waits until it has n units or the scope is canceled.
func (m *Semaphore) Acquire(s *Scheduler, scope *Scope, n int) error {
	if m.TryAcquire(n) {
		return nil
	}
	t := &ticket{n: n, scope: scope}
	place := m.queue.add(t)
	defer func() {
		if !t.granted { // it was canceled, or the coroutine is killed: those behind it must not wait for it
			place.leave()
			m.grant(s) // those behind it may fit now
		}
	}()
	for !t.granted {
		if err := scope.Err(); err != nil {
			return err
		}
		s.Park(scope, nil, s.Known(m.kind(), &t.list))
	}
	return nil
}

// Release gives n units back. It panics with a misuse failure if that is more than were taken.
func (m *Semaphore) Release(s *Scheduler, n int) {
	if n < 0 || m.free+n > m.size {
		panic(misuse("%d units are given back where %d of %d are taken: a mutex is unlocked, or a semaphore released, twice", n, m.size-m.free, m.size))
	}
	m.free += n
	m.grant(s)
}

// grant serves the waiting coroutines in order, except for those that were canceled and have not
// had their turn to leave.
func (m *Semaphore) grant(s *Scheduler) {
	for e := m.queue.head; e != nil; e = m.queue.head {
		t := e.value
		canceled := t.scope.Err() != nil
		if !canceled && t.n > m.free {
			return
		}
		e.leave()
		if canceled {
			continue
		}
		m.free -= t.n
		t.granted = true
		t.list.WakeAll(s)
	}
}

// WaitGroup waits until as many have ended as were added.
type WaitGroup struct {
	n    int
	list List
}

// Add adds delta, which may be negative. It panics with a misuse failure if the count falls below
// zero.
func (g *WaitGroup) Add(s *Scheduler, delta int) {
	g.n += delta
	if g.n < 0 {
		panic(misuse("a wait group counts below zero: more coroutines are done than were added"))
	}
	if g.n == 0 {
		g.list.WakeAll(s)
	}
}

// Wait waits until the count is zero or the scope is canceled.
func (g *WaitGroup) Wait(s *Scheduler, scope *Scope) error {
	for g.n > 0 {
		if err := scope.Err(); err != nil {
			return err
		}
		s.Park(scope, nil, s.Known(OnWaitGroup, &g.list))
	}
	return nil
}
