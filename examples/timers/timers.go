// Package timers shows time in a workflow. It sleeps for as long as the business needs, and no
// process has to exist meanwhile. Look at the deadline in awaitPayment, which is a Select between a
// signal and a timer, and at the timer that runs beside all this for a year.
package timers

import (
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is a subscription, from its trial to its end. Pay pays for the year.
var (
	Workflow = workflow.NewWorkflow[workflow.None, Ended]("timers")
	Pay      = workflow.NewSignal[workflow.None]("timers.pay")
)

const (
	trial = 14 * 24 * time.Hour
	grace = 3 * 24 * time.Hour
	year  = 365 * 24 * time.Hour
)

// Ended says how a subscription ended, and when.
type Ended struct {
	Paid bool      `json:"paid"`
	At   time.Time `json:"at"`
}

// Run waits for the end of the trial, for the payment, and for the end of the year.
func Run(ctx workflow.Context, _ workflow.None) (Ended, error) {
	if err := workflow.Sleep(ctx, trial); err != nil {
		return Ended{}, err
	}
	end := workflow.NewTimer(ctx, year) // counts from now, whatever follows
	paid, err := awaitPayment(ctx, workflow.Now(ctx).Add(grace))
	if err == nil && paid {
		_, err = end.Get(ctx)
	}
	return Ended{Paid: paid, At: workflow.Now(ctx)}, err
}

// awaitPayment waits for the payment until the deadline. If it arrives in time, the deadline's
// timer is canceled.
func awaitPayment(ctx workflow.Context, deadline time.Time) (paid bool, err error) {
	err = workflow.Select(ctx,
		workflow.OnSignal(Pay, func(workflow.None) { paid = true }),
		workflow.OnTimer(deadline, nil))
	return paid, err
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Pay))}
}
