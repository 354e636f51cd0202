package activity

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
	"github.com/seed-41655fb1/weft/workflow"
)

// LocalOptions tunes the execution of a local activity. The zero value is the default.
type LocalOptions struct {
	// StartToClose is how long one attempt may take; 0 is DefaultLocalStartToClose, and MaxLocalStartToClose is the most. The
	// attempt's context ends then, or earlier where the process has less time.
	StartToClose time.Duration
	// ScheduleToClose is how long all attempts together may take, the waits between them included; 0 is no limit.
	ScheduleToClose time.Duration
	// Retry says when a failed attempt is followed by another. The zero value tries for ever, after 100 ms, 200 ms, 400 ms and so
	// on up to 10 s.
	Retry Retry
	// WaitInTask is the longest wait before a further attempt that the workflow's task waits for; 0 is DefaultLocalWaitInTask. A
	// longer one is a durable timer: it costs what a timer costs, each time.
	WaitInTask time.Duration
	// Speculative lets an update's handler run it before it is recorded that the update was accepted: the update then costs
	// neither write nor message more. It may have run for an update that is refused in the end, because another writer came
	// first, or that nobody ever sends again. So it is for what only looks something up.
	Speculative bool
}

// The defaults of LocalOptions, and the longest time that an attempt may be given.
const (
	DefaultLocalStartToClose    = engine.DefaultLocalStartToClose
	DefaultLocalInitialInterval = engine.DefaultLocalInitialInterval
	DefaultLocalWaitInTask      = engine.DefaultLocalWaitInTask
	MaxLocalStartToClose        = engine.MaxLocalStartToClose
)

// Local is a local activity: a short function that does I/O and runs within the workflow's task, on the process that runs the
// workflow's code. Its result is part of the commit of that task. It costs no message and no write of its own, has no heartbeat, and cannot
// go on outside. It runs at least once: a task whose commit another writer forestalls, or whose process dies, runs it again,
// so give what it does outside a key that follows from its input.
type Local[In, Out any] struct {
	part
	name    string
	where   string
	run     func(context.Context, In) (Out, error)
	options LocalOptions
}

// NewLocal declares a local activity. Declare each once, as a package variable, and register it where the workflow is
// registered that calls it. Of several sets of options, a field that a later set gives replaces that of an earlier one.
func NewLocal[In, Out any](name string, run func(context.Context, In) (Out, error), sets ...LocalOptions) Local[In, Out] {
	return Local[In, Out]{name: name, run: run, where: where.Caller()}.tuned(options.Of(sets))
}

// tuned returns the activity with other options, which are registered with it.
func (a Local[In, Out]) tuned(o LocalOptions) Local[In, Out] {
	a.options, a.part = o, part{}
	a.part = bridge.PartOf(a.register)
	return a
}

// Name is the activity's name.
func (a Local[In, Out]) Name() string { return a.name }

// With returns the activity with the options that are given here, for one call or for many. A field that is zero keeps the value that
// the activity has.
func (a Local[In, Out]) With(changed LocalOptions) Local[In, Out] {
	return a.tuned(options.Merge(a.options, changed))
}

// Run has the activity run from workflow code, and waits for its result. It returns a *workflow.ActivityError that wraps
// why the activity failed, and a *workflow.CanceledError as soon as ctx is canceled.
func (a Local[In, Out]) Run(ctx workflow.Context, in In) (Out, error) {
	return a.Start(ctx, in).Get(ctx)
}

// Start has the activity run from workflow code, once all of the workflow's coroutines wait, and returns the future of its result. Those
// that were started together run at the same time.
func (a Local[In, Out]) Start(ctx workflow.Context, in In) workflow.Future[Out] {
	call, err := a.call()
	if err != nil { // With may have brought other options than those that were registered
		panic(&failure.OtherError{Kind: failure.KindMisuse, Message: err.Error()})
	}
	call.Input = payload.MustEncode(in) // also on replay: what is tried again needs it
	return bridge.StartLocalActivity[workflow.Future[Out]](ctx, call)
}

// register adds the activity to the registry.
func (a Local[In, Out]) register(r *engine.Registry) error {
	if _, err := a.call(); err != nil {
		return err
	}
	return r.AddActivity(&engine.Activity{Name: a.name, Where: a.where, Run: code(a.name, a.run)})
}

// call is what a call asks for, with the defaults filled in, or what is wrong with the options.
func (a Local[In, Out]) call() (engine.LocalCall, error) {
	call, err := engine.CompleteLocal(engine.LocalCall{
		ActivityTaskScheduled: history.ActivityTaskScheduled{
			ActivityType: a.name, Retry: bridge.Retry(a.options.Retry).Policy(),
			StartToClose: history.Duration(a.options.StartToClose), ScheduleToClose: history.Duration(a.options.ScheduleToClose),
		},
		WaitInTask: a.options.WaitInTask, Speculative: a.options.Speculative,
	})
	if err != nil {
		return call, fmt.Errorf("local activity %q: %w (at %s)", a.name, err, a.where)
	}
	return call, nil
}
