package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	shop      = workflow.NewWorkflow[string, string]("shop")
	paid      = workflow.NewSignal[string]("paid")
	addItem   = workflow.NewUpdate[string, string]("addItem")
	pricing   = workflow.NewQuery[workflow.None, int]("price")
	warehouse = workflow.NewWorkflow[string, string]("warehouse")
	charge    = activity.New("charge", func(context.Context, string) (string, error) {
		return "", failure.New("CardDeclined", "no money")
	}, activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
)

// runShop waits for a payment or an hour, while its coroutines charge a card and wait for a child.
// With the payment "broken" it panics, and then waits for its update handlers.
func runShop(ctx workflow.Context, item string) (string, error) {
	addItem.Handle(ctx, func(ctx workflow.Context, what string) (string, error) {
		return what, workflow.Sleep(ctx, 24*time.Hour)
	})
	workflow.Go(ctx, func(ctx workflow.Context) { _, _ = charge.Run(ctx, item) })
	for i := range 2 {
		workflow.Go(ctx, func(ctx workflow.Context) {
			_, _ = warehouse.RunChild(ctx, item, workflow.ChildOptions{WorkflowID: fmt.Sprint("ship-", i)})
		})
	}
	pricing.Handle(ctx, func(workflow.None) (int, error) { return 3, nil })
	err := workflow.Select(ctx,
		workflow.OnSignal(paid, func(how string) {
			if how == "broken" {
				panic("cannot take it")
			}
		}),
		workflow.OnTimeout(48*time.Hour, nil))
	if err != nil {
		return "", err
	}
	return "", workflow.AwaitHandlers(ctx)
}

// runWarehouse waits for a day, or panics.
func runWarehouse(ctx workflow.Context, item string) (string, error) {
	if item == "broken" {
		panic("the warehouse is broken")
	}
	return "", workflow.Sleep(ctx, 24*time.Hour)
}

func shops() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(shop, runShop, workflow.Names(addItem, pricing, paid)), workflow.Bind(warehouse, runWarehouse), charge}
}

// waitsText returns what a run waits for, without lines and times.
func waitsText(w *client.Waits) (lines []string) {
	for _, c := range w.Coroutines {
		text := c.Name
		if c.Count > 1 {
			text += fmt.Sprint(" x", c.Count)
		}
		if c.UpdateID != "" {
			text += " of " + c.UpdateID
		}
		for _, at := range c.At[:1] {
			file, _, _ := strings.Cut(at.Place, ":")
			text += " in " + at.Function + " of " + file
		}
		text += " calls " + c.Call + ":"
		for _, what := range c.WaitsFor {
			text += " " + what.Kind + what.Name + what.Type + what.WorkflowID
			if what.Attempt > 0 {
				text += fmt.Sprint(" attempt ", what.Attempt, " ", what.NextAttemptAt != nil, " ", what.LastFailure != nil)
			}
			if what.Status != nil {
				text += fmt.Sprint(" ", what.Status, what.State)
			}
			if what.Unread > 0 {
				text += fmt.Sprint(" unread ", what.Unread)
			}
			for _, u := range what.Updates {
				text += " " + u.UpdateID
			}
		}
		lines = append(lines, text)
	}
	return lines
}

