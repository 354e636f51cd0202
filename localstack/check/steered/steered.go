// Package steered is an addition of localstack/deploy-check to the shop of examples/deploy: a
// workflow that waits for whatever an operator may do, so that the test of the web page
// (ui/test/deployed) does it.
package steered

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow waits for the signal go, and returns its input. Before, with the input "pays" it runs an
// activity that fails, and with "panics" its code panics.
var Workflow = workflow.NewWorkflow[string, string]("steered")

var (
	proceed = workflow.NewSignal[string]("go")
	status  = workflow.NewQuery[workflow.None, string]("status")
	rename  = workflow.NewUpdate[string, string]("rename")
	approve = workflow.NewUpdate[string, bool]("approve")

	errName = workflow.NewError("name", "a name has 1 to 20 letters")
	errBank = activity.NewError("bank", "the bank is closed")

	// pay waits for an operator: its next attempt begins an hour after the first.
	pay = activity.New("steered.pay", func(context.Context, activity.None) (string, error) { return "", errBank },
		activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
)

// Run waits.
func Run(ctx workflow.Context, how string) (string, error) {
	name := ""
	status.Handle(ctx, func(workflow.None) (string, error) { return "waiting for go", nil })
	rename.Handle(ctx, func(_ workflow.Context, to string) (string, error) {
		before := name
		name = to
		return before, nil
	}, workflow.Validate(func(to string) error {
		if len(to) < 1 || len(to) > 20 {
			return errName
		}
		return nil
	}))
	approve.Handle(ctx, func(ctx workflow.Context, by string) (bool, error) {
		return true, workflow.Await(ctx, func() bool { return name == by })
	})
	switch how {
	case "panics":
		panic("bad code")
	case "pays":
		if paid, err := pay.Run(ctx, activity.None{}); err != nil {
			return paid, err
		}
	}
	return proceed.Receive(ctx)
}

// Registrations returns the workflow and its activity.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(rename, approve, status, proceed)), pay}
}
