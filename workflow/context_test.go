package workflow_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// Now is the same throughout a task, and when the code is rebuilt. The harness rebuilds it before
// each task.
func TestNow(t *testing.T) {
	t.Parallel()
	s := enginetest.Open(t, func(ctx workflow.Context, _ none) (times []time.Time, err error) {
		for range 3 {
			before := workflow.Now(ctx)
			workflow.Go(ctx, func(ctx workflow.Context) {
				if !workflow.Now(ctx).Equal(before) {
					times = append(times, time.Time{})
				}
			})
			times = append(times, before)
			if err := workflow.Sleep(ctx, time.Hour); err != nil {
				return nil, err
			}
		}
		return times, nil
	})
	s.Cold = true
	s.Start(none{})
	begun := s.Run.State.StartTime.Time()
	s.Sleep(5 * time.Hour)
	var got []time.Time
	if err := s.Outcome(&got); err != nil || len(got) != 3 || !got[0].Equal(begun) || got[2].Sub(got[1]) != time.Hour {
		t.Errorf("%v, %v; want three times at intervals of an hour", got, err)
	}
	if begun.Location() != time.UTC {
		t.Errorf("times are in %v, want UTC on every machine", begun.Location())
	}
}

// InfoOf is the same when the code is rebuilt.
func TestInfoOf(t *testing.T) {
	t.Parallel()
	s := enginetest.Open(t, func(ctx workflow.Context, _ none) (infos []workflow.Info, err error) {
		for range 3 {
			infos = append(infos, workflow.InfoOf(ctx))
			if _, err := word.Receive(ctx); err != nil {
				return nil, err
			}
		}
		return infos, nil
	})
	s.Cold, s.Suggest = true, 7
	s.Start(none{})
	for range 3 {
		s.Signal("word", "up")
	}
	var got []workflow.Info
	if err := s.Outcome(&got); err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	size := 0
	for i, info := range got {
		want := workflow.Info{
			WorkflowID: enginetest.WorkflowID, RunID: string(s.Run.State.RunID), WorkflowType: enginetest.Type,
			HistoryLength: 3 + 4*i, HistoryBytes: size, SuggestContinueAsNew: i == 2, FirstRunID: string(s.Run.State.RunID), Attempt: 1,
		}
		if info != want {
			t.Errorf("task %d: %+v, want %+v", i, info, want)
		}
		size += len(s.Bodies[i])
	}
}

// A coroutine begins when the one that started it waits or ends. Started coroutines begin in their
// order.
func TestGo(t *testing.T) {
	t.Parallel()
	got, err := play(t, func(ctx workflow.Context) (log []string, err error) {
		for i := range 3 {
			workflow.Go(ctx, func(ctx workflow.Context) {
				log = append(log, fmt.Sprint("begin ", i))
				workflow.Go(ctx, func(workflow.Context) { log = append(log, fmt.Sprint("child of ", i)) })
			})
		}
		log = append(log, "started")
		err = workflow.Await(ctx, func() bool { return len(log) == 7 })
		return log, err
	})
	want := []string{"started", "begin 0", "begin 1", "begin 2", "child of 0", "child of 1", "child of 2"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// A coroutine that still waits when the workflow's function returns runs its deferred functions. A
// coroutine that has not begun by then never runs.
func TestCoroutinesThatReturnLeaves(t *testing.T) {
	t.Parallel()
	var log []string
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
		log = nil
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer func() { log = append(log, "unwound") }()
			log = append(log, "ran")
			_, err := echo.Run(ctx, "a")
			log = append(log, fmt.Sprint("went on ", err))
		})
		_ = workflow.Await(ctx, func() bool { return len(log) > 0 })
		workflow.Go(ctx, func(workflow.Context) { log = append(log, "began") })
		return none{}, nil
	}, none{})
	if err := s.Outcome(nil); err != nil || !slices.Equal(log, []string{"ran"}) {
		t.Errorf("%q, %v", log, err)
	}
}

// A workflow that returns while handlers run logs a warning, unless their options set Abandon. A
// second set of options adds to the first.
func TestAbandon(t *testing.T) {
	t.Parallel()
	sleeps := func(ctx workflow.Context, _ none) (none, error) { return none{}, workflow.Sleep(ctx, time.Hour) }
	kept, abandoned := workflow.NewUpdate[none, none]("kept"), workflow.NewUpdate[none, none]("abandoned")
	for _, fails := range []bool{false, true} {
		var refusal error = errNo
		s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
			kept.Handle(ctx, sleeps)
			abandoned.Handle(ctx, sleeps, workflow.HandlerOptions[none]{Abandon: true}, workflow.Validate(func(none) error { return refusal }))
			if _, err := word.Receive(ctx); err != nil {
				return none{}, err
			}
			if fails {
				return none{}, errors.New("it fails")
			}
			return none{}, nil
		}, none{})
		if result, _ := s.Update("refused", "abandoned", none{}); result.Verdict != engine.Rejected {
			t.Errorf("%+v, want a refusal by the validator", result)
		}
		refusal = nil
		for _, name := range []string{"kept", "abandoned"} {
			if result, f := s.Update("the "+name, name, none{}); result.Verdict != engine.Accepted {
				t.Fatalf("%+v, %v", result, f.Err())
			}
		}
		want := []string{"kept (the kept)"}
		if fails {
			want = nil // a failed workflow needs no further warning
		}
		if got := s.Signal("word", "up").Unfinished; !slices.Equal(got, want) {
			t.Errorf("the run fails: %v: it warned of %q, want %q", fails, got, want)
		}
		for id, u := range s.Run.State.Updates {
			if _, f, done := s.Run.State.UpdateOutcome(u); !done || f == nil {
				t.Errorf("update %s has no outcome: its caller would wait for ever", id)
			}
		}
	}
}

// errors.Is recognises an error of the workflow's own by its type.
func TestErrors(t *testing.T) {
	t.Parallel()
	one, other := workflow.NewError("one", "this one"), workflow.NewError("other", "another one")
	s := enginetest.New(t, func(workflow.Context, none) (none, error) {
		return none{}, fmt.Errorf("wrapped: %w", errors.Join(one, errors.New("joined")))
	}, none{})
	err := s.Outcome(nil)
	if !errors.Is(err, one) || errors.Is(err, other) || errors.Is(err, workflow.ErrCanceled) || err.Error() != "wrapped: this one\njoined" {
		t.Errorf("%v, want an error that errors.Is recognises as %v", err, one)
	}
}
