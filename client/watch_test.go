package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// lap continues as new once, after a minute.
var lap = workflow.NewWorkflow[int, int]("watch.lap")

func runLap(ctx workflow.Context, left int) (int, error) {
	if err := workflow.Sleep(ctx, time.Minute); err != nil || left == 0 {
		return 0, err
	}
	return lap.ContinueAsNew(ctx, left-1)
}

// A reader waits for the events of a run, and of those that follow it, and sees each once. The runs
// are listed, with how they began and ended.
func TestWaitHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ctx := testbed.New(t).Start(executor.Options{}, workflow.Bind(lap, runLap)), t.Context()
		if _, err := lap.Start(ctx, p.Client, "a", 1); err != nil {
			t.Fatal(err)
		}
		var runs []string
		for run := ""; ; {
			next := int64(1)
			for {
				page, err := p.Client.WaitHistory(ctx, "a", run, next)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Events {
					if e.ID != next {
						t.Fatalf("event %d, want %d", e.ID, next)
					}
					next++
				}
				run = string(page.RunID)
				if !page.Closed {
					continue
				}
				whole, err := p.Client.History(ctx, "a", run)
				if err != nil || len(whole.Events) != int(next)-1 || whole.Next != next || !whole.Closed || whole.NewRunID != page.NewRunID {
					t.Errorf("the whole history of %s: %d events, next %d, closed %t, then %q, %v", run, len(whole.Events), whole.Next, whole.Closed, whole.NewRunID, err)
				}
				runs, run = append(runs, run), string(page.NewRunID)
				break
			}
			if run == "" {
				break
			}
		}
		listed, more, err := p.Client.Runs(ctx, "a", "")
		if err != nil || more != "" || len(listed) != 2 || len(runs) != 2 {
			t.Fatalf("%d runs were read, and %d listed, %q, %v", len(runs), len(listed), more, err)
		}
		slices.Reverse(runs)
		for i, want := range []struct {
			by     string
			status history.Status
		}{{client.StartedByContinueAsNew, history.Completed}, {client.StartedByRequest, history.ContinuedAsNew}} {
			if got := listed[i]; string(got.RunID) != runs[i] || got.StartedBy != want.by || got.Status != want.status || got.ClosedAt == nil {
				t.Errorf("run %d is %+v, want %s, %+v", i, got, runs[i], want)
			}
		}
		if earlier, _, err := p.Client.Runs(ctx, "a", "2"); err != nil || len(earlier) != 1 {
			t.Errorf("the runs before the second: %+v, %v", earlier, err)
		}
	})
}

// The context ends a wait without news, which takes one request for each 20 s.
func TestWaitHistoryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, workflow.Bind(lap, runLap))
		if _, err := lap.Start(t.Context(), p.Client, "a", 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		requests := 0
		c := client.ForHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			p.Handler.ServeHTTP(w, r)
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		began := time.Now()
		page, err := c.WaitHistory(ctx, "a", "", 1000)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || page != nil || took > 50*time.Second || requests > 4 {
			t.Errorf("%+v, %v after %v and %d requests", page, err, took, requests)
		}
		if _, err := c.WaitHistory(t.Context(), "b", "", 1); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("a workflow that there is not: %v", err)
		}
	})
}