func wantWaits(t *testing.T, w *client.Waits, want ...string) {
	t.Helper()
	if got := strings.Join(waitsText(w), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it waits for\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestWaits follows a run through what it waits for, and compares its description.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{Build: "b1"}, shops()...)
		waits := func(children int) *client.Waits {
			t.Helper()
			w, err := p.Client.Waits(t.Context(), "w", "", client.DescribeOptions{Children: children})
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		describe := func(children int) *client.Description {
			t.Helper()
			what, err := p.Client.Describe(t.Context(), "w", "", client.DescribeOptions{Children: children})
			if err != nil {
				t.Fatal(err)
			}
			return what
		}
		if _, err := shop.Start(t.Context(), p.Client, "w", "tea"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(time.Second)
		if _, err := addItem.Send(t.Context(), p.Client, "w", "milk", workflow.CallOptions{ID: "u1"}); err != nil {
			t.Fatal(err)
		}
		const (
			selecting = "main in executor_test.runShop of executor/waits_test.go calls workflow.Select: "
			charging  = "coroutine in executor_test.runShop.func2 of executor/waits_test.go calls activity.Activity.Run: activitycharge attempt 2 true true"
			shipping  = "coroutine x2 in executor_test.runShop.func3 of executor/waits_test.go calls workflow.Type.RunChild: "
			adding    = "update addItem of u1 in executor_test.runShop.func1 of executor/waits_test.go calls workflow.Sleep: timer"
		)
		w := waits(1)
		wantWaits(t, w, selecting+"signalpaid timer", charging, shipping+"childwarehouseship-0 running childwarehouseship-1", adding)
		if w.State != client.StateRetrying || w.BuildHere != "b1" || w.BuildOfTask != "b1" || w.Stopped != nil || w.More != 0 ||
			!slices.Equal(w.UpdateHandlers, []string{"addItem"}) || !slices.Equal(w.QueryHandlers, []string{"price"}) || !slices.Equal(w.Signals, []string{"paid"}) || w.BeforeTask {
			t.Errorf("%+v", w)
		}
		what := describe(100)
		if w.AtEventID != what.HistoryLength {
			t.Errorf("the code has seen event %d of %d", w.AtEventID, what.HistoryLength)
		}
		a := what.PendingActivities[0]
		if what.State != client.StateRetrying || a.FirstFailedAt == nil || a.FirstFailedAt.Sub(began) > time.Second || !a.Retryable {
			t.Errorf("%v, %+v", what.State, a)
		}
		if c := what.PendingChildren; len(c) != 2 || c[0].Status == nil || *c[0].Status != history.Running || c[1].Status == nil || c[0].State != "" {
			t.Errorf("%+v", c)
		}
		first := *a.FirstFailedAt
		time.Sleep(5 * time.Hour)
		if a := describe(0).PendingActivities[0]; a.Attempt < 3 || !a.FirstFailedAt.Equal(first) {
			t.Errorf("attempt %d; the first failed at %v, and not at %v", a.Attempt, a.FirstFailedAt, first)
		}

		if err := paid.Send(t.Context(), p.Client, "w", "broken"); err != nil {
			t.Fatal(err)
		}
		stuck := time.Now()
		time.Sleep(10 * time.Second) // the retries are 1 s, 2 s, 4 s apart
		w = waits(0)
		wantWaits(t, w, selecting+"signalpaid unread 1 timer", strings.Replace(charging, "attempt 2", "attempt 4", 1),
			shipping+"childwarehouseship-0 childwarehouseship-1", adding)
		what = describe(0)
		if w.State != client.StateStuck || what.State != client.StateStuck || w.AtEventID >= what.HistoryLength-3 || !w.BeforeTask {
			t.Errorf("%v, %v; the code has seen event %d of %d", w.State, what.State, w.AtEventID, what.HistoryLength)
		}
		s := what.StuckTask
		if s.Failures != 4 || s.Attempt != 4 || !s.Since.Equal(stuck) || s.FirstFailure.Message != "cannot take it" || s.FirstFailure.Stack == "" ||
			!strings.HasPrefix(s.Place, "executor/waits_test.go:") {
			t.Errorf("%+v", s)
		}
		if err := paid.Send(t.Context(), p.Client, "w", "again"); err != nil {
			t.Fatal(err)
		}
		if s := describe(0).StuckTask; s.Failures != 5 || s.Attempt != 1 || !s.Since.Equal(stuck) {
			t.Errorf("%+v", s)
		}

		if err := p.Client.Terminate(t.Context(), "w", "", "enough"); err != nil {
			t.Fatal(err)
		}
		if w = waits(0); w.State != "" || len(w.Coroutines) != 0 || w.Status != history.Terminated {
			t.Errorf("%+v", w)
		}
		if what = describe(0); what.State != "" || what.CloseReason != "terminated" || what.StuckTask != nil {
			t.Errorf("%+v", what)
		}
	})
}

