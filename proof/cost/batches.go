package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// batch is a batch that cancels 1,000 runs, in a deployment with the list. The runs end with the
// request. The eight queries of a page of the list are one read here, and its units are counted.
func batch() operation {
	const runs, steps = 1000, 11 // the last finds no more runs
	return operation{
		name: "a batch that cancels 1,000 runs", budget: counts{writes: 1 + steps + runs, reads: 2 + runs, messages: 1}, times: 1,
		prepare: func(ctx context.Context, d *deployment, id string) error {
			all, ctx := errgroup.WithContext(ctx)
			all.SetLimit(8)
			for i := range runs {
				all.Go(func() error {
					_, err := counter.Start(ctx, d.Client, fmt.Sprintf("%s-%d", id, i), workflow.None{})
					return err
				})
			}
			return all.Wait()
		},
		run: func(ctx context.Context, d *deployment, id string) error {
			_, err := d.StartBatch(ctx, client.BatchOptions{
				ID: id, Filter: fmt.Sprintf("WorkflowId STARTS_WITH '%s-' AND ExecutionStatus = 'Running'", id), Action: &client.BatchAction{Kind: "cancel"},
			})
			return err
		},
		temporal: runs * action,
	}
}
