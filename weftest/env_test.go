package weftest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// An order of a shop is paid, waits up to two days for its approval, and is shipped.
var (
	Order    = workflow.NewWorkflow[string, string]("order")
	Approve  = workflow.NewSignal[string]("approve")
	Rename   = workflow.NewUpdate[string, string]("rename")
	Item     = workflow.NewQuery[workflow.None, string]("item")
	Charge   = activity.New("charge", charge, activity.Options{StartToClose: 10 * time.Second, Retry: activity.Retry{MaxAttempts: 3}})
	Ship     = activity.New("ship", ship)
	errEmpty = workflow.NewError("empty", "the name is empty")
)

func charge(_ context.Context, item string) (int, error) { return len(item), nil }

func ship(ctx context.Context, item string) (string, error) {
	time.Sleep(20 * time.Second)
	return item + " at " + time.Now().UTC().Format(time.DateTime), ctx.Err()
}

func order(ctx workflow.Context, item string) (string, error) {
	Item.Handle(ctx, func(workflow.None) (string, error) { return item, nil })
	Rename.Handle(ctx, func(ctx workflow.Context, name string) (string, error) {
		before := item
		item = name
		return before, workflow.Sleep(ctx, time.Hour)
	}, workflow.Validate(func(name string) error {
		if name == "" {
			return errEmpty
		}
		return nil
	}))
	if _, err := Charge.Run(ctx, item); err != nil {
		return "", err
	}
	by := "nobody"
	var err error
	workflow.Select(ctx,
		workflow.OnSignal(Approve, func(name string) { by = name }),
		workflow.OnTimeout(48*time.Hour, func() {}))
	if err == nil {
		err = workflow.AwaitHandlers(ctx)
	}
	if err != nil {
		return "", err
	}
	shipped, err := Ship.Run(ctx, item)
	return shipped + ", approved by " + by, err
}

func newEnv(t testing.TB) *weftest.Env {
	t.Helper()
	return weftest.New(t, workflow.Bind(Order, order, workflow.Names(Rename, Item, Approve)), Charge, Ship)
}

func start(t testing.TB, env *weftest.Env) workflow.Run[string] {
	t.Helper()
	run, err := Order.Start(t.Context(), env.Client(), "order-1", "tea")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestTimeJumps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := newEnv(t)
		result, err := start(t, env).Result(t.Context())
		if want := "tea at 2000-01-03 00:00:20, approved by nobody"; err != nil || result != want {
			t.Errorf("%q, %v; want %q", result, err, want)
		}
		if want := time.Date(2000, 1, 3, 0, 0, 20, 0, time.UTC); !env.Now().Equal(want) {
			t.Errorf("the time is %v, want %v", env.Now(), want)
		}
		h := env.History("order-1")
		if h.Count(history.TypeActivityTaskScheduled) != 2 || h.Count(history.TypeTimerFired) != 1 || h.Status != history.Completed {
			t.Errorf("history:\n%s", h)
		}
	})
}

func TestSignalsUpdatesAndQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, env := t.Context(), newEnv(t)
		run := start(t, env)
		env.After(2*time.Hour, func() {
			if err := Approve.Send(ctx, env.Client(), "order-1", "ada"); err != nil {
				t.Error(err)
			}
		})
		if _, err := Rename.Call(ctx, env.Client(), "order-1", ""); !errors.Is(err, errEmpty) || client.AsRejected(err) == nil {
			t.Errorf("an update with an empty name: %v", err)
		}
		if before, err := Rename.Call(ctx, env.Client(), "order-1", "coffee"); err != nil || before != "tea" {
			t.Errorf("the item was %q, %v", before, err)
		}
		if item, err := Item.Ask(ctx, env.Client(), "order-1", workflow.None{}); err != nil || item != "coffee" {
			t.Errorf("the item is %q, %v", item, err)
		}
		result, err := run.Result(ctx)
		if want := "coffee at 2000-01-01 02:00:20, approved by ada"; err != nil || result != want {
			t.Errorf("%q, %v; want %q", result, err, want)
		}
	})
}

func TestMock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := newEnv(t)
		charged := weftest.Mock(env, Charge, func(context.Context, string) (int, error) { return 7, nil }).Fail(2, errors.New("the bank is closed"))
		shipped := weftest.Watch(env, Ship)
		if _, err := start(t, env).Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := charged.Inputs(); !slices.Equal(got, []string{"tea", "tea", "tea"}) || charged.Count() != 3 {
			t.Errorf("charged %q", got)
		}
		last := charged.Calls()[2]
		if want := (weftest.Call[string]{"tea", "order-1", 3, time.Date(2000, 1, 1, 0, 0, 3, 0, time.UTC)}); last != want {
			t.Errorf("the last call is %v, want %v", last, want)
		}
		if shipped.Count() != 1 {
			t.Errorf("shipped %v", shipped.Calls())
		}
	})
}

// Watching a mocked activity keeps its mock.
func TestWatchedMock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := newEnv(t)
		mocked := weftest.Mock(env, Ship, func(context.Context, string) (string, error) { return "nowhere", nil })
		watched := weftest.Watch(env, Ship)
		result, err := start(t, env).Result(t.Context())
		if err != nil || result != "nowhere, approved by nobody" || mocked.Count() != 1 || watched.Count() != 1 {
			t.Errorf("%q, %v, after %d and %d attempts", result, err, mocked.Count(), watched.Count())
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	timedOut := func(ctx context.Context, _ string) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	declined := activity.NewError("declined", "the card was declined")
	for name, test := range map[string]struct {
		charge func(context.Context, string) (int, error)
		want   func(error) bool
		count  int
	}{
		"declined": {func(context.Context, string) (int, error) { return 0, declined.Final() }, func(err error) bool { return errors.Is(err, declined) }, 1},
		"timed out": {timedOut, func(err error) bool {
			var timeout *workflow.TimeoutError
			return errors.As(err, &timeout)
		}, 3},
		"panics": {func(context.Context, string) (int, error) { panic("no card") }, func(err error) bool { return strings.Contains(err.Error(), "no card") }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				env := newEnv(t)
				charged := weftest.Mock(env, Charge, test.charge)
				_, err := start(t, env).Result(t.Context())
				if !test.want(err) || charged.Count() != test.count {
					t.Errorf("after %d attempts: %v", charged.Count(), err)
				}
			})
		})
	}
}

