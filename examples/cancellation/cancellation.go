// Package cancellation shows how a workflow ends early and cleans up. A canceled trip cancels its
// bookings, the last one first.
//
//   - Disconnected lets the clean-up run although the workflow's own context is canceled.
//   - WaitCancellation waits for a booking in progress, so that it can be undone if it succeeded.
//   - WithCancel ends one branch and nothing else.
package cancellation

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow books a trip.
var (
	Workflow = workflow.NewWorkflow[time.Duration, []string]("cancellation")
	Book     = activity.New("cancellation.book", book, activity.Options{WaitCancellation: true})
	Refund   = activity.New("cancellation.refund", func(_ context.Context, what string) (string, error) { return "refunded " + what, nil })
	Log      = workflow.NewQuery[workflow.None, []string]("cancellation.log")
)

// book takes a second, because the other side is slow.
func book(ctx context.Context, what string) (string, error) {
	select {
	case <-time.After(time.Second):
		return "booked " + what, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// trip is a trip that is being booked, with what is needed to undo it.
type trip struct {
	log  []string
	undo []string
}

// Run books a flight, a hotel and a car, and then waits for the day. A failure or a cancellation
// undoes what was done.
func Run(ctx workflow.Context, until time.Duration) (log []string, err error) {
	t := &trip{}
	Log.Handle(ctx, func(workflow.None) ([]string, error) { return t.log, nil })
	defer func() {
		if err != nil {
			err = errors.Join(err, t.compensate(workflow.Disconnected(ctx)))
		}
	}()
	for _, what := range []string{"flight", "hotel", "car"} {
		done, err := Book.Run(ctx, what)
		if err != nil {
			return t.log, err
		}
		t.log, t.undo = append(t.log, done), append(t.undo, what)
	}
	err = t.await(ctx, until)
	return t.log, err
}

// await waits for the day. It watches the weather meanwhile, in a branch that ends with the wait.
func (t *trip) await(ctx workflow.Context, until time.Duration) error {
	watching, stop := workflow.WithCancel(ctx)
	defer stop()
	workflow.Go(watching, func(ctx workflow.Context) {
		for workflow.Sleep(ctx, 24*time.Hour) == nil {
			t.log = append(t.log, "looked at the weather")
		}
		t.log = append(t.log, "looks no more")
	})
	return workflow.Sleep(ctx, until)
}

// compensate undoes what was done, the last step first. It continues after a failure.
func (t *trip) compensate(ctx workflow.Context) (failed error) {
	for i := len(t.undo) - 1; i >= 0; i-- {
		done, err := Refund.Run(ctx, t.undo[i])
		t.log, failed = append(t.log, done), errors.Join(failed, err)
	}
	return failed
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Log)), Book, Refund}
}
