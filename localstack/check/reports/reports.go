// Package reports is an addition of localstack/deploy-check to the shop of examples/deploy: a
// workflow that publishes an item, has an activity publish batches of items, and waits for a
// signal.
package reports

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow writes a report. Its input is how many batches of two items its activity publishes.
var (
	Workflow = workflow.NewWorkflow[int, workflow.None]("report")
	Lines    = workflow.NewTopic[string]("lines")
	// Close ends the report with a last line.
	Close = workflow.NewSignal[string]("close")

	write = activity.New("report.write", writes)
)

// Run publishes "begun", the lines of the activity, and the line of the signal.
func Run(ctx workflow.Context, batches int) (workflow.None, error) {
	Lines.Publish(ctx, "begun")
	if _, err := write.Run(ctx, batches); err != nil {
		return workflow.None{}, err
	}
	last, err := Close.Receive(ctx)
	if err == nil {
		Lines.Publish(ctx, last)
	}
	return workflow.None{}, err
}

func writes(ctx context.Context, batches int) (activity.None, error) {
	to := activity.Publisher(ctx, Lines)
	for i := range batches {
		for _, line := range []string{"a", "b"} {
			if err := to.Add(fmt.Sprint(i, line)); err != nil {
				return activity.None{}, err
			}
		}
		if err := to.Flush(); err != nil {
			return activity.None{}, err
		}
	}
	return activity.None{}, nil
}

// Registrations returns the workflow and its activity.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Lines, Close)), write}
}
