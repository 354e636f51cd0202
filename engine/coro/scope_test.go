package coro

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// A scope does not keep its inner scopes in memory. It cancels those that are still referenced.
func TestScopeKeepsNoChild(t *testing.T) {
	t.Parallel()
	var s Scheduler
	root := s.NewScope()
	var freed atomic.Bool
	runtime.AddCleanup(root.Child(), func(freed *atomic.Bool) { freed.Store(true) }, &freed)
	held := root.Child().Child()
	for range 1000 {
		if runtime.GC(); freed.Load() {
			break
		}
	}
	if !freed.Load() {
		t.Error("an unreferenced scope is kept in memory")
	}
	if held.Err() != nil {
		t.Error("the scope is canceled before its outer scope")
	}
	root.Cancel("enough")
	if held.Err() == nil {
		t.Error("an inner scope of a canceled one is not canceled")
	}
}

// A scope's error never changes: the first cancellation counts.
func TestFirstCancellationCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cancel func(outer, middle *Scope)
		want   string
	}{
		"the outer one first":  {func(outer, middle *Scope) { outer.Cancel("outer"); middle.Cancel("middle") }, "outer"},
		"the middle one first": {func(outer, middle *Scope) { middle.Cancel("middle"); outer.Cancel("outer") }, "middle"},
	} {
		var s Scheduler
		outer := s.NewScope()
		middle := outer.Child()
		inner := middle.Child()
		test.cancel(outer, middle)
		for _, scope := range []*Scope{middle, inner, middle.Child()} {
			if err := scope.Err(); err == nil || err.Error() != (&failure.CanceledError{Reason: test.want}).Error() {
				t.Errorf("%s: %v, want %q", name, err, test.want)
			}
		}
	}
}
