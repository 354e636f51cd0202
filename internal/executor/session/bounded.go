package session

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Bounded returns what a check of a value returns. If the check calls code of the program, it gets
// the time of a query's handler, because the caller holds the lock of a workflow. hung says that it
// has not returned in time. It then goes on by itself, and nobody waits for it.
func Bounded[R any](s *Process, of engine.Value, check func() R) (r R, hung error) {
	if of.RunsCode == nil || !of.RunsCode() {
		return check(), nil
	}
	came := make(chan R, 1) // not a variable: a check that hangs may still write to it
	if ended := s.World.Guard(s.Options.QueryFor, func() { came <- check() }); !ended || len(came) == 0 {
		return r, errHung(s.Options.QueryFor)
	}
	return <-came, nil
}

// errHung refuses a request whose value is not decoded within limit.
func errHung(limit time.Duration) error {
	return refusal.NotReady.New("the program's own decoder of the value has not returned within %v; nothing was written: its UnmarshalJSON, UnmarshalText or converter has to be fixed", limit)
}
