package workflow

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
)

// Context is what workflow code reaches the engine through. It is not a context.Context, so that it cannot be handed to
// anything that does I/O. Pass it down like one; there is no use in storing it.
type Context struct {
	in    *engine.Instance
	scope *coro.Scope
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
func WithCancel(parent Context) (Context, CancelFunc) {
	s := parent.scheduler()
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
		WorkflowID: i.WorkflowID, RunID: string(i.RunID), WorkflowType: i.WorkflowType,
		HistoryLength: int(i.HistoryLength), HistoryBytes: int(i.HistoryBytes), SuggestContinueAsNew: i.SuggestContinueAsNew,
		Parent: parent,
	}
}
