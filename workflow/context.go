package workflow

import (
	"cmp"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Context gives workflow code access to the engine. It is not a context.Context, so that it cannot
// be passed to anything that does I/O. Pass it down like one. Do not store it.
type Context struct {
	in    *engine.Instance
	scope *coro.Scope
	// within is set if the context is that of an interceptor's Start.
	within bool
}

// Err returns nil until the context is canceled, and a *CanceledError from then on.
func (ctx Context) Err() error { return ctx.scope.Err() }

func (ctx Context) scheduler() *coro.Scheduler { return ctx.instance().Scheduler() }

func (ctx Context) instance() *engine.Instance {
	if ctx.in == nil {
		panic(&failure.OtherError{
			Kind: failure.KindMisuse, Message: "a zero workflow.Context was used: pass on the one that the workflow's function was given",
		})
	}
	return ctx.in
}

// CancelFunc cancels the context that was returned with it.
type CancelFunc func()

// WithCancel returns a context that is canceled with its parent, or earlier by the returned
// function. Calls that wait under it then return a *CanceledError. Activities and timers that were
// started under it are canceled. Validators, query handlers and conditions must not call it.
func WithCancel(parent Context) (Context, CancelFunc) {
	s := parent.scheduler()
	s.Guard("make a context that can be canceled")
	child := parent
	child.scope = parent.scope.Child()
	return child, func() {
		s.Guard("cancel a context")
		child.scope.Cancel("")
	}
}

// Disconnected returns a context that is not canceled with its parent, for the clean-up of a
// canceled workflow.
func Disconnected(parent Context) Context {
	detached := parent
	detached.scope = parent.scheduler().NewScope()
	return detached
}

// Now returns the time of the current workflow task: the same on replay, and the same throughout a
// task. Workflow code must not call time.Now. Validators, query handlers and conditions must not
// call Now either.
func Now(ctx Context) time.Time { return ctx.instance().Now().Time() }

// Info is what a workflow can read about its own run.
type Info struct {
	WorkflowID string
	// RunID changes with a reset: decide nothing by it that the history must repeat.
	RunID        string
	WorkflowType string
	// HistoryLength is the number of events so far.
	HistoryLength int
	// HistoryBytes is the stored size of the run so far.
	HistoryBytes int
	// FirstRunID is the first run of this run's chain: of those that continued as new, were retried
	// or followed by a cron expression.
	FirstRunID string
	// Attempt is 1, or more in a run that follows a failed one: see StartOptions.Retry.
	Attempt int
	// Cron is the cron expression by which runs follow each other, or empty.
	Cron string
	// SuggestContinueAsNew is set if the history has become long: the workflow should continue as
	// new when it can.
	SuggestContinueAsNew bool
	// Parent is the run that started this run, or the chain that it is part of, as a child; nil if
	// it is no child.
	Parent *Parent
}

// Parent is a run that started another one as its child.
type Parent struct{ WorkflowID, RunID string }

// InfoOf returns what a workflow can read about its own run. It is the same on replay.
func InfoOf(ctx Context) Info {
	i := ctx.instance().Info()
	var parent *Parent
	if i.Parent != nil {
		parent = &Parent{WorkflowID: i.Parent.WorkflowID, RunID: string(i.Parent.RunID)}
	}
	return Info{
		FirstRunID: string(cmp.Or(i.Started.FirstRunID, i.RunID)), Attempt: max(i.Started.Attempt, 1), Cron: i.Started.Cron,
		WorkflowID: i.WorkflowID, RunID: string(i.RunID), WorkflowType: i.WorkflowType,
		HistoryLength: int(i.HistoryLength), HistoryBytes: int(i.HistoryBytes), SuggestContinueAsNew: i.SuggestContinueAsNew,
		Parent: parent,
	}
}

// LastResult returns the result of the last run before this one that had one, if a cron expression
// makes runs follow each other. ok is false in the first run, and if none has succeeded yet. T has
// to be the type of the workflow's result.
func LastResult[T any](ctx Context) (result T, ok bool) {
	p := ctx.instance().Info().Started.LastResult
	if len(p) == 0 {
		return result, false
	}
	result, err := payload.Decode[T](p)
	if err != nil {
		panic(fmt.Errorf("the last result does not decode as a %T: %w", result, err))
	}
	return result, true
}

// LastFailure returns the failure of the run before this one, if this one follows it by a retry
// policy or a cron expression. It returns nil if that run did not fail.
func LastFailure(ctx Context) error { return ctx.instance().Info().Started.LastFailure.Err() }
