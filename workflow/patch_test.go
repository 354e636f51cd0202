package workflow_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// The code gets the same value of a side effect each time it is rebuilt. The function runs once.
func TestSideEffect(t *testing.T) {
	t.Parallel()
	for _, cold := range []bool{false, true} {
		calls := 0
		s := enginetest.Open(t, func(ctx workflow.Context, _ none) (seen []int, err error) {
			for range 3 {
				//weftvet:ignore readonly the test counts how often they are called
				seen = append(seen, workflow.SideEffect(ctx, func() int { calls++; return calls }), workflow.SideEffect(ctx, func() int { calls += 10; return calls }))
				if _, err := word.Receive(ctx); err != nil {
					return nil, err
				}
			}
			return seen, nil
		})
		s.Cold = cold
		s.Start(none{})
		for range 3 {
			s.Signal("word", "up")
		}
		var seen []int
		if err := s.Outcome(&seen); err != nil || fmt.Sprint(seen) != "[1 11 12 22 23 33]" || calls != 33 {
			t.Errorf("cold %v: %v, %v after %d", cold, seen, err, calls)
		}
	}
}

var (
	tick  = workflow.NewUpdate[int, int]("tick")
	piece = activity.New("piece", func(context.Context, int) (int, error) { return 0, nil })
)

// A validator may not call SideEffect. Code that calls SideEffect more often than its history
// records fails with an error that says so.
func TestSideEffectMisuse(t *testing.T) {
	t.Parallel()
	more, big := false, false
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
		if more {
			workflow.SideEffect(ctx, func() int { return 1 })
		}
		tick.Handle(ctx, func(workflow.Context, int) (int, error) {
			if big {
				workflow.SideEffect(ctx, func() string { return strings.Repeat("x", 300<<10) })
			}
			return 0, nil
		}, workflow.Validate(func(n int) error {
			if n < 0 {
				workflow.SideEffect(ctx, func() int { return 1 }) //weftvet:ignore readonly it is the misuse
			}
			return nil
		}))
		_, err := word.Receive(ctx)
		return none{}, err
	}, none{})
	if _, f := s.Update("u1", "tick", -1); f == nil || f.Kind != failure.KindMisuse {
		t.Errorf("in a validator: %+v", f)
	}
	big = true
	if _, f := s.Update("u2", "tick", 1); f == nil || !strings.Contains(f.Message, "side effect has 307202 bytes") {
		t.Errorf("too large a value: %+v", f)
	}
	big, more = false, true
	s.Deploy()
	if f := s.Signal("word", "x").Failure; f == nil || f.Kind != failure.KindNonDeterminism {
		t.Errorf("one more: %+v", f)
	}
	more = false
	s.Deploy()
	s.Step(engine.Task{Attempt: 2})
	if s.Stuck() != nil {
		t.Errorf("fixed: %v", s.Stuck())
	}
}

// A value that was recorded as another type fails the task, and the message names the side effect.
func TestSideEffectOfAnotherType(t *testing.T) {
	t.Parallel()
	number := false
	s := enginetest.Open(t, func(ctx workflow.Context, _ none) (none, error) {
		if number {
			workflow.SideEffect(ctx, func() int { return 1 })
		} else {
			workflow.SideEffect(ctx, func() string { return "one" })
		}
		_, err := word.Receive(ctx)
		return none{}, err
	})
	s.Start(none{})
	number = true
	s.Deploy()
	if f := s.Signal("word", "x").Failure; f == nil || !strings.Contains(f.Message, "the recorded value of a side effect does not decode") {
		t.Errorf("%+v", f)
	}
	number = false
	s.Deploy()
	s.Step(engine.Task{Attempt: 2})
	if s.Stuck() != nil {
		t.Errorf("fixed: %v", s.Stuck())
	}
}

// A patch is deployed while a run is open. The run keeps the old way at places that it has passed,
// and takes the new way at places that it reaches later. The first answer of Patched holds. The
// call can be deleted in the end.
func TestPatched(t *testing.T) {
	t.Parallel()
	version := 1
	s := enginetest.Open(t, func(ctx workflow.Context, _ none) (ways []string, err error) {
		way := func(place string) {
			switch {
			case version == 1:
				ways = append(ways, place+" old")
			case workflow.Patched(ctx, "patch-"+place):
				ways = append(ways, place+" new")
			default:
				ways = append(ways, place+" old")
			}
		}
		for _, place := range []string{"a", "b", "a"} {
			way(place)
			if _, err := word.Receive(ctx); err != nil {
				return nil, err
			}
		}
		return ways, nil
	})
	s.Start(none{})
	version = 2
	s.Deploy()
	for range 3 {
		s.Signal("word", "up")
	}
	var ways []string
	if err := s.Outcome(&ways); err != nil || fmt.Sprint(ways) != "[a old b new a old]" {
		t.Errorf("%v, %v", ways, err)
	}
	markers := 0
	for _, typ := range s.Events() {
		if typ == history.TypeMarkerRecorded {
			markers++
		}
	}
	if markers != 1 {
		t.Errorf("%d markers, want one for b", markers)
	}
}

// Code without its call of Patched replays a history that has the patch. Other commands keep their
// numbers.
func TestDeletedPatch(t *testing.T) {
	t.Parallel()
	asks := true
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (string, error) {
		if asks {
			workflow.Patched(ctx, "one")
		}
		first := piece.Start(ctx, 1)
		if asks {
			workflow.Patched(ctx, "two")
		}
		second := piece.Start(ctx, 2)
		if asks {
			workflow.Patched(ctx, "three")
		}
		a, err := first.Get(ctx)
		b, _ := second.Get(ctx)
		return fmt.Sprint(a, b), err
	}, none{})
	asks = false
	s.Deploy()
	for i, event := range s.Activities() {
		s.Complete(event, i+7)
	}
	var result string
	if err := s.Outcome(&result); err != nil || result != "7 8" {
		t.Errorf("%q, %v", result, err)
	}
	asks = true // when the test ends, it creates the first task again and compares the bytes
}
