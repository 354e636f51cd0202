// Package flow is the workflow that delivers a notification of the end of a run: to a URL that a
// caller gave, or to the deployment's event bus.
//
//	NotifyCaller ──▶ weft.notify ──▶ weft.notify.first    one attempt, in the task that starts the run
//	                      └────────▶ weft.notify.deliver  further attempts, for three days
//
// So a receiver that answers costs one commit and no message. An attempt may be made twice: the
// notification has the same id and the same body each time.
package flow

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
	"github.com/seed-41655fb1/weft/workflow"
)

// How long attempts take, and how they are retried: the second follows the first at once, and
// further ones after 5 s, 25 s and so on up to 6 h. An attempt fits into a function with the least
// time-out that a deployment may have, which is 10 s.
const (
	attemptTime = 5 * time.Second
	deliverFor  = 72 * time.Hour
)

// The workflow of a notification and its activities.
var (
	Workflow = workflow.NewWorkflow[stored.Input, stored.Tried](stored.WorkflowType)

	first = activity.NewLocal(stored.FirstType, attempt, activity.LocalOptions{
		StartToClose: attemptTime, Retry: activity.Retry{MaxAttempts: 1},
	})
	deliver = activity.New(stored.DeliverType, attempt, activity.Options{
		StartToClose: attemptTime, ScheduleToClose: deliverFor,
		Retry: activity.Retry{InitialInterval: 5 * time.Second, BackoffCoefficient: 5, MaxInterval: 6 * time.Hour},
	})
)

// Notifier makes attempts. Package acts implements it.
type Notifier interface {
	// Notify makes one attempt. It returns an error if another attempt may succeed.
	Notify(ctx context.Context, in *stored.Input) (stored.Tried, error)
}

type key struct{}

// With returns a context whose attempts a notifier makes.
func With(ctx context.Context, n Notifier) context.Context { return context.WithValue(ctx, key{}, n) }

// errElsewhere says that the process makes no attempts. Only those that run activities do: they are
// the ones that may reach a receiver.
var errElsewhere = errors.New("this process sends no notifications: the functions of activities do")

// attempt makes one attempt.
func attempt(ctx context.Context, in stored.Input) (stored.Tried, error) {
	n, _ := ctx.Value(key{}).(Notifier)
	if n == nil {
		return stored.Tried{}, errElsewhere
	}
	return n.Notify(ctx, &in)
}

// Registration returns the workflow and its activities, which each registry has besides what a
// program registers.
func Registration() workflow.Registration { return bridge.PartOf(register) }

func register(r *engine.Registry) error {
	return errors.Join(bridge.Register(r, workflow.Bind(Workflow, run, workflow.Names())), bridge.Register(r, first), bridge.Register(r, deliver))
}

// run delivers a notification. It fails if the receiver wants none, or has not taken it in three
// days.
func run(ctx workflow.Context, in stored.Input) (stored.Tried, error) {
	tried, err := first.Run(ctx, in)
	if err != nil && ctx.Err() == nil {
		tried, err = deliver.Run(ctx, in)
	}
	if err == nil && tried.Refused != "" {
		err = failure.New("Refused", tried.Refused).Final()
	}
	return tried, err
}
