package main

import (
	"context"

	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/workflow"
)

// A run's visibility in the list.
var (
	shower = workflow.NewWorkflow[bool, string]("shower")
	region = workflow.NewAttribute[string]("Region")
	amount = workflow.NewAttribute[int64]("Amount")
	note   = workflow.NewMemo[string]("note")
)

// inList returns the work of a deployment with the list, without and with a run's visibility in it.
func inList() []operation {
	one := func(name string, shows bool, o workflow.StartOptions) operation {
		return operation{
			name: name, budget: counts{writes: 3, reads: 3, messages: 2}, times: 5, ends: true,
			run: func(ctx context.Context, d *deployment, id string) error {
				_, err := shower.Start(ctx, d.Client, id, shows, o)
				return err
			},
			stepFunctions: 3*transition + 2*price.Invocation, durable: 3 * durableOperation, temporal: 3 * action,
		}
	}
	visibility := one("... with a memo and search attributes, changed between the activities", true, workflow.StartOptions{
		Memo: []workflow.MemoField{note.Set("for ada")}, SearchAttributes: []workflow.SearchAttribute{region.Set("eu"), amount.Set(5)},
	})
	visibility.temporal += action
	return []operation{one("start, 2 activities, end: with the list", false, workflow.StartOptions{}), visibility}
}

func runShower(ctx workflow.Context, shows bool) (string, error) {
	if _, err := step.Run(ctx, 0); err != nil {
		return "", err
	}
	if shows {
		workflow.UpsertSearchAttributes(ctx, region.Set("us"), amount.Set(6))
		workflow.UpsertMemo(ctx, note.Set("for bob"))
	}
	return step.Run(ctx, 0)
}
