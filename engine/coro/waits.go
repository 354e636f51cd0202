package coro

import (
	"runtime"
	"slices"
)

// Kind says what wakes the coroutines on a list.
type Kind uint8

// The kinds of lists. Others, such as the list of a future that the engine sets, are of no kind.
const (
	NoKind Kind = iota
	// OnFuture is the list of a future.
	OnFuture
	// OnChannel is the list of a channel's receivers, or of one of its senders.
	OnChannel
	// OnLock is the list of one that waits for a semaphore of size 1, which is a mutex.
	OnLock
	// OnSemaphore is the list of one that waits for units of a semaphore.
	OnSemaphore
	// OnWaitGroup is the list of a wait group.
	OnWaitGroup
)

// Wait is what a coroutine waits for, and where.
type Wait struct {
	// Name is the name that the coroutine was given, and Owner the owner of it or of the coroutine
	// that has started it.
	Name, Owner string
	// PCs are the program counters of its innermost frames, as runtime.Callers returns them; the
	// first is in Park.
	PCs []uintptr
	// On are the lists that can wake it. The last ones may only say what its condition is about.
	On []*List
	// Condition is what it waits for besides, or nil.
	Condition func() bool
}

// maxFrames is how many frames of a waiting coroutine are noted.
const maxFrames = 32

// note is what a traced coroutine waits for while it is parked, and where.
type note struct {
	frames [maxFrames]uintptr
	n      int
	lists  []*List
	about  []*List
}

// Trace makes the scheduler note, from now on, where its coroutines wait and for what: see Waits.
// It takes about 1 µs for each wait. Without it, nothing is noted.
func (s *Scheduler) Trace() {
	s.traced, s.kinds = true, map[*List]Kind{}
}

// Known notes the kind of a list, and returns the list.
func (s *Scheduler) Known(kind Kind, l *List) *List {
	if s.traced {
		s.kinds[l] = kind
	}
	return l
}

// KindOf returns the kind of a list that a traced coroutine has waited on.
func (s *Scheduler) KindOf(l *List) Kind { return s.kinds[l] }

// note notes what the running coroutine is about to wait for. Its caller is Park.
func (c *Coroutine) note(lists []*List) {
	if c.noted == nil {
		c.noted = &note{}
	}
	c.noted.n = runtime.Callers(2, c.noted.frames[:])
	c.noted.lists = append(c.noted.lists[:0], lists...)
	for _, p := range c.places {
		if p.list != nil {
			c.noted.lists = append(c.noted.lists, p.list)
		}
	}
}

// noteAbout notes lists that the next waits of the coroutine are about, until end is called.
func (c *Coroutine) noteAbout(lists []*List) (end func()) {
	if c.noted == nil {
		c.noted = &note{}
	}
	c.noted.about = slices.Clone(lists)
	return func() { c.noted.about = nil }
}

// Waits returns what each coroutine waits for, the oldest first. It returns none of those that have
// ended, or that never waited since Trace. It must be called while nothing runs.
func (s *Scheduler) Waits() (all []Wait) {
	for _, c := range s.all {
		if c.finished || !c.blocked || c.noted == nil || c.noted.n == 0 {
			continue
		}
		all = append(all, Wait{
			Name: c.name, Owner: c.owner(), PCs: slices.Clone(c.noted.frames[:c.noted.n]),
			On: slices.Concat(c.noted.lists, c.noted.about), Condition: c.await,
		})
	}
	return all
}

// owner returns the owner of a coroutine, or of the one that has started it.
func (c *Coroutine) owner() string {
	for ; c != nil; c = c.parent {
		if c.Owner != "" {
			return c.Owner
		}
	}
	return ""
}
