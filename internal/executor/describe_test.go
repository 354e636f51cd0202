package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// A description fits into an answer of Lambda, even if hundreds of activities have failed with long
// errors. It has the beginning of each failure.
func TestDescriptionIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const activities = 300
		long := activity.New("long", func(context.Context, int) (string, error) {
			return "", errors.New("it failed: " + strings.Repeat("x", 7<<10))
		}, activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
		many := workflow.NewWorkflow[int, string]("many")
		d := testbed.New(t)
		p := d.Start(executor.Options{}, long, workflow.Bind(many, func(ctx workflow.Context, n int) (string, error) {
			for range n {
				long.Start(ctx, 0)
			}
			return "", workflow.Sleep(ctx, 240*time.Hour)
		}))
		if _, err := many.Start(t.Context(), p.Client, "w", activities, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		what, err := p.Client.Describe(t.Context(), "w", "")
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(what.PendingActivities); n != activities || len(body) > 2<<20 {
			t.Errorf("%d activities are described with %d bytes", n, len(body))
		}
		full := 0
		for _, a := range what.PendingActivities {
			switch {
			case a.LastFailure == nil || !strings.HasPrefix(a.LastFailure.Message, "it failed: "):
				t.Fatalf("activity %d has the failure %v", a.EventID, a.LastFailure)
			case len(a.LastFailure.Message) > 7<<10:
				full++
			}
		}
		if full == 0 || full == activities {
			t.Errorf("%d of %d failures are complete", full, activities)
		}
	})
}
