package testbed

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// waiter waits for an activity that continues outside, and returns the activity's result. A signal
// ends its wait.
var (
	waiter = workflow.NewWorkflow[workflow.None, string]("waiter")
	// patient also waits for the activity's end after the signal.
	patient = workflow.NewWorkflow[workflow.None, string]("patient")
	giveUp  = workflow.NewSignal[workflow.None]("give-up")
)

// outside returns the options of an activity that continues outside. waits says whether canceled
// code waits for its end.
func outside(waits bool) activity.Options {
	return activity.Options{
		Pending: 24 * time.Hour, Heartbeat: 2 * time.Hour, Retry: activity.Retry{InitialInterval: time.Minute, MaxAttempts: 3}, WaitCancellation: waits,
	}
}

// approve continues outside.
var approve = activity.New("approve", func(ctx context.Context, _ activity.None) (string, error) {
	token, err := activity.Token(ctx)
	passes.Store(activity.InfoOf(ctx).RunID, token)
	return "", cmp.Or(err, activity.ErrPending)
}, outside(false))

// passes are the last tokens that attempts of the workload have taken, by run.
var passes sync.Map

// Pass returns the last token that an attempt of a run of the workload has taken, or "" if none
// has. Scripts refer to the token of <run1> as $pass1.
func Pass(runID string) string {
	token, _ := passes.Load(runID)
	text, _ := token.(string)
	return text
}

// givenUp returns a context that a signal cancels.
func givenUp(ctx workflow.Context) workflow.Context {
	inner, cancel := workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if _, err := giveUp.Receive(ctx); err == nil {
			cancel()
		}
	})
	return inner
}

func runPatient(ctx workflow.Context, _ workflow.None) (string, error) {
	return approve.With(outside(true)).Run(givenUp(ctx), activity.None{})
}

func runWaiter(ctx workflow.Context, _ workflow.None) (string, error) {
	inner := givenUp(ctx)
	result, err := approve.Run(inner, activity.None{})
	if ctx.Err() == nil && inner.Err() != nil {
		return "gave up", workflow.Sleep(ctx, time.Hour)
	}
	return result, err
}
