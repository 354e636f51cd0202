package session

import (
	"reflect"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Bounded returns what a check of in returns. If the check calls code of the program, it gets the
// time of a query's handler, because the caller holds the lock of a workflow. If it has not
// returned in time, Bounded refuses the value with refusal.NotReady. The check then goes on by
// itself, and nobody waits for it. While mostHanging checks of a type go on, further values are
// refused at once. in is an argument, because a check that captures it would cost an allocation.
func Bounded[I any](s *Process, of engine.Value, in I, check func(I) error) error {
	if of.RunsCode == nil || !of.RunsCode() {
		return check(in)
	}
	return guarded(s, of.Type, in, check)
}

// guarded is Bounded for a check that calls code of the program. It is not inlined, because then in
// would escape from Bounded, and cost each check an allocation.
//
//go:noinline
func guarded[I any](s *Process, of reflect.Type, in I, check func(I) error) error {
	if s.hanging.full(of) {
		return errHung(s.Options.QueryFor)
	}
	one := &checking{of: of}
	came := make(chan error, 1) // not a variable: a check that hangs may still write to it
	ended := s.World.Guard(s.Options.QueryFor, func() {
		defer s.hanging.end(one)
		came <- check(in)
	})
	if !ended {
		s.hanging.add(one)
	}
	if !ended || len(came) == 0 {
		return errHung(s.Options.QueryFor)
	}
	return <-came
}

// errHung refuses a request whose value is not decoded within limit.
func errHung(limit time.Duration) error {
	return refusal.NotReady.New("the program's own decoder of the value has not returned within %v; nothing was written: its UnmarshalJSON, UnmarshalText or converter has to be fixed", limit)
}

// mostHanging is how many checks of one type may hang at once. A caller who knows a value that
// hangs could otherwise use up the machine, and each such value would hold a workflow's lock.
const mostHanging = 4

// checking is a check that calls code of the program.
type checking struct {
	of           reflect.Type
	ended, hangs bool // guarded by the mutex of hanging
}

// hanging counts the checks that hang, by their types. The types are those of declarations.
type hanging struct {
	mu sync.Mutex
	of map[reflect.Type]int
}

// full reports whether no other check of a type may begin.
func (h *hanging) full(of reflect.Type) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[of] >= mostHanging
}

// add counts a check that hangs, unless it has just ended.
func (h *hanging) add(c *checking) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.ended {
		return
	}
	if h.of == nil {
		h.of = map[reflect.Type]int{}
	}
	c.hangs = true
	h.of[c.of]++
}

// end records the end of a check.
func (h *hanging) end(c *checking) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.ended = true
	if c.hangs {
		h.of[c.of]--
	}
}
