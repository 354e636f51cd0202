// Package labels is an addition of localstack/deploy-check to the shop of examples/deploy: a
// workflow with activities on a task queue, each of which returns which function ran it, and when.
package labels

import (
	"context"
	"os"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// TaskQueue is the queue for printing labels. The deployment has to have it.
const TaskQueue = "labels"

// Workflow packs this many parcels, concurrently, and returns who packed and who printed.
var Workflow = workflow.NewWorkflow[int, Packed]("labels")

var (
	pack    = activity.New("labels.pack", made)
	printed = activity.New("labels.print", made, activity.Options{TaskQueue: TaskQueue})
)

// Made has the Lambda function that ran an attempt at an activity, and when it began.
type Made struct {
	Function string    `json:"function"`
	At       time.Time `json:"at"`
}

// Packed has the attempts: one of the default task queue, and those of the labels.
type Packed struct {
	Parcels Made   `json:"parcels"`
	Labels  []Made `json:"labels"`
}

func made(context.Context, activity.None) (Made, error) {
	return Made{os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), time.Now()}, nil
}

// Run packs the parcels and prints their labels.
func Run(ctx workflow.Context, parcels int) (Packed, error) {
	var labels []workflow.Future[Made]
	for range parcels {
		labels = append(labels, printed.Start(ctx, activity.None{}))
	}
	var all Packed
	var err error
	if all.Parcels, err = pack.Run(ctx, activity.None{}); err != nil {
		return all, err
	}
	for _, label := range labels {
		one, err := label.Get(ctx)
		if err != nil {
			return all, err
		}
		all.Labels = append(all.Labels, one)
	}
	return all, nil
}

// Registrations returns the workflow and its activities.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), pack, printed}
}
