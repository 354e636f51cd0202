package executor_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// An attempt with the longest possible limits runs, and its result counts.
func TestAttemptWithTheLongestLimits(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]activity.Options{
		"startToClose":    {StartToClose: math.MaxInt64},
		"scheduleToClose": {StartToClose: math.MaxInt64, ScheduleToClose: math.MaxInt64},
		"counted":         {StartToClose: math.MaxInt64, Retry: activity.Retry{MaxAttempts: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				same := activity.New("same", func(_ context.Context, s string) (string, error) {
					time.Sleep(time.Hour)
					return s, nil
				}, o)
				long := workflow.NewWorkflow[string, string]("longest")
				p := testbed.One(t, same, workflow.Bind(long, func(ctx workflow.Context, s string) (string, error) { return same.Run(ctx, s) }))
				run, err := long.Start(t.Context(), p.Client, "a", "x")
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
				defer cancel()
				if got, err := run.Result(ctx); err != nil || got != "x" {
					t.Errorf("%q, %v", got, err)
				}
			})
		})
	}
}
