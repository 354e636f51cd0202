package executor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
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
