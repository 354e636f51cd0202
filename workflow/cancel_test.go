package workflow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	echo = activity.New("echo", func(_ context.Context, text string) (string, error) { return text, nil })
	word = workflow.NewSignal[string]("word")
)

type none = workflow.None

// blocking is a call that waits for something that never happens.
type blocking struct {
	name string
	call func(workflow.Context) error
}

// blockingCalls are all calls of package workflow that wait.
var blockingCalls = []blocking{
	{"Future.Get", func(ctx workflow.Context) error {
		f, _ := workflow.NewFuture[int](ctx)
		_, err := f.Get(ctx)
		return err
	}},
	{"activity.Run", func(ctx workflow.Context) error { _, err := echo.Run(ctx, "a"); return err }},
	{"activity.Start and Get", func(ctx workflow.Context) error { _, err := echo.Start(ctx, "a").Get(ctx); return err }},
	{"Sleep", func(ctx workflow.Context) error { return workflow.Sleep(ctx, time.Hour) }},
	{"NewTimer and Get", func(ctx workflow.Context) error { _, err := workflow.NewTimer(ctx, time.Hour).Get(ctx); return err }},
	{"Channel.Send without a receiver", func(ctx workflow.Context) error { return workflow.NewChannel[int](0).Send(ctx, 1) }},
	{"Channel.Send without room", func(ctx workflow.Context) error {
		c := workflow.NewChannel[int](1)
		c.TrySend(ctx, 1)
		return c.Send(ctx, 2)
	}},
	{"Channel.Receive", func(ctx workflow.Context) error { _, err := workflow.NewChannel[int](0).Receive(ctx); return err }},
	{"Signal.Receive", func(ctx workflow.Context) error { _, err := word.Receive(ctx); return err }},
	{"Select", func(ctx workflow.Context) error {
		f, _ := workflow.NewFuture[int](ctx)
		return workflow.Select(ctx, workflow.OnFuture(f, nil), workflow.OnSignal(word, nil), workflow.OnTimeout(time.Hour, nil),
			workflow.OnReceive(workflow.NewChannel[int](1), nil), workflow.OnCondition(never))
	}},
	{"Select of nothing", func(ctx workflow.Context) error { return workflow.Select(ctx) }},
	{"Mutex.Lock", func(ctx workflow.Context) error {
		var m workflow.Mutex
		m.TryLock(ctx)
		return m.Lock(ctx)
	}},
	{"Semaphore.Acquire", func(ctx workflow.Context) error {
		m := workflow.NewSemaphore(3)
		m.TryAcquire(ctx, 2)
		return m.Acquire(ctx, 2)
	}},
	{"WaitGroup.Wait", func(ctx workflow.Context) error {
		var g workflow.WaitGroup
		g.Add(ctx, 1)
		return g.Wait(ctx)
	}},
	{"Await", func(ctx workflow.Context) error { return workflow.Await(ctx, never) }},
	{"AwaitFor", func(ctx workflow.Context) error {
		ok, err := workflow.AwaitFor(ctx, time.Hour, never)
		if ok {
			return errors.New("AwaitFor: ok although the condition is false")
		}
		return err
	}},
}

func never() bool { return false }

// wantCanceled checks that err is the cancellation with its reason.
func wantCanceled(t *testing.T, err error, reason string) {
	t.Helper()
	var canceled *workflow.CanceledError
	if !errors.As(err, &canceled) || canceled.Reason != reason || !errors.Is(err, workflow.ErrCanceled) {
		t.Errorf("%v, want a cancellation for %q", err, reason)
	}
}

func TestCanceledWhileItWaits(t *testing.T) {
	t.Parallel()
	for _, b := range blockingCalls {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) { return none{}, b.call(ctx) }, none{})
			if s.Run.State.Status.Closed() {
				t.Fatalf("the call did not wait: %v", s.Outcome(nil))
			}
			s.Cancel("enough")
			wantCanceled(t, s.Outcome(nil), "enough")
			if status := s.Run.State.Status; status != history.Canceled {
				t.Errorf("the run is %v, want canceled", status)
			}
		})
	}
}

func TestCanceledBefore(t *testing.T) {
	t.Parallel()
	for _, b := range blockingCalls {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			var got error
			s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
				ctx, cancel := workflow.WithCancel(ctx)
				cancel()
				got = b.call(ctx)
				return none{}, got
			}, none{})
			wantCanceled(t, got, "")
			// Only a branch was canceled, and not the run, so the run failed.
			if status := s.Run.State.Status; status != history.Failed {
				t.Errorf("the run is %v, want failed", status)
			}
			if n := len(s.Run.Log[0].Commands); n != 1 {
				t.Errorf("%d commands, want that nothing was started under a canceled context", n-1)
			}
		})
	}
}

