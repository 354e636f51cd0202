package executor_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// An activity may update its own workflow and wait for the outcome while a handler waits for the
// activity, because nobody holds a lock meanwhile.
func TestAnActivityUpdatesItsOwnWorkflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		var p *testbed.Process
		own := workflow.NewWorkflow[workflow.None, int]("own")
		note := workflow.NewUpdate[int, int]("note")
		work := workflow.NewUpdate[int, int]("work")
		call := activity.New("call", func(ctx context.Context, n int) (int, error) { return note.Call(ctx, p.Client, "a", n) })
		p = d.Start(executor.Options{}, call, workflow.Bind(own, func(ctx workflow.Context, _ workflow.None) (int, error) {
			sum := 0
			note.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
				sum += n
				return sum, workflow.Sleep(ctx, 1) // so that it completes in a later task
			})
			work.Handle(ctx, func(ctx workflow.Context, n int) (int, error) { return call.Run(ctx, n) })
			err := workflow.Await(ctx, func() bool { return sum > 0 && workflow.AllHandlersFinished(ctx) })
			return sum, err
		}, workflow.Names(note, work)))
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"own"}`)
		if a := p.Do(http.MethodPost, "/v1/workflows/a/updates/work", `{"input":5}`); !strings.Contains(string(a.Body), `"result":5`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := p.Do(http.MethodGet, "/v1/workflows/a/result?wait=20s", ""); !strings.Contains(string(a.Body), `"result":5`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		d.CheckReplay(p)
	})
}
