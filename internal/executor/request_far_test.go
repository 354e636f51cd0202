package executor_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// A moment that is further away than a time.Duration can express is a usual way to say never. A
// timer for it does not fire.
func TestTimersThatNeverFire(t *testing.T) {
	t.Parallel()
	waiter := workflow.NewWorkflow[time.Time, string]("waiter")
	wait := func(ctx workflow.Context, until time.Time) (string, error) {
		if year := until.Year(); year == 1 {
			until = time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC) // JSON cannot express this time
		}
		return "fired", workflow.Select(ctx, workflow.OnTimer(until, nil))
	}
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, workflow.Bind(waiter, wait))
		for _, until := range []string{"2200-01-01T00:00:00Z", "2300-01-01T00:00:00Z", "2600-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"} {
			id := until[:4]
			p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"`+id+`","type":"waiter","input":"`+until+`"}`)
			time.Sleep(time.Hour)
			var got schema.Description
			p.Do(http.MethodGet, "/v1/workflows/"+id, "").Into(t, &got)
			if len(got.PendingTimers) != 1 || got.Status.Closed() {
				t.Errorf("%s: %+v", until, got)
			}
			p.Do(http.MethodGet, "/v1/workflows/"+id+"/history", "")
			if a := p.Do(http.MethodPost, "/v1/workflows/"+id+"/cancel", ""); a.Status != http.StatusAccepted {
				t.Errorf("%s: cancel: %d %s", until, a.Status, a.Body)
			}
		}
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"longest","type":"waiter","runTimeout":"2562047h47m16s","input":"9999-12-31T23:59:59Z"}`)
		time.Sleep(time.Hour)
		if status := d.Runs("longest")[0].State.Status; status.Closed() {
			t.Errorf("a run with the longest timeout is %s", status)
		}
		d.CheckReplay(p)
	})
}