// Canceling a context cancels only the calls that wait under it.
func TestCanceledBranch(t *testing.T) {
	t.Parallel()
	for _, b := range blockingCalls {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			var branch, other error
			s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
				inner, cancel := workflow.WithCancel(ctx)
				innermost, _ := workflow.WithCancel(inner)
				workflow.Go(innermost, func(ctx workflow.Context) { branch = b.call(ctx) })
				workflow.Go(workflow.Disconnected(inner), func(ctx workflow.Context) { other = b.call(ctx) })
				if err := workflow.Sleep(ctx, time.Minute); err != nil {
					return none{}, err
				}
				cancel()
				cancel()
				return none{}, workflow.Sleep(ctx, time.Minute)
			}, none{})
			s.Sleep(10 * time.Minute)
			wantCanceled(t, branch, "")
			if other != nil {
				t.Errorf("a call under a disconnected context returned %v, want that it still waits", other)
			}
			if err := s.Outcome(nil); err != nil {
				t.Errorf("the run failed with %v, want that it completes", err)
			}
		})
	}
}

func TestErr(t *testing.T) {
	t.Parallel()
	var detached, child workflow.Context
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
		detached = workflow.Disconnected(ctx)
		child, _ = workflow.WithCancel(ctx)
		if ctx.Err() != nil || detached.Err() != nil || child.Err() != nil {
			t.Error("canceled from the start")
		}
		_ = workflow.Sleep(ctx, time.Hour)
		return none{}, ctx.Err()
	}, none{})
	s.Cancel("enough")
	wantCanceled(t, s.Outcome(nil), "enough")
	wantCanceled(t, child.Err(), "enough")
	if detached.Err() != nil {
		t.Errorf("a disconnected context: %v", detached.Err())
	}
}

// there has, for each call that waits, a use that finds what it waits for.
var there = map[string]func(workflow.Context) error{
	"Future.Get": func(ctx workflow.Context) error {
		f, set := workflow.NewFuture[int](ctx)
		set(1, nil)
		_, err := f.Get(ctx)
		return err
	},
	"Channel.Send": func(ctx workflow.Context) error { return workflow.NewChannel[int](1).Send(ctx, 1) },
	"Channel.Receive": func(ctx workflow.Context) error {
		c := workflow.NewChannel[int](1)
		c.TrySend(ctx, 1)
		_, err := c.Receive(ctx)
		return err
	},
	"Signal.Receive":    func(ctx workflow.Context) error { _, err := word.Receive(ctx); return err },
	"Select":            func(ctx workflow.Context) error { return workflow.Select(ctx, workflow.OnSignal(word, nil)) },
	"Mutex.Lock":        func(ctx workflow.Context) error { return new(workflow.Mutex).Lock(ctx) },
	"Semaphore.Acquire": func(ctx workflow.Context) error { return workflow.NewSemaphore(1).Acquire(ctx, 1) },
	"WaitGroup.Wait":    func(ctx workflow.Context) error { return new(workflow.WaitGroup).Wait(ctx) },
	"Await":             func(ctx workflow.Context) error { return workflow.Await(ctx, func() bool { return true }) },
	"AwaitFor": func(ctx workflow.Context) error {
		ok, err := workflow.AwaitFor(ctx, time.Hour, func() bool { return true })
		if !ok {
			return errors.New("AwaitFor: not ok although the condition is true")
		}
		return err
	},
	"AwaitHandlers": workflow.AwaitHandlers,
}

// A call returns what is already there, also under a canceled context, so a cancellation loses
// nothing.
func TestCanceledCallsReturnWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, call := range there {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := enginetest.Open(t, func(ctx workflow.Context, _ none) (none, error) {
				ctx, cancel := workflow.WithCancel(ctx)
				cancel()
				return none{}, call(ctx)
			})
			s.Bring(&history.WorkflowExecutionStarted{WorkflowType: enginetest.Type}, s.Signaled("word", "up"))
			if err := s.Outcome(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// Handlers run under the run's own context.
func TestCanceledHandlers(t *testing.T) {
	t.Parallel()
	for _, b := range blockingCalls {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			call := workflow.NewUpdate[none, none]("call")
			s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) {
				call.Handle(ctx, func(ctx workflow.Context, _ none) (none, error) { return none{}, b.call(ctx) })
				err := workflow.Await(ctx, func() bool { return false })
				if e := workflow.AwaitHandlers(workflow.Disconnected(ctx)); e != nil {
					return none{}, e
				}
				return none{}, err
			}, none{})
			if result, f := s.Update("u1", "call", none{}); result.Verdict != engine.Accepted || f != nil {
				t.Fatalf("%+v, %v", result, f.Err())
			}
			s.Cancel("enough")
			wantCanceled(t, s.Outcome(nil), "enough")
			_, f, done := s.Run.State.UpdateOutcome(s.Run.State.Updates["u1"])
			if !done {
				t.Fatal("the update has no outcome")
			}
			wantCanceled(t, f.Err(), "enough")
		})
	}
}
