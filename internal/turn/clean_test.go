package turn_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

const day = 24 * time.Hour

// closeRun starts a run of the counter and brings it to its end, with a few commits and a recorded attempt. It returns the
// run's id.
func closeRun(t *testing.T, p *turntest.Process, id string) string {
	t.Helper()
	ctx := t.Context()
	run, err := turntest.Counter.Start(ctx, p.Client, id, 50, workflow.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = turntest.Add.Call(ctx, p.Client, id, 5, workflow.CallOptions{})
	if err == nil {
		_, err = turntest.Do.Call(ctx, p.Client, id, turntest.Job{Name: "x", Fails: 1}, workflow.CallOptions{ID: "do"})
	}
	if err == nil {
		_, err = turntest.Finish.Call(ctx, p.Client, id, workflow.None{}, workflow.CallOptions{})
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

// isGone wants every request to a workflow to find nothing: not one that fails, or is told of something corrupt.
func isGone(t *testing.T, p *turntest.Process, id, runID string) {
	t.Helper()
	base := "/v1/workflows/" + id
	for _, r := range []turntest.Request{
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

// A closed run without a deadline goes when its retention has passed, with all that belongs to it. A start after that works,
// again and again, whether or not what is left of the run before has expired.
func TestClosedRunsGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		p := d.Start(turn.Options{}, turntest.Workload("build-2")...)
		random, seen := rand.New(rand.NewPCG(1, 2)), map[string]bool{}
		for round := range 6 {
			id := closeRun(t, p, "w")
			if seen[id] {
				t.Errorf("run id %s is used again", id)
			}
			seen[id] = true
			time.Sleep(6 * day)
			if a := p.Do(http.MethodGet, "/v1/workflows/w/result", ""); a.Status != http.StatusOK {
				t.Errorf("before its retention has passed: %d %s", a.Status, a.Body)
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

// What is open stays, what has a deadline is left to that, and of a workflow with several runs the open one stays.
func TestOthersStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		p := d.Start(turn.Options{}, turntest.Workload("build-2")...)
		closeRun(t, p, "twice")
		closeRun(t, p, "twice")
		for _, id := range []string{"open", "twice"} {
			if _, err := turntest.Counter.Start(t.Context(), p.Client, id, 50, workflow.StartOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * day)
		for _, id := range []string{"open", "twice"} {
			runs := d.Runs(id)
			if len(runs) != 1 || runs[0].State.Status != history.Running {
				t.Errorf("%s has %d runs", id, len(runs))
			}
			if sum, err := turntest.Add.Call(t.Context(), p.Client, id, 3, workflow.CallOptions{}); err != nil || sum != 3 {
				t.Errorf("%s: %d, %v", id, sum, err)
			}
		}
		if runs := d.Runs("twice"); runs[0].Number != 3 {
			t.Errorf("the open run has the number %d", runs[0].Number)
		}
	})
}

// A run that is being deleted is gone for everybody, however far the deletion has come, and a start opens the next run.
func TestHalfDeleted(t *testing.T) {
	t.Parallel()
	for gone := 1; ; gone++ {
		more := true
		synctest.Test(t, func(t *testing.T) {
			d := maintained(t)
			p := d.Start(turn.Options{}, turntest.Workload("build-2")...)
			id := closeRun(t, p, "w")
			p.Stop()
			items := d.Store.Dump("w")
			more = gone+1 < len(items)
			if err := d.Store.Delete(context.Background(), items[:gone], nil); err != nil {
				t.Fatal(err)
			}
			fresh := d.Start(turn.Options{}, turntest.Workload("build-2")...)
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
