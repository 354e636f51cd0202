package executor_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	landing  = workflow.NewWorkflow[int, int]("landing")
	landEnd  = workflow.NewUpdate[int, int]("end")
	landMore = workflow.NewUpdate[int, int]("more")
)

// runLanding continues as new at once if its generation is 0. If "end" has run with 8 by then, the
// run accepts the update "more", and closes before the code handles it.
func runLanding(ctx workflow.Context, generation int) (int, error) {
	more := func() { landMore.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil }) }
	if generation > 0 {
		more()
	}
	landEnd.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
		if n == 8 {
			more()
		}
		return n, nil
	})
	if generation == 0 {
		return landing.ContinueAsNew(ctx, 1)
	}
	return 0, workflow.Await(ctx, func() bool { return false })
}

// landingTestbed calls fn with a process that runs no task unless a request needs one.
func landingTestbed(t *testing.T, fn func(t *testing.T, p *testbed.Process, hooks *testbed.Hooks)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		hooks := d.Hook()
		p := d.Idle(executor.Options{}, workflow.Bind(landing, runLanding, workflow.Names(landMore, landEnd)))
		fn(t, p, hooks)
		hooks.Always(testbed.OnPut, nil)
	})
}

// refuseAfter makes all puts fail after the next n.
func refuseAfter(hooks *testbed.Hooks, n int) {
	hooks.Always(testbed.OnPut, func(put func() error) error {
		if n--; n >= 0 {
			return put()
		}
		return errors.New("the store has a defect")
	})
}

// A caller gets the outcome of an update that is in the log, whatever happens to the other updates
// of its batch. So does another request with the same id.
func TestUpdateThatHasLandedIsNotCalledBusy(t *testing.T) {
	landingTestbed(t, func(t *testing.T, p *testbed.Process, hooks *testbed.Hooks) {
		if _, err := landing.Start(t.Context(), p.Client, "w", 0, workflow.StartOptions{StartDelay: time.Hour}); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		hooks.Next(testbed.OnRead, func(read func() error) error { time.Sleep(time.Second); return read() })
		group.Go(func() { _, _, _, _ = p.Service.History(t.Context(), "w", "", 1) }) // the updates wait behind this request
		synctest.Wait()
		refuseAfter(hooks, 1)
		send := func(name, id string, check func(*schema.UpdateResponse, error)) {
			group.Go(func() {
				check(p.Service.Update(t.Context(), "w", "", name, schema.UpdateRequest{UpdateID: id, Input: []byte("8")}))
			})
			synctest.Wait()
		}
		landed := func(a *schema.UpdateResponse, err error) {
			if err != nil || a.Stage != schema.StageCompleted {
				t.Errorf("the update in the log: %+v, %v; want its outcome", a, err)
			}
		}
		send("end", "e", landed)
		send("end", "e", landed)
		send("more", "m", func(a *schema.UpdateResponse, err error) {
			if !errors.Is(err, refusal.Busy) {
				t.Errorf("the update that is passed to the next run: %+v, %v; want busy", a, err)
			}
		})
		group.Wait()
	})
}

// If a start is in the log, its answer never says that nothing was written, even if the start's
// update was not carried out. The repeated request finds the run.
func TestStartThatHasLandedIsNotCalledBusy(t *testing.T) {
	landingTestbed(t, func(t *testing.T, p *testbed.Process, hooks *testbed.Hooks) {
		send := func() (*schema.UpdateResponse, error) {
			return p.Service.Update(t.Context(), "w", "", "end", schema.UpdateRequest{
				UpdateID: "u", Input: []byte("7"), Start: &schema.StartRequest{Type: "landing", RequestID: "r", Input: []byte("0"), IDConflictPolicy: "fail"},
			})
		}
		refuseAfter(hooks, 1)
		if a, err := send(); !errors.Is(err, refusal.OutcomeUnknown) {
			t.Errorf("%+v, %v; want an unknown outcome", a, err)
		}
		refuseAfter(hooks, 1)
		if a, err := send(); err != nil || string(a.Result) != "7" || *a.Started {
			t.Errorf("the request, sent again: %+v, %v; want the result 7, and no other start", a, err)
		}
	})
}

// The same holds if another process writes the slot after the start. The answer reports that this
// request has started the workflow.
func TestStartThatLosesARaceAfterwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		hooks := d.Hook()
		p, other := d.Idle(executor.Options{}, workflow.Bind(landing, runLanding, workflow.Names(landMore, landEnd))), d.Idle(executor.Options{}, workflow.Bind(landing, runLanding, workflow.Names(landMore, landEnd)))
		hooks.Next(testbed.OnPut, func(put func() error) error { return put() })
		hooks.Next(testbed.OnPut, func(put func() error) error {
			if a, err := other.Service.Update(t.Context(), "w", "", "end", schema.UpdateRequest{Input: []byte("0")}); err != nil {
				t.Errorf("%+v, %v", a, err)
			}
			return put()
		})
		a, err := p.Service.Update(t.Context(), "w", "", "end", schema.UpdateRequest{
			Input: []byte("7"), Start: &schema.StartRequest{Type: "landing", Input: []byte("0"), IDConflictPolicy: "fail"},
		})
		if err != nil || string(a.Result) != "7" || !*a.Started {
			t.Errorf("%+v, %v; want the result 7 of a workflow that was started", a, err)
		}
	})
}
