package flow_test

import (
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// brokenAt is how a batch describes the panic of broken code: by its kind and its place, and not by
// its text.
var brokenAt = regexp.MustCompile(`^The run's code fails: panic at flow/stuck_test\.go:\d+; the run continues from here when fixed code is deployed`)

// After a deployment that fixes the code, a batch retries all stuck runs of a type, and no others.
// While the code is broken, each of them counts as failed.
func TestRetriesStuckRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		var broken atomic.Bool
		broken.Store(true)
		breaks := func(name string) (workflow.Type[bool, string], workflow.Registration) {
			typ := workflow.NewWorkflow[bool, string](name)
			return typ, workflow.Bind(typ, func(ctx workflow.Context, fine bool) (string, error) {
				if !fine && broken.Load() {
					panic("not today")
				}
				return "done", workflow.Sleep(ctx, 24*time.Hour)
			})
		}
		order, orders := breaks("order")
		other, others := breaks("other")
		p := d.Start(executor.Options{}, orders, others)
		for i, id := range named("order", 12) {
			if _, err := order.Start(t.Context(), p.Client, id, i%3 == 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := other.Start(t.Context(), p.Client, "other", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // the next retries are far
		const stuck = "Stuck AND WorkflowType = 'order'"
		if dry := ended(t, begin(t, p, client.BatchOptions{Filter: stuck, DryRun: true})); dry.Counts.Matched != 8 {
			t.Errorf("%d are stuck, %v", dry.Counts.Matched, dry.Groups)
		}
		still := ended(t, begin(t, p, client.BatchOptions{Filter: stuck, Action: &client.BatchAction{Kind: "retry"}}))
		if want := (schema.BatchCounts{Matched: 8, Failed: 8}); still.Counts != want || len(still.Problems) != 8 || still.Problems[0].Refused {
			t.Errorf("while the code is broken: %+v, %v", still.Counts, still.Problems)
		}
		for _, p := range still.Problems {
			if !brokenAt.MatchString(p.Reason) || strings.Contains(p.Reason, "not today") {
				t.Errorf("%s has the problem %q, want %s", p.WorkflowID, p.Reason, brokenAt)
			}
		}
		broken.Store(false)
		if err := p.Retry(t.Context(), "order-002", ""); err != nil {
			t.Fatal(err)
		}
		got := ended(t, begin(t, p, client.BatchOptions{Filter: stuck, Action: &client.BatchAction{Kind: "retry"}}))
		if want := (schema.BatchCounts{Matched: 7, Done: 7}); got.State != "completed" || got.Counts != want {
			t.Errorf("%s, %+v, %v", got.State, got.Counts, got.Problems)
		}
		for filter, want := range map[string]int{stuck: 0, "Stuck": 1, "WorkflowType = 'order' AND ExecutionStatus = 'Running'": 12} {
			if n, err := p.Count(t.Context(), client.CountOptions{Filter: filter}); err != nil || n.Count != want {
				t.Errorf("%s: %+v, %v, want %d", filter, n, err, want)
			}
		}
	})
}
