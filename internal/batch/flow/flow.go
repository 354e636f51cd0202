// Package flow is the workflow of a batch: it acts on the runs that a filter selects, one step
// after the other. A step is an activity, which lists runs and acts on each. Stopping a batch and
// changing its rate are updates of the workflow, and describing it is a query.
//
//	weft.batch ──▶ weft.batch.step ──▶ Deployment.List, Deployment.Act
//	     ▲                │
//	     └─ place, counts ┘
//
// A step that dies is repeated from its place. The actions are idempotent, and those that are not
// by themselves have a request id that names the batch and the run. Only runs that started before
// the batch are listed, so no step sees runs that an earlier one has caused. The input of the
// workflow says when that was, so this also holds after the batch was reset.
package flow

import (
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflow of a batch, its activity, its updates and its query.
var (
	Workflow = workflow.NewWorkflow[stored.State, stored.Description](stored.WorkflowType)

	step = activity.New(stored.StepType, takeStep, activity.Options{
		StartToClose: stepTime, Inline: true, WaitCancellation: true, Retry: activity.Retry{MaxInterval: 10 * time.Second},
	})
	stop     = workflow.NewUpdate[stored.Stop, workflow.None](stored.UpdateStop)
	rate     = workflow.NewUpdate[stored.Rate, workflow.None](stored.UpdateRate)
	about    = workflow.NewMemo[stored.Memo](stored.MemoField)
	describe = workflow.NewQuery[workflow.None, stored.Description](stored.QueryDescribe)
)

// Registration returns the workflow and its activity, which each registry has besides what a
// program registers.
func Registration() workflow.Registration { return bridge.PartOf(register) }

func register(r *engine.Registry) error {
	if err := bridge.Register(r, workflow.Bind(Workflow, run, workflow.Names(stop, rate, describe, about))); err != nil {
		return err
	}
	code := r.Workflow(Workflow.Name())
	code.CheckInput = func(p history.Payload) error {
		s, err := payload.Decode[stored.State](p)
		if err == nil {
			err = Check(&s.Input)
		}
		if err != nil {
			return refusal.Invalid.New("%v", err)
		}
		return nil
	}
	return bridge.Register(r, step)
}

// flow is a running batch.
type flow struct {
	stored.State
	ctx    workflow.Context
	phase  string
	reason string
	ended  *time.Time
	// changed says that the rate was changed during a wait.
	changed bool
}

func run(ctx workflow.Context, s stored.State) (d stored.Description, err error) {
	f := &flow{State: s, ctx: ctx, phase: stored.PhaseRunning}
	if f.Begun.IsZero() { // an earlier version has started it
		f.Begun = workflow.Now(ctx)
	}
	f.handle()
	for f.phase == stored.PhaseRunning {
		if workflow.InfoOf(ctx).SuggestContinueAsNew && workflow.AllHandlersFinished(ctx) {
			return Workflow.ContinueAsNew(ctx, f.State)
		}
		idle, err := f.step()
		if err != nil {
			return d, err
		}
		if err := f.pause(idle); err != nil {
			return d, err
		}
	}
	if f.phase == stored.PhaseStopping {
		f.phase = stored.PhaseStopped
	}
	now := workflow.Now(ctx)
	f.ended = &now
	f.show()
	return f.description(), workflow.AwaitHandlers(ctx)
}

// show tells the list how the batch ended. Batches of earlier versions did not.
func (f *flow) show() {
	memo, ok := about.Get(f.ctx)
	if !ok || !workflow.Patched(f.ctx, "outcome-in-list") {
		return
	}
	memo.Phase, memo.Refused, memo.Failed = f.phase, f.Counts.Refused, f.Counts.Failed
	workflow.UpsertMemo(f.ctx, about.Set(memo))
}

// step takes a step. It reports whether the step has settled nothing.
func (f *flow) step() (idle bool, err error) {
	ctx, cancel := workflow.WithCancel(f.ctx)
	defer cancel()
	in := stored.Step{
		Batch: f.ID, Key: f.Key, Filter: f.Filter, Before: f.Begun.Add(time.Microsecond), Rate: f.Rate, Room: f.MostRuns - f.Counts.Matched, Place: f.Place, Ended: f.Ended, Left: f.Left,
	}
	if !f.DryRun {
		in.Action = f.Action
	}
	taken := step.Start(ctx, in)
	err = workflow.Select(f.ctx, workflow.OnFuture(taken, nil), workflow.OnCondition(func() bool { return f.phase == stored.PhaseStopping }))
	if err != nil {
		return false, err
	}
	if f.phase == stored.PhaseStopping { // an attempt that is in progress ends by itself, within stepTime
		cancel()
	}
	out, err := taken.Get(workflow.Disconnected(f.ctx))
	switch {
	case err != nil && f.phase == stored.PhaseStopping && f.ctx.Err() == nil:
		return false, nil // no attempt was in progress
	case err != nil:
		return false, err
	}
	return f.take(&out), nil
}

// take adds what a step did. It reports whether the step has settled nothing.
func (f *flow) take(out *stored.Stepped) (idle bool) {
	f.Steps++
	f.Place, f.Ended, f.Left = out.Place, out.Ended, out.Left
	f.Counts.Add(out.Counts)
	f.Groups = merge(f.Groups, out.Groups)
	f.Problems = append(f.Problems, out.Problems...)
	f.Problems = f.Problems[max(len(f.Problems)-mostProblems, 0):]
	switch {
	case out.Over && len(f.Left) == 0:
		f.phase, f.reason = stored.PhaseStopping, "more runs match than the batch may act on: start another for the rest, or give a larger mostRuns"
	case f.Ended && len(f.Left) == 0 && f.phase == stored.PhaseRunning:
		f.phase = stored.PhaseCompleted
	}
	return out.Counts.Settled() == 0 && len(f.Left) > 0
}

// busyPause is how long a batch waits if the deployment was too busy to act on any run.
const busyPause = time.Second

// pause waits until the next step. Steps wait by themselves for rates from one run a second on.
func (f *flow) pause(idle bool) error {
	if f.phase != stored.PhaseRunning {
		return nil
	}
	f.changed = false
	wait := time.Duration(0)
	switch {
	case idle:
		wait = busyPause
	case f.Rate > 0 && f.Rate < 1 && !f.DryRun:
		wait = time.Duration(float64(time.Second) / f.Rate)
	}
	if wait == 0 {
		return nil
	}
	return workflow.Select(f.ctx, workflow.OnTimeout(wait, nil), workflow.OnCondition(func() bool { return f.changed || f.phase != stored.PhaseRunning }))
}

// handle registers the handlers.
func (f *flow) handle() {
	stop.Handle(f.ctx, func(_ workflow.Context, in stored.Stop) (workflow.None, error) {
		if f.phase == stored.PhaseRunning {
			f.phase, f.reason = stored.PhaseStopping, in.Reason
		}
		return workflow.None{}, nil
	}, workflow.Validate(func(in stored.Stop) error { return checkReason(in.Reason) }))
	rate.Handle(f.ctx, func(_ workflow.Context, in stored.Rate) (workflow.None, error) {
		f.Rate, f.changed = in.Rate, true
		return workflow.None{}, nil
	}, workflow.Validate(func(in stored.Rate) error { return checkRate(in.Rate) }))
	describe.Handle(f.ctx, func(workflow.None) (stored.Description, error) { return f.description(), nil })
}

func (f *flow) description() stored.Description {
	return stored.Description{State: f.State, Phase: f.phase, Reason: f.reason, EndedAt: f.ended}
}
