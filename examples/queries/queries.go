// Package queries shows how to read a workflow's state without changing it. A query is answered
// from the workflow's own variables and leaves no trace in its history, even after the workflow has
// ended. Look at the handlers: they get no Context, so they can neither wait nor start anything.
package queries

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow bakes loaves, one after the other. Progress and Loaf ask how far it is.
var (
	Workflow = workflow.NewWorkflow[int, int]("queries")
	Progress = workflow.NewQuery[workflow.None, float64]("queries.progress")
	Loaf     = workflow.NewQuery[int, string]("queries.loaf")
	Bake     = activity.New("queries.bake", bake)
)

// ErrNoSuchLoaf is the answer to a query for a loaf that will not be baked.
var ErrNoSuchLoaf = workflow.NewError("noSuchLoaf", "so many loaves are not baked here")

// Run bakes the loaves. It sets the handlers first, so that every query is answered.
func Run(ctx workflow.Context, loaves int) (int, error) {
	baked := 0
	Progress.Handle(ctx, func(workflow.None) (float64, error) { return float64(baked) / float64(loaves), nil })
	Loaf.Handle(ctx, func(number int) (string, error) {
		switch {
		case number < 1 || number > loaves:
			return "", ErrNoSuchLoaf
		case number <= baked:
			return "baked", nil
		}
		return "not yet", nil
	})
	for baked < loaves {
		if _, err := Bake.Run(ctx, baked+1); err != nil {
			return baked, err
		}
		baked++
	}
	return baked, nil
}

func bake(ctx context.Context, number int) (activity.None, error) {
	select {
	case <-time.After(20 * time.Second):
		return activity.None{}, nil
	case <-ctx.Done():
		return activity.None{}, ctx.Err()
	}
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Progress, Loaf)), Bake}
}
