package main

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflows that publish items: one in its own code or in an activity, and one that goes on.
var (
	publisher = workflow.NewWorkflow[bool, string]("publisher")
	teaser    = workflow.NewWorkflow[workflow.None, string]("teaser")
	progress  = workflow.NewTopic[string]("progress")

	// stream publishes two batches, and a last one with its result.
	stream = activity.New("stream", func(ctx context.Context, _ activity.None) (string, error) {
		for range 2 {
			if err := activity.Publish(ctx, progress, "one", "two"); err != nil {
				return "", err
			}
		}
		return "done", activity.Publisher(ctx, progress).Add("three")
	})
)

// runPublisher publishes in its code, or lets an activity do so.
func runPublisher(ctx workflow.Context, inActivity bool) (string, error) {
	if inActivity {
		return stream.Run(ctx, activity.None{})
	}
	for range 10 {
		progress.Publish(ctx, "an item")
	}
	return "done", nil
}

// onTopics returns the work of topics: to publish items, and to read them.
func onTopics() []operation {
	const waitFor = 20 * time.Second
	publish := func(inActivity bool) func(ctx context.Context, d *deployment, id string) error {
		return func(ctx context.Context, d *deployment, id string) error {
			_, err := publisher.Start(ctx, d.Client, id, inActivity)
			return err
		}
	}
	teased := func(ctx context.Context, d *deployment, id string) error {
		_, err := teaser.Start(ctx, d.Client, id, workflow.None{})
		return err
	}
	return []operation{
		{name: "start, 10 items published by its code, end", budget: counts{writes: 1, reads: 1}, times: 5, ends: true, run: publish(false), temporal: action},
		{
			name: "start, an activity that publishes 3 batches, end", budget: counts{writes: 4, reads: 2, messages: 1}, times: 5, ends: true, run: publish(true),
			stepFunctions: 2*transition + price.Invocation, durable: 2 * durableOperation, temporal: 2 * action,
		},
		{name: "look at a topic", budget: counts{reads: 1}, times: 5, prepare: teased, run: func(ctx context.Context, d *deployment, id string) error {
			return d.get(ctx, "/v1/workflows/"+id+"/topics/progress", "from=0")
		}},
		{name: "wait of 20 s for an item that does not come, held", budget: counts{reads: 20}, times: 1, busy: waitFor, prepare: teased, run: func(ctx context.Context, d *deployment, id string) error {
			return d.get(ctx, "/v1/workflows/"+id+"/topics/progress", fmt.Sprintf("from=1&wait=%v", waitFor))
		}},
	}
}

// runTeaser publishes an item, and then waits for a signal.
func runTeaser(ctx workflow.Context, _ workflow.None) (string, error) {
	progress.Publish(ctx, "to be continued")
	_, err := end.Receive(ctx)
	return "", err
}
