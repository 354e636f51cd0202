package executor_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

const day = 24 * time.Hour

// closeRun starts a counter and completes it. The run has a few commits and a recorded attempt.
// closeRun returns its run id.
func closeRun(t *testing.T, p *testbed.Process, id string) string {
	t.Helper()
	ctx := t.Context()
	run, err := testbed.Counter.Start(ctx, p.Client, id, 50, workflow.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = testbed.Add.Call(ctx, p.Client, id, 5, workflow.CallOptions{})
	if err == nil {
		_, err = testbed.Do.Call(ctx, p.Client, id, testbed.Job{Name: "x", Fails: 1}, workflow.CallOptions{ID: "do"})
	}
	if err == nil {
		_, err = testbed.Finish.Call(ctx, p.Client, id, workflow.None{}, workflow.CallOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	result, err := run.Result(ctx)
	if err != nil || result != 5 {
		t.Fatalf("%d, %v", result, err)
	}
	return run.RunID
}

// isGone demands that every request to a workflow reports that it does not exist, and that none
// reports corruption.
func isGone(t *testing.T, p *testbed.Process, id, runID string) {
	t.Helper()
	base := "/v1/workflows/" + id
	for _, r := range []testbed.Request{
		{Method: http.MethodGet, Target: base},
		{Method: http.MethodGet, Target: base + "/result"},
		{Method: http.MethodGet, Target: base + "/history"},
		{Method: http.MethodGet, Target: base + "/result?runId=" + runID},
		{Method: http.MethodPost, Target: base + "/queries/sum"},
		{Method: http.MethodPost, Target: base + "/updates/add", Body: `{"input":1}`},
		{Method: http.MethodGet, Target: base + "/updates/do"},
		{Method: http.MethodPost, Target: base + "/signals/poke", Body: `{"input":"x"}`},
	} {
		if a := p.Do(r.Method, r.Target, r.Body); a.Status != http.StatusNotFound || a.Cost.Writes > 0 {
			t.Errorf("%s %s: %d %s", r.Method, r.Target, a.Status, a.Body)
		}
	}
}

// A closed run without a deadline is deleted after its retention, with all its data. A later start
// works, and so do further ones, whether or not the remains of the earlier run have expired.
func TestClosedRunsAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		p := d.Start(executor.Options{}, testbed.Workload("build-2")...)
		random, seen := rand.New(rand.NewPCG(1, 2)), map[string]bool{}
		for round := range shortform.Or(6, 2) {
			id := closeRun(t, p, "w")
			if seen[id] {
				t.Errorf("run id %s is used again", id)
			}
			seen[id] = true
			time.Sleep(6 * day)
			if a := p.Do(http.MethodGet, "/v1/workflows/w/result", ""); a.Status != http.StatusOK {
				t.Errorf("within its retention: %d %s", a.Status, a.Body)
			}
			time.Sleep(3 * day)
			isGone(t, p, "w", id)
			for _, item := range d.Store.Dump("w") {
				if item.Expires.IsZero() || item.Summary != nil {
					t.Errorf("%v is left", item.Key)
				}
			}
			if attempts, err := d.Store.ReadAttempts(t.Context(), "w", history.RunID(id).Number()); err != nil || len(attempts) > 0 {
				t.Errorf("attempts %v are left, %v", attempts, err)
			}
			if rows, _, err := d.Store.ListRuns(t.Context(), store.Filter{}, "", 10); err != nil || len(rows) > 0 {
				t.Errorf("rows %v are left, %v", rows, err)
			}
			if round%2 == 1 {
				time.Sleep(10 * day)
				for d.Store.DeleteExpired(random.IntN) {
				}
				if left := d.Store.Dump("w"); len(left) > 0 {
					t.Errorf("%d items are left", len(left))
				}
			}
		}
	})
}

