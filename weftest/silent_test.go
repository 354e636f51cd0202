package weftest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// An attempt that sends no heartbeat for too long is retried, whatever it returns when its context
// ends.
func TestSilentAttemptsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := activity.New("silent", func(ctx context.Context, _ workflow.None) (int, error) {
			if n := activity.InfoOf(ctx).Attempt; n == 3 {
				return n, nil
			}
			<-ctx.Done()
			return 0, fmt.Errorf("waiting: %w", ctx.Err())
		}, activity.Options{StartToClose: time.Hour, Heartbeat: time.Minute, Retry: activity.Retry{MaxAttempts: 3}})
		typ := workflow.NewWorkflow[workflow.None, int]("waiting")
		env := weftest.New(t, silent, workflow.Bind(typ, func(ctx workflow.Context, in workflow.None) (int, error) { return silent.Run(ctx, in) }))
		run, err := typ.Start(t.Context(), env.Client(), "w", workflow.None{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := run.Result(t.Context()); err != nil || n != 3 {
			t.Errorf("attempt %d, %v", n, err)
		}
	})
}
