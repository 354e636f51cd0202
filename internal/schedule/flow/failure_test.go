package flow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// When a schedule learns of the failure that pauses it, the moments until then still count, under
// each policy. Later moments do not.
func TestPauseOnFailureAfterOutage(t *testing.T) {
	t.Parallel()
	fails := workflow.NewWorkflow[workflow.None, workflow.None]("fails")
	all := []workflow.Registration{workflow.Bind(fails, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		if err := workflow.Sleep(ctx, 5*time.Minute); err != nil {
			return workflow.None{}, err
		}
		return workflow.None{}, workflow.NewError("fails", "as it does")
	})}
	for overlap, want := range map[client.Overlap]struct{ started, skipped int }{
		client.OverlapSkip: {1, 3}, client.OverlapBufferOne: {2, 2}, client.OverlapBufferAll: {4, 0},
		client.OverlapAllowAll: {4, 0}, client.OverlapCancel: {2, 2}, client.OverlapTerminate: {2, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			defer d.Replay(all...)
			p := d.Start(executor.Options{}, all...)
			o := workflow.ScheduleOptions{Every: []client.Every{{Interval: 10 * time.Minute}}, Overlap: overlap, PauseOnFailure: true}
			if _, err := fails.Schedule(t.Context(), p.Client, "s", workflow.None{}, o); err != nil {
				t.Fatal(err)
			}
			time.Sleep(12 * time.Minute) // the run of 0:10 is open
			p.Stop()
			time.Sleep(33 * time.Minute) // it would have failed at 0:15; 0:20, 0:30 and 0:40 have passed
			p = d.Idle(executor.Options{}, all...)
			for range 2 { // the run's timer, and the message that it ended: both before the schedule's own timer
				if n := handle(t, d, p, func(m *engine.Message) bool { return m.WorkflowID != "weft.schedule:s" }); n != 1 {
					t.Errorf("%s: %d messages of the run, want one", overlap, n)
				}
			}
			p.Stop()
			p = d.Start(executor.Options{}, all...)
			defer p.Stop()
			time.Sleep(2 * time.Hour)
			got := describe(t, p.Schedule("s"))
			if got.Started != want.started || got.Skipped != want.skipped || got.Missed != 0 || !got.Schedule.Paused || len(got.Running) > 0 {
				t.Errorf("%s: want %+v, got %+v", overlap, want, got)
			}
		})
	}
}