// The check does not delete open runs or runs with a deadline, and keeps the open run of a workflow
// with several runs.
func TestOtherRunsAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		p := d.Start(executor.Options{}, testbed.Workload("build-2")...)
		closeRun(t, p, "twice")
		closeRun(t, p, "twice")
		for _, id := range []string{"open", "twice"} {
			if _, err := testbed.Counter.Start(t.Context(), p.Client, id, 50, workflow.StartOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * day)
		for _, id := range []string{"open", "twice"} {
			runs := d.Runs(id)
			if len(runs) != 1 || runs[0].State.Status != history.Running {
				t.Errorf("%s has %d runs", id, len(runs))
			}
			if sum, err := testbed.Add.Call(t.Context(), p.Client, id, 3, workflow.CallOptions{}); err != nil || sum != 3 {
				t.Errorf("%s: %d, %v", id, sum, err)
			}
		}
		if runs := d.Runs("twice"); runs[0].Number != 3 {
			t.Errorf("the open run has the number %d", runs[0].Number)
		}
	})
}

// No request finds a run that is being deleted, however far the deletion is. A start opens the next
// run.
func TestHalfDeleted(t *testing.T) {
	t.Parallel()
	step := shortform.Or(1, 4)
	for gone := 1; ; gone += step {
		more := true
		synctest.Test(t, func(t *testing.T) {
			d := maintained(t)
			p := d.Start(executor.Options{}, testbed.Workload("build-2")...)
			id := closeRun(t, p, "w")
			p.Stop()
			time.Sleep(2 * time.Hour) // a run that has just closed is not deleted
			items := d.Store.Dump("w")
			more = gone+step < len(items)
			if err := d.Store.Delete(context.Background(), items[:gone], nil); err != nil {
				t.Fatal(err)
			}
			fresh := d.Start(executor.Options{}, testbed.Workload("build-2")...)
			isGone(t, fresh, "w", id)
			next := closeRun(t, fresh, "w")
			if !strings.HasPrefix(next, "2-") {
				t.Errorf("the next run is %s", next)
			}
			time.Sleep(9 * day)
			isGone(t, fresh, "w", next)
		})
		if !more {
			return
		}
	}
}

// A closed child is kept as long as its parent waits for its outcome. Otherwise the parent would
// start the child again after an outage longer than the retention.
func TestAChildIsKeptForItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx := maintained(t), t.Context()
		child, father := workflow.NewWorkflow[string, string]("child"), workflow.NewWorkflow[string, string]("father")
		code := []workflow.Registration{
			workflow.Bind(child, func(ctx workflow.Context, _ string) (string, error) {
				return "done", workflow.Sleep(ctx, time.Minute)
			}),
			workflow.Bind(father, func(ctx workflow.Context, _ string) (string, error) {
				result, err := child.RunChild(ctx, "", workflow.ChildOptions{WorkflowID: "c"})
				return result, errors.Join(err, workflow.Sleep(ctx, time.Minute))
			}),
		}
		o := executor.Options{Retention: day}
		p := d.Start(o, code...)
		if _, err := father.Start(ctx, p.Client, "f", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		p.Stop()
		time.Sleep(time.Minute)
		p = d.Idle(o, code...)
		if err := deliver(t, d, p, queue.Timers, 1); err != nil {
			t.Fatal(err)
		}
		closed := d.Runs("c")[0].State
		if closed.Status != history.Completed {
			t.Fatalf("the child is %s", closed.Status)
		}
		purge(d) // the message that would notify the parent is lost
		time.Sleep(13 * day)
		if err := p.Service.Delete(ctx, "c", closed.RunID); !errors.Is(err, refusal.AlreadyOpen) {
			t.Errorf("a request to delete the child returned %v", err)
		}
		p = d.Start(o, code...)
		defer func() { p.Stop() }()
		if result, err := father.Get(p.Client, "f").Result(ctx); result != "done" || err != nil {
			t.Errorf("the parent returned %q, %v", result, err)
		}
		if runs := d.Runs("c"); len(runs) != 1 || runs[0].State.RunID != closed.RunID {
			t.Errorf("the child was started again: it has %d runs", len(runs))
		}
		time.Sleep(3 * day)
		if n := thereAre(d, "c") + thereAre(d, "f"); n != 0 {
			t.Errorf("%d runs exist after their retention", n)
		}
	})
}
