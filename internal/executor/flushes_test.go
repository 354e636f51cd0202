package executor_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/ondisk"
	"github.com/seed-41655fb1/weft/workflow"
)

// The server waits for one flush of the disk for a start, for each step, and for an accepted
// update. It waits for none if it writes nothing.
func TestFlushes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := workflow.NewWorkflow[int, int]("steps")
		step := activity.New("step", func(_ context.Context, n int) (int, error) { return n, nil })
		d, db := ondisk.New(t)
		p := d.Start(executor.Options{}, step, tally(new(int), func(*int) {}), workflow.Bind(steps, func(ctx workflow.Context, n int) (int, error) {
			for i := range n {
				if _, err := step.Run(ctx, i); err != nil {
					return 0, err
				}
			}
			return n, nil
		}))
		w := &tallied{t, p}
		for _, c := range []struct {
			what string
			want int64
			do   func()
		}{
			{"a workflow of one step", 2, func() { run(t, p, steps, 1) }},
			{"a workflow of three steps", 4, func() { run(t, p, steps, 3) }},
			{"a start", 1, func() { p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"w","type":"tally"}`) }},
			{"an accepted update", 1, func() { w.add(1, http.StatusOK) }},
			{"a refused update", 0, func() { w.add(-1, http.StatusUnprocessableEntity) }},
			{"a query", 0, func() { p.Do(http.MethodPost, "/v1/workflows/w/queries/sum", "") }},
		} {
			synctest.Wait()
			before := db.Stats().Waited
			c.do()
			synctest.Wait()
			if got := db.Stats().Waited - before; got != c.want {
				t.Errorf("%s waited for %d flushes; want %d", c.what, got, c.want)
			}
		}
	})
}

// run runs a workflow until it ends.
func run(t *testing.T, p *testbed.Process, steps workflow.Type[int, int], n int) {
	t.Helper()
	started, err := steps.Start(t.Context(), p.Client, fmt.Sprint("steps-", n), n)
	if err == nil {
		_, err = started.Result(t.Context())
	}
	if err != nil {
		t.Error(err)
	}
}
