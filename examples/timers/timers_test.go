package timers_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/timers"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

const day = 24 * time.Hour

func TestTimers(t *testing.T) {
	for name, test := range map[string]struct {
		payAfter time.Duration // 0 means never
		want     time.Duration // how long after its start it ends
		canceled int           // the number of canceled timers
	}{
		"paid in time": {payAfter: 15 * day, want: (14 + 365) * day, canceled: 1},
		"never paid":   {want: 17 * day},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, p := t.Context(), testbed.One(t, timers.Registrations()...)
				begun := time.Now()
				run, err := timers.Workflow.Start(ctx, p.Client, "subscription-1", workflow.None{})
				if err != nil {
					t.Fatal(err)
				}
				if test.payAfter > 0 {
					time.Sleep(test.payAfter)
					if err := timers.Pay.Send(ctx, p.Client, "subscription-1", workflow.None{}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Until(begun.Add(test.want + time.Hour))) // a caller who waited that long would poll very often
				ended, err := run.Result(ctx)
				if err != nil || ended.Paid != (test.payAfter > 0) {
					t.Errorf("%+v, %v", ended, err)
				}
				if after := ended.At.Sub(begun).Truncate(time.Minute); after != test.want {
					t.Errorf("the run ended after %v, want %v", after, test.want)
				}
				events, err := p.History(ctx, "subscription-1")
				if n := testbed.Count(events, history.TypeTimerCanceled); err != nil || n != test.canceled {
					t.Errorf("%d timers were canceled, %v; want %d", n, err, test.canceled)
				}
			})
		})
	}
}