// A run whose code has not begun has the state that says why. The state of a child that is stuck is
// read from its last commit.
func TestStates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, shops()...)
		if _, err := warehouse.Start(t.Context(), p.Client, "later", "tea", workflow.StartOptions{StartDelay: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if _, err := shop.Start(t.Context(), p.Client, "w", "broken"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w, err := p.Client.Waits(t.Context(), "later", "")
		if err != nil || w.State != client.StateDelayed || len(w.Coroutines) != 0 || w.AtEventID != 0 {
			t.Errorf("%+v, %v", w, err)
		}
		what, err := p.Client.Describe(t.Context(), "w", "", client.DescribeOptions{Children: 1})
		if err != nil {
			t.Fatal(err)
		}
		if c := what.PendingChildren; c[0].Status == nil || c[0].State != client.StateStuck || c[1].Status != nil {
			t.Errorf("%+v", c)
		}
		for _, n := range []int{-1, 101} {
			if _, err := p.Client.Describe(t.Context(), "w", "", client.DescribeOptions{Children: n}); !errors.Is(err, client.ErrInvalid) {
				t.Errorf("of %d children: %v", n, err)
			}
		}
	})
}

// A description has the runs before and after it, and why the run closed.
func TestChainIsDescribed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-2")...)
		a := p.Do("POST", "/v1/workflows", `{"workflowId":"w","type":"flaky","input":{"fails":1},"cronSchedule":"@every 1h","retryPolicy":{"initialInterval":"1s"}}`)
		if a.Status != 201 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		time.Sleep(time.Hour + time.Minute)
		last, err := p.Client.Describe(t.Context(), "w", "")
		if err != nil {
			t.Fatal(err)
		}
		if last.State != client.StateDelayed || last.CronSchedule != "@every 1h" || last.ContinuedFromRunID == "" || last.FirstRunID == "" {
			t.Errorf("%+v", last)
		}
		second, err := p.Client.Describe(t.Context(), "w", string(last.ContinuedFromRunID))
		if err != nil {
			t.Fatal(err)
		}
		if second.NewRunID != last.RunID || second.Attempt != 2 || second.ContinuedFromRunID != second.FirstRunID || second.CloseReason != "" {
			t.Errorf("%+v", second)
		}
		first, err := p.Client.Describe(t.Context(), "w", string(last.FirstRunID))
		if err != nil {
			t.Fatal(err)
		}
		if first.FirstRunID != "" || first.NewRunID != second.RunID || first.CloseReason != "sour" || first.Attempt != 0 {
			t.Errorf("%+v", first)
		}
	})
}

var (
	plenty = workflow.NewWorkflow[int, string]("plenty")
	hourly = activity.New("hourly", func(context.Context, int) (string, error) {
		return "", errors.New("it failed: " + strings.Repeat("x", 7<<10))
	}, activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
)

// An answer about many coroutines fits into one of Lambda. Those that are alike are one.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const alike = 300
		p := testbed.New(t).Start(executor.Options{}, hourly, workflow.Bind(plenty, func(ctx workflow.Context, n int) (string, error) {
			for i := range n {
				workflow.Go(ctx, func(ctx workflow.Context) { _, _ = hourly.Run(ctx, i) })
			}
			for i := range 150 {
				deep(ctx, i)
			}
			return "", workflow.Sleep(ctx, 240*time.Hour)
		}, workflow.BindOptions{Dynamic: workflow.Signals}))
		if _, err := plenty.Start(t.Context(), p.Client, "w", alike); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w, err := p.Client.Waits(t.Context(), "w", "")
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Coroutines) != 100 || w.More != 150+2-100 || len(body) > 2<<20 {
			t.Errorf("%d coroutines and %d more, %d bytes", len(w.Coroutines), w.More, len(body))
		}
		if c := w.Coroutines[1]; c.Count != alike || len(c.WaitsFor) != 100 || c.More != alike-100 || c.WaitsFor[0].LastFailure == nil {
			t.Errorf("%d coroutines wait for %d things and %d more", c.Count, len(c.WaitsFor), c.More)
		}
	})
}

