// Package goroutines has what the rule goroutine finds, and what it does not.
package goroutines

import (
	"context"
	"sync"

	"github.com/seed-41655fb1/weft/workflow"
)

func run(ctx workflow.Context, c context.Context) error {
	go done() // want `workflow code starts a goroutine: use workflow.Go, whose order is the same on replay \[goroutine\]`
	var group sync.WaitGroup
	group.Go(done)                 // want `calls sync.WaitGroup.Go`
	_ = context.AfterFunc(c, done) // want `calls context.AfterFunc`
	workflow.Go(ctx, func(ctx workflow.Context) {
		go done() // want `starts a goroutine`
	})
	return nil
}

func fine(ctx workflow.Context) error {
	var group workflow.WaitGroup
	group.Go(ctx, func(workflow.Context) { done() })
	return group.Wait(ctx)
}

func done() {}
