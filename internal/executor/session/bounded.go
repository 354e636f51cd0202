package session

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Bounded returns what a check of in returns. If the check calls code of the program, it gets the
// time of a query's handler, because the caller holds the lock of a workflow. hung says that it has
// not returned in time. It then goes on by itself, and nobody waits for it. in is an
// argument, because a check that captures it would cost an allocation.
func Bounded[I, R any](s *Process, of engine.Value, in I, check func(I) R) (r R, hung error) {
	if of.RunsCode == nil || !of.RunsCode() {
		return check(in), nil
	}
	return guarded(s, in, check)
}

// guarded is Bounded for a check that calls code of the program. It is not inlined, because then in
// would escape from Bounded, and cost each check an allocation.
//
//go:noinline
func guarded[I, R any](s *Process, in I, check func(I) R) (r R, hung error) {
	came := make(chan R, 1) // not a variable: a check that hangs may still write to it
	if ended := s.World.Guard(s.Options.QueryFor, func() { came <- check(in) }); !ended || len(came) == 0 {
		return r, errHung(s.Options.QueryFor)
	}
	return <-came, nil
}

// errHung refuses a request whose value is not decoded within limit.
func errHung(limit time.Duration) error {
	return refusal.NotReady.New("the program's own decoder of the value has not returned within %v; nothing was written: its UnmarshalJSON, UnmarshalText or converter has to be fixed", limit)
}
