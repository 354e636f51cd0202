// Package taskqueues shows activities on task queues, each of which has functions of its own.
// Rendering a report needs more memory than the rest, and the archive can take only two writes at a
// time. Look at where Render and Archive are declared, and at the call of Archive for an urgent
// report.
//
// A deployment has the task queues of its settings (docs/deploy.md). The local server has those
// with which activities are declared. The command line says how many of their activities run at
// once, and how many begin in a second: weft dev --task-queues 'slow=2@5/s'.
package taskqueues

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow renders reports and keeps them.
var Workflow = workflow.NewWorkflow[Order, []string]("taskqueues")

var (
	// Collect runs on the default task queue, like all activities that name none.
	Collect = activity.New("taskqueues.collect", collect)
	// Render runs on functions with more memory.
	Render = activity.New("taskqueues.render", render, activity.Options{TaskQueue: "reports", StartToClose: 5 * time.Minute})
	// Archive runs on functions with a low concurrency.
	Archive = activity.New("taskqueues.archive", archive, activity.Options{TaskQueue: "slow", StartToClose: 2 * time.Minute})
)

// Order says what to report about.
type Order struct {
	Topics []string `json:"topics"`
	// Urgent reports do not wait in the slow lane.
	Urgent bool `json:"urgent,omitempty"`
}

// Run writes all reports at once. The task queues limit how many are rendered or archived at the
// same time.
func Run(ctx workflow.Context, order Order) ([]string, error) {
	keep := Archive
	if order.Urgent {
		keep = Archive.On("reports") // another task queue for this call
	}
	kept, failed := make([]string, len(order.Topics)), make([]error, len(order.Topics))
	var group workflow.WaitGroup
	for i, topic := range order.Topics {
		group.Go(ctx, func(ctx workflow.Context) { kept[i], failed[i] = report(ctx, topic, keep) })
	}
	if err := group.Wait(ctx); err != nil {
		return nil, err
	}
	return kept, errors.Join(failed...)
}

// report writes one report, and returns where it is kept.
func report(ctx workflow.Context, topic string, keep activity.Activity[string, string]) (string, error) {
	facts, err := Collect.Run(ctx, topic)
	if err != nil {
		return "", err
	}
	page, err := Render.Run(ctx, facts)
	if err != nil {
		return "", err
	}
	return keep.Run(ctx, page)
}

func collect(_ context.Context, topic string) (string, error) { return "facts about " + topic, nil }

func render(_ context.Context, facts string) (string, error) { return "a page of " + facts, nil }

// archive takes a minute.
func archive(ctx context.Context, page string) (string, error) {
	select {
	case <-time.After(time.Minute):
		return "archive/" + page, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Collect, Render, Archive}
}
