package main

import (
	"context"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	hello = workflow.NewWorkflow[string, string]("hello")
	meet  = workflow.NewUpdate[string, string]("meet")
	greet = activity.New("greet", func(_ context.Context, name string) (string, error) { return "Hello, " + name, nil })
)

// run greets the person who started it when it has met somebody.
func run(ctx workflow.Context, name string) (string, error) {
	met := false
	meet.Handle(ctx, func(ctx workflow.Context, other string) (string, error) {
		met = true
		return greet.Run(ctx, other)
	})
	if err := workflow.Await(ctx, func() bool { return met }); err != nil {
		return "", err
	}
	if err := workflow.AwaitHandlers(ctx); err != nil {
		return "", err
	}
	return greet.Run(ctx, name)
}
