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
	// StartToClose is how long one attempt may take; 0 is DefaultLocalStartToClose, and
	// MaxLocalStartToClose is the most. The attempt's context ends then, or earlier if the process
	// has less time.
	StartToClose time.Duration
	// ScheduleToClose is how long all attempts together may take, the waits between them included;
	// 0 is no limit.
	ScheduleToClose time.Duration
	// Retry says whether and when a failed attempt is retried. The zero value retries for ever,
	// after 100 ms, 200 ms, 400 ms and so on up to 10 s.
	Retry Retry
	// WaitInTask is the longest wait for a further attempt that is spent within the workflow's
	// task; 0 is DefaultLocalWaitInTask. A longer wait is a durable timer, and costs what a timer
	// costs, each time.
	WaitInTask time.Duration
	// Speculative lets an update's handler run it before the update's acceptance is recorded. The
	// update then costs no additional write or message. The activity may have run for an update
	// that is refused in the end, because another writer came first, or that nobody ever sends
	// again. So it is only for lookups.
	Speculative bool
	// Converter encodes the input and the result; nil is encoding/json. Give it at NewLocal: calls
	// and attempts have to have the same.
	Converter workflow.Converter
}

// The defaults of LocalOptions, and the longest time that an attempt may be given.
const (
	DefaultLocalStartToClose    = engine.DefaultLocalStartToClose
	DefaultLocalInitialInterval = engine.DefaultLocalInitialInterval
	DefaultLocalWaitInTask      = engine.DefaultLocalWaitInTask
	MaxLocalStartToClose        = engine.MaxLocalStartToClose
)

// Local is a local activity: a short function that does I/O and runs within the workflow's task, in
// the process that runs the workflow's code. Its result is part of that task's commit. It costs no
// message and no write of its own, has no heartbeat, and cannot return ErrPending.
//
// It runs at least once. If another writer's commit comes first, or the process dies, the task runs
// it again. So give each external effect a key that follows from its input.
type Local[In, Out any] struct {
	part
	name    string
	where   string
	run     func(context.Context, In) (Out, error)
	options LocalOptions
}

// NewLocal declares a local activity. Declare each once, as a package variable, and register it
// together with the workflow that calls it. Several sets of options are merged: lists are joined,
// and of any other field the last that is given counts.
func NewLocal[In, Out any](name string, run func(context.Context, In) (Out, error), sets ...LocalOptions) Local[In, Out] {
	return Local[In, Out]{name: name, run: run, where: where.Caller()}.tuned(options.Of(sets))
}

// tuned returns the activity with other options, and registers it with them.
func (a Local[In, Out]) tuned(o LocalOptions) Local[In, Out] {
	a.options, a.part = o, part{}
	a.part = bridge.PartOf(a.register)
	return a
}

// Name is the activity's name.
func (a Local[In, Out]) Name() string { return a.name }

// With returns the activity with the given options, for one call or for many. A field that is zero
// keeps its value.
func (a Local[In, Out]) With(changed LocalOptions) Local[In, Out] {
	return a.tuned(options.Merge(a.options, changed))
}

// Run runs the activity from workflow code, and waits for its result. It returns a
// *workflow.ActivityError that wraps why the activity failed, and a *workflow.CanceledError as soon
// as ctx is canceled.
func (a Local[In, Out]) Run(ctx workflow.Context, in In) (Out, error) {
	return a.Start(ctx, in).Get(ctx)
}

// Start schedules the activity from workflow code, and returns the future of its result. The
// activity runs once all of the workflow's coroutines wait. Those that were started together run at
// the same time.
func (a Local[In, Out]) Start(ctx workflow.Context, in In) workflow.Future[Out] {
	call, err := a.call()
	if err != nil { // With may have set other options than those that were registered
		panic(&failure.OtherError{Kind: failure.KindMisuse, Message: err.Error()})
	}
	call.Input = payload.MustEncodeBy(a.options.Converter, in) // also on replay: a retry needs it
	return bridge.StartLocalActivity[workflow.Future[Out]](ctx, call, a.options.Converter)
}

// register adds the activity to the registry.
func (a Local[In, Out]) register(r *engine.Registry) error {
	if _, err := a.call(); err != nil {
		return err
	}
	return r.AddActivity(&engine.Activity{
		Name: a.name, Where: a.where, Run: code(a.name, a.options.Converter, a.run), Local: true,
		Input: payload.ValueBy[In](a.options.Converter), Result: payload.ValueBy[Out](a.options.Converter),
	})
}

// call returns the call with the defaults filled in, or an error that says what is wrong with the
// options.
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
