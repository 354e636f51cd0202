// Package patches shows how a workflow's code changes while runs of it are open. Look at Run: the
// third version asks Patched whether a run reserves before it charges. Runs that have passed that
// place under the first version continue as they began. New runs, and runs that have not reached it
// yet, go the new way.
package patches

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow ships an order. Pack lets it continue.
var (
	Workflow = workflow.NewWorkflow[Order, []string]("patches")
	Pack     = workflow.NewSignal[workflow.None]("patches.pack")
)

// The activities.
var (
	Charge  = activity.New("patches.charge", func(context.Context, Order) (string, error) { return "charged", nil })
	Reserve = activity.New("patches.reserve", func(context.Context, Order) (string, error) { return "reserved", nil })
	Ship    = activity.New("patches.ship", func(context.Context, Order) (string, error) { return "shipped", nil })
)

// Order is what is to be shipped.
type Order struct {
	ID string `json:"id"`
}

// RunBefore is the first version of the code, under which open runs began.
func RunBefore(ctx workflow.Context, order Order) (done []string, err error) {
	return steps(ctx, order, Charge)
}

// Run is today's code. When no run is open that began with RunBefore, the call of Patched can be
// deleted, and the new way stays.
func Run(ctx workflow.Context, order Order) (done []string, err error) {
	if workflow.Patched(ctx, "reserve-first") {
		return steps(ctx, order, Reserve, Charge)
	}
	return steps(ctx, order, Charge)
}

// RunAfter is the code without that call. Histories that have the patch replay without it.
func RunAfter(ctx workflow.Context, order Order) (done []string, err error) {
	return steps(ctx, order, Reserve, Charge)
}

// steps runs the first steps, waits until the order is packed, and ships it. The label is created
// once, and is the same whenever the code runs again.
func steps(ctx workflow.Context, order Order, first ...activity.Activity[Order, string]) (done []string, err error) {
	label := workflow.SideEffect(ctx, func() string { return order.ID + time.Now().Format("-150405.000000") })
	for _, step := range first {
		text, err := step.Run(ctx, order)
		if err != nil {
			return done, err
		}
		done = append(done, text)
	}
	if _, err := Pack.Receive(ctx); err != nil {
		return done, err
	}
	text, err := Ship.Run(ctx, Order{ID: label})
	return append(done, text+" as "+label), err
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration { return With(Run) }

// With registers another version of the code.
func With(run func(workflow.Context, Order) ([]string, error)) []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, run, workflow.Names(Pack)), Charge, Reserve, Ship}
}
