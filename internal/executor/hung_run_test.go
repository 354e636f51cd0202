package executor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	stubborn      = workflow.NewWorkflow[string, int]("stubborn")
	stubbornHang  = workflow.NewUpdate[time.Duration, int]("hang")
	stubbornQuery = workflow.NewQuery[time.Duration, int]("query")
	stubbornSteps = workflow.NewSignal[workflow.None]("step")
)

// stubbornTestbed calls fn with a process in which the workflow "w" is open.
//   - Its handlers take as long as their input says. active is how many of them run, and ran is how
//     many have begun.
//   - It counts its signals. It completes with their number a minute after its start, or later.
func stubbornTestbed(t *testing.T, fn func(t *testing.T, p *testbed.Process, active, ran *atomic.Int32)) {
	t.Parallel()
	var active, ran atomic.Int32
	nap := func(d time.Duration) {
		active.Add(1)
		ran.Add(1)
		defer active.Add(-1)
		time.Sleep(d)
	}
	code := workflow.Bind(stubborn, func(ctx workflow.Context, _ string) (int, error) {
		n := 0
		stubbornHang.Handle(ctx, func(_ workflow.Context, d time.Duration) (int, error) { nap(d); return n, nil })
		stubbornQuery.Handle(ctx, func(d time.Duration) (int, error) { nap(d); return n, nil })
		workflow.Go(ctx, func(ctx workflow.Context) {
			for {
				if _, err := stubbornSteps.Receive(ctx); err != nil {
					return
				}
				n++
			}
		})
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return n, err
		}
		return n, workflow.Sleep(ctx, time.Second) // the signals that arrived with the timer are received now
	}, workflow.Names(stubbornHang, stubbornQuery, stubbornSteps))
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, code)
		if _, err := stubborn.Start(t.Context(), p.Client, "w", ""); err != nil {
			t.Fatal(err)
		}
		fn(t, p, &active, &ran)
		time.Sleep(5 * time.Hour) // code that still runs returns
	})
}

// A query has one second. A query that hangs blocks its run: further queries and updates are
// refused at once, and no handler runs.
func TestQueryThatHangs(t *testing.T) {
	stubbornTestbed(t, func(t *testing.T, p *testbed.Process, _, ran *atomic.Int32) {
		for i := range 100 {
			began, want := time.Now(), time.Duration(0)
			if i == 0 {
				want = time.Second
			}
			_, err := p.Service.Query(t.Context(), "w", "", "query", []byte("3600000000000"))
			if took := time.Since(began); !errors.Is(err, refusal.NotReady) || took != want {
				t.Fatalf("query %d was answered after %v: %v; want 409 after %v", i, took, err, want)
			}
		}
		began := time.Now()
		_, err := p.Service.Update(t.Context(), "w", "", "hang", schema.UpdateRequest{Input: []byte("0")})
		if took := time.Since(began); !errors.Is(err, refusal.NotReady) || !strings.Contains(err.Error(), "of this run has not come back since") || took != 0 {
			t.Errorf("an update was answered after %v: %v; want 409 with the reason, at once", took, err)
		}
		if n := ran.Load(); n != 1 || p.Service.Hung() != 1 {
			t.Errorf("%d handlers ran, and %d hang; want one", n, p.Service.Hung())
		}
		time.Sleep(2 * time.Hour)
		if n, err := stubbornQuery.Ask(t.Context(), p.Client, "w", 0); err != nil || n != 0 {
			t.Errorf("a query after the handler has returned: %d, %v", n, err)
		}
	})
}