// deep starts a coroutine that waits for a signal of its own.
func deep(ctx workflow.Context, n int) {
	signal := workflow.NewSignal[string](fmt.Sprint("signal ", n))
	workflow.Go(ctx, func(ctx workflow.Context) { _, _ = signal.Receive(ctx) })
}

var (
	changing = workflow.NewWorkflow[string, string]("changing")
	goOn     = workflow.NewSignal[string]("goOn")
)

// Code that cannot be replayed to the end of the log says why, and where the rest of it waits. Code
// that does not return blocks its run, as in a query.
func TestWaitsOfChangedCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Value // a string; code that hangs reads it later
		now.Store("well")
		p := testbed.New(t).Start(executor.Options{}, workflow.Bind(changing, func(ctx workflow.Context, _ string) (string, error) {
			workflow.Go(ctx, func(ctx workflow.Context) { _, _ = goOn.Receive(ctx) })
			how := now.Load().(string)
			switch how {
			case "changed":
				_ = workflow.Sleep(ctx, time.Minute)
			case "panics":
				panic("it is new")
			case "hangs":
				time.Sleep(time.Hour) //weftvet:ignore time the test needs code that hangs
			}
			return "", workflow.Await(ctx, func() bool {
				if how == "condition hangs" {
					time.Sleep(time.Hour) //weftvet:ignore time the test needs a condition that hangs
				}
				return false
			})
		}, workflow.Names(goOn)))
		if _, err := changing.Start(t.Context(), p.Client, "w", ""); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			how  string
			kind failure.Kind
			left int
		}{{"changed", failure.KindNonDeterminism, 2}, {"panics", failure.KindPanic, 0}, {"hangs", failure.KindDeadlock, 0}, {"condition hangs", failure.KindDeadlock, 0}} {
			now.Store(c.how)
			w, err := p.Client.Waits(t.Context(), "w", "")
			if err != nil || w.Stopped == nil || w.Stopped.Kind != c.kind || len(w.Coroutines) != c.left {
				t.Errorf("%s: %+v, %v", c.how, w, err)
			}
			now.Store("well")
			if c.kind == failure.KindDeadlock {
				if _, err := p.Client.Waits(t.Context(), "w", ""); !errors.Is(err, client.ErrNotReady) {
					t.Errorf("%s: while its code hangs: %v", c.how, err)
				}
				time.Sleep(2 * time.Hour)
			}
			if w, err := p.Client.Waits(t.Context(), "w", ""); err != nil || w.Stopped != nil || len(w.Coroutines) != 2 {
				t.Errorf("after %s: %+v, %v", c.how, w, err)
			}
		}
	})
}

// A run that is pinned to another build is left to that build.
func TestWaitsOfAPinnedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		old := d.Start(executor.Options{Build: "build-1"}, testbed.Workload("build-1")...)
		if _, err := testbed.Pinned.Start(t.Context(), old.Client, "w", 0); err != nil {
			t.Fatal(err)
		}
		p := d.Start(executor.Options{Build: "build-2"}, testbed.Workload("build-2")...)
		if a := p.Do("GET", "/v1/workflows/w/waits", ""); a.Status != 409 || !strings.Contains(string(a.Body), "other-build") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if w, err := old.Client.Waits(t.Context(), "w", ""); err != nil || len(w.Coroutines) == 0 {
			t.Errorf("%+v, %v", w, err)
		}
	})
}
