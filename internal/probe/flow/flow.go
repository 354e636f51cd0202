// Package flow is the workflow of the synthetic update. Each beat runs an activity through the
// queue of the default task queue, so that it passes through all parts of a deployment that an
// update of a program needs.
package flow

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/probe"
	"github.com/seed-41655fb1/weft/workflow"
)

const (
	// beatsOfRun is after how many beats a run continues as new: 4 hours, whose commits one page of
	// a read has.
	beatsOfRun = 48
	// stepTime is how long an attempt may take. An activity function with the shortest timeout runs
	// such an activity.
	stepTime = 5 * time.Second
)

var (
	probes = workflow.NewWorkflow[workflow.None, workflow.None](history.ProbeWorkflow)
	beat   = workflow.NewUpdate[workflow.None, workflow.None](probe.UpdateName)
	step   = activity.New(probe.ActivityName, takeStep, activity.Options{StartToClose: stepTime})
)

// Registration returns the workflow and its activity, which each registry has besides what a
// program registers.
func Registration() workflow.Registration { return bridge.PartOf(register) }

func register(r *engine.Registry) error {
	return errors.Join(bridge.Register(r, workflow.Bind(probes, run, workflow.Names(beat))), bridge.Register(r, step))
}

// run takes beats. It continues as new between two beats, so that none of them ends with the run.
func run(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
	beats := 0
	beat.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		beats++
		return step.Run(ctx, workflow.None{})
	})
	err := workflow.Await(ctx, func() bool {
		long := beats >= beatsOfRun || beats > 0 && workflow.InfoOf(ctx).SuggestContinueAsNew
		return long && workflow.AllHandlersFinished(ctx)
	})
	if err != nil {
		return workflow.None{}, err
	}
	return probes.ContinueAsNew(ctx, workflow.None{})
}

// takeStep does nothing: what a beat shows is that it runs.
func takeStep(context.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil }
