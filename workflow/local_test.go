package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	lookUp = activity.NewLocal("lookUp", func(context.Context, string) (string, error) { return "", nil })
	other  = activity.NewLocal("other", func(context.Context, string) (string, error) { return "", nil })
)

// again returns an outcome of a local activity that asks for another attempt after d, in another
// task.
func again(d time.Duration) func(*engine.LocalActivity) engine.LocalResult {
	return func(a *engine.LocalActivity) engine.LocalResult {
		return engine.LocalResult{Number: a.Number, Attempt: a.Attempt, RetryAt: a.Time.Add(d)}
	}
}

// A local activity is canceled if the code no longer waits for it, both before its first attempt
// and while a timer waits for the next attempt.
func TestCanceledLocalActivity(t *testing.T) {
	t.Parallel()
	ran := 0
	s := enginetest.Open(t, func(ctx workflow.Context, _ none) (string, error) {
		detached, cancel := workflow.WithCancel(ctx)
		first := lookUp.Start(detached, "never begun")
		cancel()
		_, err := first.Get(ctx)
		slow, cancel := workflow.WithCancel(ctx)
		second := lookUp.Start(slow, "takes long")
		if _, err := word.Receive(ctx); err != nil {
			return "", err
		}
		cancel()
		_, err2 := second.Get(ctx)
		_, err3 := lookUp.Run(slow, "not even started")
		return fmt.Sprint(errors.Is(err, workflow.ErrCanceled), errors.Is(err2, workflow.ErrCanceled), errors.Is(err3, workflow.ErrCanceled)), nil
	})
	s.Local = func(a *engine.LocalActivity) engine.LocalResult {
		ran++
		return again(time.Hour)(a)
	}
	s.Start(none{})
	s.Signal("word", "enough")
	var result string
	if err := s.Outcome(&result); err != nil || result != "true true true" || ran != 1 || len(s.Timers()) != 0 {
		t.Errorf("%q, %v; %d ran, and the timers are %v", result, err, ran, s.Timers())
	}
}

// A run that closes neither waits for its local activities nor runs them.
func TestLocalActivityOfAClosedRun(t *testing.T) {
	t.Parallel()
	s := enginetest.Open(t, func(ctx workflow.Context, _ none) (none, error) {
		lookUp.Start(ctx, "for nobody")
		return none{}, nil
	})
	s.Local = func(a *engine.LocalActivity) engine.LocalResult {
		t.Errorf("%s ran", a.Input)
		return engine.LocalResult{Number: a.Number}
	}
	s.Start(none{})
	if err := s.Outcome(nil); err != nil {
		t.Error(err)
	}
}

// Results arrive in the order of the history. The code handles each result before the next one
// arrives.
func TestLocalActivitiesTogether(t *testing.T) {
	t.Parallel()
	for _, cold := range []bool{false, true} {
		s := enginetest.Open(t, func(ctx workflow.Context, _ none) (order string, err error) {
			var group workflow.WaitGroup
			for i := range 3 {
				group.Go(ctx, func(ctx workflow.Context) {
					for n := range 2 {
						text, err := lookUp.Run(ctx, fmt.Sprint(i, ".", n))
						order += fmt.Sprint(text, " ", err, "; ")
					}
				})
			}
			err = group.Wait(ctx)
			return order, err
		})
		s.Cold = cold
		s.Local = func(a *engine.LocalActivity) engine.LocalResult {
			if a.Number == 2 && a.Attempt < 3 {
				return again(time.Minute)(a)
			}
			if a.Number == 5 {
				return engine.LocalResult{Number: 5, Attempt: 1, Failure: failure.FromError(errors.New("broken"))}
			}
			return engine.LocalResult{Number: a.Number, Attempt: a.Attempt, Result: a.Input}
		}
		s.Start(none{})
		s.Sleep(time.Hour)
		var order string
		const want = "0.0 <nil>; 2.0 <nil>; 0.1 <nil>;  activity lookUp failed: broken; 1.0 <nil>; 1.1 <nil>; "
		if err := s.Outcome(&order); err != nil || order != want {
			t.Errorf("cold %v: %q, %v; want %q", cold, order, err, want)
		}
	}
}

// A result that is too large for any commit fails alone. One that does not fit beside others
// arrives with the next task.
func TestLargeLocalResults(t *testing.T) {
	t.Parallel()
	s := enginetest.Open(t, func(ctx workflow.Context, sizes []int) (seen []string, err error) {
		for range sizes {
			_, err := lookUp.Run(ctx, "")
			seen = append(seen, fmt.Sprint(err))
		}
		return seen, nil
	})
	sizes := []int{200 << 10, 300 << 10, 200 << 10, 100}
	s.Local = func(a *engine.LocalActivity) engine.LocalResult {
		return engine.LocalResult{Number: a.Number, Attempt: 1, Result: history.Payload(`"` + strings.Repeat("x", sizes[a.Number-1]) + `"`)}
	}
	s.Start(sizes)
	s.Sleep(time.Second)
	var seen []string
	if err := s.Outcome(&seen); err != nil || len(seen) != 4 || seen[0] != "<nil>" || !strings.Contains(seen[1], "the limit is 262144") ||
		seen[2] != "<nil>" || seen[3] != "<nil>" {
		t.Errorf("%q, %v", seen, err)
	}
}

// Code that starts other local activities than its history records fails with an error that says
// so.
func TestLocalActivitiesThatDifferFromHistory(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]func(workflow.Context){
		"one more":  func(ctx workflow.Context) { _, _ = lookUp.Run(ctx, ""); _, _ = lookUp.Run(ctx, "") },
		"one less":  func(workflow.Context) {},
		"another":   func(ctx workflow.Context) { _, _ = other.Run(ctx, "") },
		"as before": func(ctx workflow.Context) { _, _ = lookUp.Run(ctx, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := func(ctx workflow.Context) { _, _ = lookUp.Run(ctx, "") }
			before := code
			s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
				code(ctx)
				_, err := word.Receive(ctx)
				return none{}, err
			}, none{})
			code = changed
			s.Deploy()
			f := s.Signal("word", "up").Failure
			if same := name == "as before"; same != (f == nil) || !same && (f.Kind != failure.KindNonDeterminism || !strings.Contains(f.Message, "LocalActivity")) {
				t.Errorf("%+v", f)
			}
			code = before // for the replay at the end of the test
		})
	}
}

// Invalid options are refused when the activity is registered.
func TestLocalOptions(t *testing.T) {
	t.Parallel()
	for want, options := range map[string]activity.LocalOptions{
		"a time in its options is negative": {WaitInTask: -1},
		"its StartToClose is 1m0s":          {StartToClose: time.Minute},
		"backoff coefficient":               {Retry: activity.Retry{BackoffCoefficient: 0.5}},
	} {
		if err := bridge.Register(&engine.Registry{}, lookUp.With(options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", options, err, want)
		}
	}
}