// Activities run at the same time, and their results arrive in the order in which they end.
func TestActivitiesRunTogether(t *testing.T) {
	t.Parallel()
	Sleeper := activity.New("sleeper", func(_ context.Context, d time.Duration) (time.Duration, error) {
		time.Sleep(d)
		return d, nil
	})
	Both := workflow.NewWorkflow[workflow.None, []time.Duration]("both")
	both := func(ctx workflow.Context, _ workflow.None) (order []time.Duration, err error) {
		for _, d := range []time.Duration{5 * time.Second, 2 * time.Second} {
			workflow.Go(ctx, func(ctx workflow.Context) {
				d, err = Sleeper.Run(ctx, d)
				order = append(order, d)
			})
		}
		if awaited := workflow.Await(ctx, func() bool { return len(order) == 2 }); awaited != nil {
			return nil, awaited
		}
		return order, err
	}
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, workflow.Bind(Both, both), Sleeper)
		run, err := Both.Start(t.Context(), env.Client(), "both-1", workflow.None{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := run.Result(t.Context())
		if err != nil || !slices.Equal(got, []time.Duration{2 * time.Second, 5 * time.Second}) || env.Now().Second() != 5 {
			t.Errorf("%v, %v, at %v", got, err, env.Now())
		}
	})
}

func TestSleepAndSettle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := newEnv(t)
		shipped := weftest.Watch(env, Ship)
		start(t, env)
		env.Settle()
		if h := env.History("order-1"); h.Count(history.TypeActivityTaskCompleted) != 1 || !env.Now().Equal(h.Events[0].Time) {
			t.Errorf("at %v:\n%s", env.Now(), h)
		}
		env.Sleep(48*time.Hour - time.Millisecond)
		before := shipped.Count()
		env.Sleep(time.Millisecond)
		if before != 0 || shipped.Count() != 1 {
			t.Errorf("shipped %d times before, and %d times after", before, shipped.Count())
		}
	})
}

func TestCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := newEnv(t)
		run := start(t, env)
		begun := env.Cost()
		if begun.Writes != 1 || begun.Messages != 1 {
			t.Errorf("the start cost %v", begun)
		}
		if _, err := run.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Four kinds of writes: the record that the first activity's attempt has begun, because its
		// attempts are limited; its result with the timer, which the store first keeps and later
		// hands over; the timer; the second activity's result.
		if all := env.Cost(); all.Writes != 1+1+3+1+1 || all.Messages != 1+1+1 || all.Lost != 0 {
			t.Errorf("all cost %v\n%s", all, env.History("order-1"))
		}
	})
}

// Each run of a test has the same history, byte for byte.
func TestTheSameEachTime(t *testing.T) {
	t.Parallel()
	var histories []string
	for range 5 {
		synctest.Test(t, func(t *testing.T) {
			env := newEnv(t)
			weftest.Mock(env, Charge, charge).Fail(1, errors.New("not now"))
			var updates []workflow.UpdateHandle[string]
			for i := range 3 {
				if _, err := Order.Start(t.Context(), env.Client(), fmt.Sprint("order-", i), "tea"); err != nil {
					t.Fatal(err)
				}
				u, err := Rename.Send(t.Context(), env.Client(), fmt.Sprint("order-", i), "coffee")
				if err != nil {
					t.Fatal(err)
				}
				updates = append(updates, u)
			}
			for _, u := range updates {
				if _, err := u.Get(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			env.Sleep(72 * time.Hour)
			all := ""
			for i := range 3 {
				all += env.History(fmt.Sprint("order-", i)).String()
			}
			histories = append(histories, all)
		})
	}
	for _, h := range histories[1:] {
		if h != histories[0] {
			t.Fatalf("once\n%s\nand once\n%s", histories[0], h)
		}
	}
	if !strings.Contains(histories[0], "WorkflowExecutionCompleted") {
		t.Errorf("no run has completed:\n%s", histories[0])
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	Loop := workflow.NewWorkflow[int, int]("loop")
	loop := func(ctx workflow.Context, n int) (int, error) {
		if err := workflow.Sleep(ctx, 24*time.Hour); err != nil || n == 3 {
			return n, err
		}
		return Loop.ContinueAsNew(ctx, n+1)
	}
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, workflow.Bind(Loop, loop))
		run, err := Loop.Start(t.Context(), env.Client(), "loop-1", 1)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := run.Result(t.Context()); err != nil || n != 3 {
			t.Errorf("%d, %v", n, err)
		}
		runs := env.Runs("loop-1")
		if len(runs) != 3 || runs[0].Status != history.ContinuedAsNew || runs[2].Status != history.Completed {
			t.Errorf("%v", runs)
		}
		want := []history.Type{
			history.TypeWorkflowExecutionStarted, history.TypeTimerStarted, history.TypeTimerFired, history.TypeWorkflowExecutionCompleted,
		}
		if got := runs[2].Types(); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
