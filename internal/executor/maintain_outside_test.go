package executor_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// awaitingApproval starts a run whose activity continues outside, and is never completed there.
// asked counts its attempts.
func awaitingApproval(t *testing.T, o activity.Options) (d *testbed.Deployment, result func() error, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	ask := activity.New("ask", func(ctx context.Context, _ int) (string, error) {
		asked.Add(1)
		if _, err := activity.Token(ctx); err != nil {
			return "", err
		}
		return "", activity.ErrPending
	}, o)
	approval := workflow.NewWorkflow[int, string]("approval")
	d = maintained(t)
	p := d.Start(executor.Options{}, ask, workflow.Bind(approval, func(ctx workflow.Context, n int) (string, error) { return ask.Run(ctx, n) }))
	if _, err := approval.Start(t.Context(), p.Client, "w", 1); err != nil {
		t.Fatal(err)
	}
	return d, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := approval.Get(p.Client, "w").Result(ctx)
		return err
	}, asked
}

// The slow check does not repeat an attempt that continues outside for days, whether or not
// attempts are counted. It does so when the attempt's time has passed.
func TestAnAttemptOutsideForDaysRunsOnce(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			_, _, asked := awaitingApproval(t, activity.Options{Pending: 14 * 24 * time.Hour, Retry: activity.Retry{MaxAttempts: most}})
			time.Sleep(10 * 24 * time.Hour)
			if n := asked.Load(); n != 1 {
				t.Errorf("at most %d attempts: %d within ten days", most, n)
			}
			time.Sleep(10 * 24 * time.Hour)
			if n := asked.Load(); n != 2 {
				t.Errorf("at most %d attempts: %d within twenty days", most, n)
			}
		})
	}
}

// If the message that checks on an attempt outside is lost, the slow check sends it again when it
// is overdue, so that the attempt ends.
func TestPurgeDuringAnAttemptOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, result, _ := awaitingApproval(t, activity.Options{Pending: 10 * time.Minute, Retry: activity.Retry{MaxAttempts: 1}})
		time.Sleep(time.Minute)
		purge(d)
		time.Sleep(3 * 24 * time.Hour)
		if err := result(); err == nil || !strings.Contains(err.Error(), "not completed in time") {
			t.Errorf("the run ended with %v", err)
		}
	})
}