// While the code of a run hangs, requests that need no code work at once. Signals and timers are
// kept, and take effect when the code has returned. Other runs are not delayed.
func TestRunBesideItsHungCode(t *testing.T) {
	stubbornTestbed(t, func(t *testing.T, p *testbed.Process, active, ran *atomic.Int32) {
		ctx := t.Context()
		if _, err := p.Service.Update(ctx, "w", "", "hang", schema.UpdateRequest{Input: []byte("7200000000000")}); !errors.Is(err, refusal.NotReady) {
			t.Fatal(err)
		}
		began := time.Now()
		if err := stubbornSteps.Send(ctx, p.Client, "w", workflow.None{}); err != nil {
			t.Errorf("a signal while the code hangs: %v", err)
		}
		if r, err := p.Service.Result(ctx, "w", "", 0); err != nil || r.Status.Closed() {
			t.Errorf("the result: %+v, %v", r, err)
		}
		if d, err := p.Service.Describe(ctx, "w", ""); err != nil || d.StuckTask == nil {
			t.Errorf("described as %+v, %v; want a stuck task", d, err)
		}
		if _, _, _, err := p.Service.History(ctx, "w", "", 1); err != nil {
			t.Errorf("the history: %v", err)
		}
		if _, err := stubborn.Start(ctx, p.Client, "other", ""); err != nil {
			t.Errorf("a start of another run: %v", err)
		}
		if n, err := stubbornQuery.Ask(ctx, p.Client, "other", 0); err != nil || n != 0 {
			t.Errorf("a query of another run: %d, %v", n, err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the requests took %v", took)
		}
		time.Sleep(90 * time.Minute) // the run's timer was due long ago
		if r, err := p.Service.Result(ctx, "other", "", 0); err != nil || string(r.Result) != "0" {
			t.Errorf("the other run: %+v, %v; want it completed", r, err)
		}
		if r, err := p.Service.Result(ctx, "w", "", 0); err != nil || r.Status.Closed() || active.Load() != 1 || ran.Load() != 2 {
			t.Errorf("the run while its code hangs: %+v, %v, with %d running handlers of %d; want it open, with one of two", r, err, active.Load(), ran.Load())
		}
		time.Sleep(30*time.Minute + 2*time.Minute) // the handler returns
		if r, err := p.Service.Result(ctx, "w", "", 0); err != nil || r.Status != history.Completed || string(r.Result) != "1" {
			t.Errorf("the run after its code has returned: %+v, %v; want it completed, with the signal", r, err)
		}
	})
}

// A run whose code hangs can be canceled, reset and terminated like any other.
func TestEndOfARunThatHangs(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, s edge.Service) error{
		"cancel":    func(ctx context.Context, s edge.Service) error { return s.Cancel(ctx, "w", "", "") },
		"terminate": func(ctx context.Context, s edge.Service) error { return s.Terminate(ctx, "w", "", "") },
		"reset": func(ctx context.Context, s edge.Service) error {
			_, err := s.Reset(ctx, "w", "", schema.ResetRequest{To: "firstTask"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			stubbornTestbed(t, func(t *testing.T, p *testbed.Process, _, _ *atomic.Int32) {
				if _, err := p.Service.Update(t.Context(), "w", "", "hang", schema.UpdateRequest{Input: []byte("20000000000")}); !errors.Is(err, refusal.NotReady) {
					t.Fatal(err)
				}
				before, err := p.Service.Describe(t.Context(), "w", "")
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if err := end(t.Context(), p.Service); err != nil || time.Since(began) != 0 {
					t.Fatalf("%v, after %v", err, time.Since(began))
				}
				time.Sleep(3 * time.Hour)
				if r, err := p.Service.Result(t.Context(), "w", before.RunID, 0); err != nil || !r.Status.Closed() || r.Status == history.Completed {
					t.Errorf("the run: %+v, %v; want it ended", r, err)
				}
			})
		})
	}
}

// Only one attempt at a hanging local activity runs at a time. The next one begins when the one
// before has returned.
func TestLocalActivityThatHangs(t *testing.T) {
	t.Parallel()
	var active, most, ran atomic.Int32
	local := activity.NewLocal("hangsLocally", func(context.Context, workflow.None) (string, error) {
		most.Store(max(most.Load(), active.Add(1)))
		defer active.Add(-1)
		n := ran.Add(1)
		if n < 3 {
			time.Sleep(time.Hour) // the activity ignores its context
		}
		return fmt.Sprint("attempt ", n), nil
	})
	flow := workflow.NewWorkflow[workflow.None, string]("hangs-locally")
	code := workflow.Bind(flow, func(ctx workflow.Context, _ workflow.None) (string, error) {
		return local.Run(ctx, workflow.None{})
	})
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, code, local)
		if _, err := flow.Start(t.Context(), p.Client, "w", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		if r, err := p.Service.Result(t.Context(), "w", "", 0); err != nil || string(r.Result) != `"attempt 3"` || most.Load() != 1 {
			t.Errorf("%+v, %v, with %d attempts at once; want the third attempt, one at a time", r, err, most.Load())
		}
	})
}
