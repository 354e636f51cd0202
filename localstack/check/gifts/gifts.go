// Package gifts is an addition of localstack/operations-check to the shop of examples/deploy: a
// workflow whose messages pass through all queues.
package gifts

import (
	"context"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow wraps this many gifts at once, and returns how many it has wrapped.
var Workflow = workflow.NewWorkflow[int, int]("gifts")

// The result of one of several activities passes through the workflow queue.
var wrap = activity.New("gifts.wrap", func(context.Context, activity.None) (int, error) { return 1, nil })

// Run wraps the gifts.
func Run(ctx workflow.Context, n int) (int, error) {
	var all []workflow.Future[int]
	for range n {
		all = append(all, wrap.Start(ctx, activity.None{}))
	}
	wrapped := 0
	for _, one := range all {
		n, err := one.Get(ctx)
		if err != nil {
			return wrapped, err
		}
		wrapped += n
	}
	return wrapped, nil
}

// Registrations returns the workflow and its activity.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), wrap}
}
