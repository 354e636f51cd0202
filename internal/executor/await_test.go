package executor_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// If a caller leaves before the first read of the run that it has started, the answer has no
// outcome. It never has an outcome without a run id.
func TestStartAndAwaitOfACallerThatLeaves(t *testing.T) {
	t.Parallel()
	long := workflow.NewWorkflow[workflow.None, workflow.None]("long")
	code := workflow.Bind(long, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		return workflow.None{}, workflow.Sleep(ctx, time.Hour)
	})
	for stays, wantOutcome := range map[time.Duration]bool{20 * time.Millisecond: false, 10 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			p := testbed.New(t).Start(executor.Options{}, code)
			ctx, cancel := context.WithTimeout(t.Context(), stays)
			defer cancel()
			id := "w"
			answer, err := p.Service.StartAndAwait(ctx, schema.StartRequest{WorkflowID: &id, Type: "long"}, 20*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if outcome := answer.Outcome; (outcome != nil) != wantOutcome || outcome != nil && outcome.RunID != answer.RunID {
				t.Errorf("a caller who stays for %v: outcome %+v of run %q; want an outcome: %v", stays, outcome, answer.RunID, wantOutcome)
			}
		})
	}
}

// A read that panics removes its watch.
func TestPanicOfAnAwaitedRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		hooks := d.Hook()
		p := d.Start(executor.Options{})
		hooks.Next(testbed.OnRead, func(func() error) error { panic("the store has a defect") })
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the store's panic did not reach the caller")
				}
			}()
			_, _ = p.Service.Result(t.Context(), "w", "", time.Second)
		}()
		if n := p.Service.Service.Process.Watchers.Len(); n != 0 {
			t.Errorf("%d workflows are watched, want none", n)
		}
	})
}

// A process that knows a run as open, and its update as accepted, cannot read the log. It does not
// answer by what it knows, because another process may have ended both before the request.
func TestAnAnswerIsNotRemembered(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"", "&wait=0s", "&wait=5s"} {
		for _, hold := range []time.Duration{0, 250 * time.Millisecond, -1} {
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				works := d.Start(executor.Options{}, testbed.Workload("build-1")...)
				hooks := d.Hook()
				p := d.Idle(executor.Options{WaitHold: hold}, testbed.Workload("build-1")...)
				begin(t, works, "a")
				works.Do(http.MethodPost, "/v1/workflows/a/updates/nap", `{"updateId":"u","input":"10s","timeout":"1ms"}`)
				var open schema.ResultResponse
				p.Do(http.MethodGet, "/v1/workflows/a/result", "").Into(t, &open)
				targets := []string{"/result?runId=", "/updates/u?runId="}
				for i, target := range targets {
					targets[i] = "/v1/workflows/a" + target + string(open.RunID) + wait
				}
				time.Sleep(time.Minute)
				works.Do(http.MethodPost, "/v1/workflows/a/updates/finish", "{}")
				hooks.Always(testbed.OnRead, func(func() error) error { return store.ErrThrottled })
				for _, target := range targets {
					if a := p.Do(http.MethodGet, target, ""); a.Status != http.StatusServiceUnavailable {
						t.Errorf("%s of a process that holds calls for %v: %d %s", target, hold, a.Status, a.Body)
					}
				}
				hooks.Always(testbed.OnRead, nil)
				for _, target := range targets {
					if a := p.Do(http.MethodGet, target, ""); !strings.Contains(string(a.Body), `"completed"`) {
						t.Errorf("after that, %s: %d %s", target, a.Status, a.Body)
					}
				}
			})
		}
	}
}
