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

// Context is what workflow code reaches the engine through. It is not a context.Context, so that it cannot be handed to
// anything that does I/O. Pass it down like one; there is no use in storing it.
type Context struct {
	in    *engine.Instance
	scope *coro.Scope
	// within says that it is that of an interceptor's Start.
	within bool
}

// Err is nil until the context is canceled, and a *CanceledError from then on.
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

// CancelFunc cancels the context that it came with.
type CancelFunc func()

// WithCancel returns a context that is canceled with its parent, or earlier by the function that comes with it. What
// waits under it then returns a *CanceledError; activities and timers that were started under it are canceled.
// Validators, query handlers and conditions must not call it.
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

// Disconnected returns a context that is not canceled when its parent is, for the clean-up of a workflow that was
// canceled.
func Disconnected(parent Context) Context {
	apart := parent
	apart.scope = parent.scheduler().NewScope()
	return apart
}

// Now is the time of the current workflow task: the same on replay, and the same throughout a task. Workflow code must
// not call time.Now. What may only look (validators, query handlers, conditions) may not ask for the time either.
func Now(ctx Context) time.Time { return ctx.instance().Now().Time() }

// Info is what a workflow can read about its own run.
type Info struct {
	WorkflowID string
	// RunID is another one after a reset: decide nothing by it that the history must repeat.
	RunID        string
	WorkflowType string
	// HistoryLength is the number of events so far.
	HistoryLength int
	// HistoryBytes is the stored size of the run so far.
	HistoryBytes int
	// FirstRunID is the first run of the chain that this one belongs to: of those that continued as new, were tried again or
	// followed by a cron expression.
	FirstRunID string
	// Attempt is 1, or more in a run that follows one which failed: see StartOptions.Retry.
	Attempt int
	// Cron is the cron expression by which runs follow each other; empty where there is none.
	Cron string
	// SuggestContinueAsNew says that the history has become long, and that the workflow should continue as new when it
	// can.
	SuggestContinueAsNew bool
	// Parent is the run that started this one, or the chain that it is part of, as its child; nil where none did.
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

// LastResult returns the result of the last run before this one that had one, where a cron expression makes runs follow each
// other. ok is false in the first run, and where none has succeeded yet. T has to be the type of the workflow's result.
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

// LastFailure returns what the run before this one failed of, where this one follows it by a retry policy or a cron
// expression; nil where it did not fail.
func LastFailure(ctx Context) error { return ctx.instance().Info().Started.LastFailure.Err() }
