package retries_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/examples/retries"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

func TestRetries(t *testing.T) {
	for name, test := range map[string]struct {
		order retries.Order
		want  retries.Paid
		took  time.Duration
	}{
		"the first attempt succeeds":        {retries.Order{}, retries.Paid{Attempts: 1}, 0},
		"the third attempt succeeds":        {retries.Order{DownFor: 2}, retries.Paid{Attempts: 3}, 3 * time.Second},
		"the last attempt succeeds":         {retries.Order{DownFor: 4}, retries.Paid{Attempts: 5}, 12 * time.Second},
		"a declined card is asked for once": {retries.Order{Stolen: true}, retries.Paid{Problem: "ask for another card"}, 0},
		"the last attempt fails": {
			retries.Order{DownFor: 5},
			retries.Paid{Problem: "activity retries.charge failed: attempt 5: the payment provider does not answer"},
			12 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, p := t.Context(), testbed.One(t, retries.Registrations()...)
				begun := time.Now()
				run, err := retries.Workflow.Start(ctx, p.Client, "order-1", test.order)
				if err != nil {
					t.Fatal(err)
				}
				paid, err := run.Result(ctx)
				if err != nil || paid != test.want {
					t.Errorf("%+v, %v; want %+v", paid, err, test.want)
				}
				if took := time.Since(begun).Truncate(time.Second); took != test.took {
					t.Errorf("the run took %v, want %v", took, test.took)
				}
				// The failed attempts are not in the history, because an activity has one result.
				events, err := p.History(ctx, "order-1")
				if err != nil || len(events) != 10 {
					t.Errorf("%d events, %v; want 10, however many attempts there were: %v", len(events), err, events)
				}
			})
		})
	}
}
