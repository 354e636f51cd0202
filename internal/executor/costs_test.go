package executor_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// The sum over runs that have closed is the sum of what their descriptions say. Open runs are
// counted, and left out. The price of a run with activities that were retried has these, too.
func TestCostsAreTheSumOfDescriptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fails := activity.New("fails", func(ctx context.Context, times int) (string, error) {
			if activity.InfoOf(ctx).Attempt <= times {
				return "", errors.New("not yet")
			}
			return "done", nil
		})
		works := workflow.NewWorkflow[int, string]("works")
		rests := workflow.NewWorkflow[string, string]("rests")
		p := testbed.New(t).Start(executor.Options{}, fails,
			workflow.Bind(works, func(ctx workflow.Context, times int) (string, error) { return fails.Run(ctx, times) }),
			workflow.Bind(rests, func(ctx workflow.Context, d string) (string, error) {
				nap, err := time.ParseDuration(d)
				if err != nil {
					return "", err
				}
				return "", workflow.Sleep(ctx, nap)
			}))
		started := map[string]int{}
		for id, times := range map[string]int{"once": 0, "twice": 1, "often": 4} {
			if _, err := works.Start(t.Context(), p.Client, id, times); err != nil {
				t.Fatal(err)
			}
			started[id] = times
		}
		for id, nap := range map[string]string{"short": "1s", "long": "20m", "longer": "9000h"} {
			if _, err := rests.Start(t.Context(), p.Client, id, nap); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		want := map[string]*client.CostSum{"works": {}, "rests": {}}
		for _, id := range []string{"once", "twice", "often", "short", "long", "longer"} {
			d, err := p.Client.Describe(t.Context(), id, "")
			if err != nil {
				t.Fatal(err)
			}
			if times, ok := started[id]; ok && (d.Cost.Writes != int64(2+times) || d.Cost.Messages != int64(1+times)) {
				t.Errorf("%s: %+v", id, d.Cost)
			}
			if !d.Status.Closed() {
				want[d.Type].Add(client.CostSum{Open: 1})
				continue
			}
			want[d.Type].Add(client.CostSum{Runs: 1, Cost: *d.Cost})
		}
		got, err := p.Client.Costs(t.Context(), client.CostsOptions{GroupBy: "WorkflowType"})
		if err != nil {
			t.Fatal(err)
		}
		all := client.CostSum{}
		for _, g := range got.Groups {
			checkSum(t, g.Value, g.CostSum, *want[g.Value])
			all.Add(g.CostSum)
		}
		checkSum(t, "all", got.CostSum, all)
		if got.Runs != 5 || got.Open != 1 || got.Others != nil || got.NextPageToken != "" || len(got.Groups) != 2 {
			t.Errorf("%+v", got)
		}
		some, err := p.Client.Costs(t.Context(), client.CostsOptions{Filter: "WorkflowType = 'rests' AND CloseTime > '2000-01-01T00:10:00Z'"})
		if err != nil || some.Runs != 1 || some.Open != 0 || some.Groups != nil || some.Cost.Writes != 4 {
			t.Errorf("%+v, %v", some, err)
		}
	})
}

func checkSum(t *testing.T, what string, got, want client.CostSum) {
	t.Helper()
	if math.Abs(got.Cost.Dollars-want.Cost.Dollars) > 1e-10 || !slices.Equal(got.Cost.Estimated, want.Cost.Estimated) {
		t.Errorf("%s: $%v, estimated: %v; want $%v, %v", what, got.Cost.Dollars, got.Cost.Estimated, want.Cost.Dollars, want.Cost.Estimated)
	}
	got.Cost.Dollars, got.Cost.Estimated, want.Cost.Dollars, want.Cost.Estimated = 0, nil, 0, nil
	if got.Runs != want.Runs || got.Open != want.Open || got.Cost.Writes != want.Cost.Writes || got.Cost.Messages != want.Cost.Messages ||
		got.Cost.WriteUnits != want.Cost.WriteUnits || got.Cost.IndexUnits != want.Cost.IndexUnits || got.Cost.Reads != want.Cost.Reads || got.Cost.Prices != want.Cost.Prices {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}
