package workflow

import (
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// ParentClosePolicy says what happens to an open child when the run that started it closes, for
// whatever reason. A run that continues as new has closed, too.
type ParentClosePolicy = history.ParentClosePolicy

// The policies. The first is the default.
const (
	// TerminateChild ends the child at once, without running its code.
	TerminateChild = history.TerminateChild
	// RequestCancelChild asks the child to end.
	RequestCancelChild = history.RequestCancelChild
	// AbandonChild leaves the child alone. The child is started even if its parent closes before
	// that.
	AbandonChild = history.AbandonChild
)

// ChildOptions tunes the start of a child. The zero value is the default.
type ChildOptions struct {
	// WorkflowID is the child's workflow id. If it is empty, one is derived from the parent's run.
	WorkflowID string
	// ParentClosePolicy says what happens to the child if its parent closes before it:
	// TerminateChild by default.
	ParentClosePolicy ParentClosePolicy
	// WaitCancellation makes code whose context is canceled wait until the child has ended. By
	// default, the code continues at once with a *CanceledError. Either way the child is asked to
	// end. To leave a child alone, start it under a Disconnected context.
	WaitCancellation bool
	// IDReusePolicy says whether a workflow id may be used again after its run closed:
	// allowDuplicate (the default), allowDuplicateFailedOnly or rejectDuplicate.
	IDReusePolicy string
	// RunTimeout is how long the child may stay open; 0 is for ever.
	RunTimeout time.Duration
	// StartDelay delays the child's first task, unless a signal or a request to end arrives
	// earlier; 0 is no delay.
	StartDelay time.Duration
	// Retry, Cron and ExecutionTimeout are as in StartOptions: the child's result is that of its
	// last run.
	Retry            *Retry
	Cron             string
	ExecutionTimeout time.Duration
	// Memo and SearchAttributes are what the child starts with, as in StartOptions. It inherits
	// nothing from its parent.
	Memo             []MemoField
	SearchAttributes []SearchAttribute
	// Quiet says that no code waits for the start: Started is ready when the outcome has arrived.
	// It saves the parent a workflow task, as RunChild does.
	Quiet bool
}

// retry returns the child's retry policy as it is recorded.
func (o *ChildOptions) retry() *history.RetryPolicy {
	if o.Retry == nil {
		return nil
	}
	p := bridge.Retry(*o.Retry).Policy()
	return &p
}

// Child is a run that workflow code started as its child.
type Child[Out any] struct {
	child   *engine.Child
	started *coro.Future[history.RunID]
	result  *result[Out]
}

// StartChild starts a run of this type as a child of the run whose code calls it, and returns the
// child. It does not wait: the start is durable when the workflow next waits.
//
//	shipped, err := Ship.StartChild(ctx, order).Get(ctx)
//
// If ctx is canceled, the child is asked to end; see ChildOptions.WaitCancellation. Errors are
// *ChildWorkflowError, and wrap why.
func (t Type[In, Out]) StartChild(ctx Context, in In, sets ...ChildOptions) Child[Out] {
	return startChild[Out](ctx, t.name, t.by, in, options.Of(sets))
}

// RunChild starts a run of this type as a child, and waits for its result. It does not wait for the
// start, which saves the parent a workflow task.
func (t Type[In, Out]) RunChild(ctx Context, in In, sets ...ChildOptions) (Out, error) {
	o := options.Of(sets)
	o.Quiet = true
	return startChild[Out](ctx, t.name, t.by, in, o).Get(ctx)
}

func startChild[Out any](ctx Context, name string, by Converter, in any, o ChildOptions) Child[Out] {
	if o.RunTimeout < 0 || o.StartDelay < 0 {
		panic(misuse("a child of workflow type %q is started with a negative RunTimeout or StartDelay", name))
	}
	if o.ParentClosePolicy > AbandonChild {
		panic(misuse("a child of workflow type %q is started with the ParentClosePolicy %d: there are TerminateChild, RequestCancelChild and AbandonChild",
			name, o.ParentClosePolicy))
	}
	visibility := o.visibility(name)
	child := ctx.instance().StartChild(ctx.scope, engine.ChildCall{
		StartChildWorkflowExecutionInitiated: history.StartChildWorkflowExecutionInitiated{
			WorkflowType: name, WorkflowID: o.WorkflowID, Policy: o.ParentClosePolicy, IDReusePolicy: o.IDReusePolicy,
			RunTimeout: history.Duration(o.RunTimeout), StartDelay: history.Duration(o.StartDelay), Quiet: o.Quiet, Header: ctx.starting(name, true),
			Retry: o.retry(), Cron: o.Cron, ExecutionTimeout: history.Duration(o.ExecutionTimeout),
			Memo: visibility.Memo, SearchAttributes: visibility.SearchAttributes,
		},
		WaitCancellation: o.WaitCancellation,
		Encode:           func() history.Payload { return payload.MustEncodeBy(by, in) },
	})
	return Child[Out]{child, child.Started(), &result[Out]{Future: child.Result(), kind: "child workflow", name: name, wait: o.WaitCancellation, by: by}}
}

// misuse returns the error of code that breaks a rule.
func misuse(format string, args ...any) error {
	return &failure.OtherError{Kind: failure.KindMisuse, Message: fmt.Sprintf(format, args...)}
}

// WorkflowID returns the child's workflow id.
func (c Child[Out]) WorkflowID() string { return c.child.WorkflowID() }

// Started waits until the child has started, and returns the id of its run. It returns a
// *ChildWorkflowError if the child could not be started. That wraps ErrAlreadyStarted if the
// child's workflow id is taken.
func (c Child[Out]) Started(ctx Context) (runID string, err error) {
	s := ctx.scheduler()
	s.MustRun("wait for a child workflow")
	id, err := c.started.Get(s, ctx.scope)
	return string(id), err
}

// Get waits for the child's result. It returns a *ChildWorkflowError that wraps why the child
// failed, and a *CanceledError as soon as ctx is canceled, unless the child was started with
// WaitCancellation.
func (c Child[Out]) Get(ctx Context) (Out, error) {
	return c.Result().Get(ctx)
}

// Result returns the future of the child's result.
func (c Child[Out]) Result() Future[Out] { return Future[Out]{c.result} }

// Cancel asks the child to end. The child's result says how it ended. The future is ready when the
// child has been asked, by this call or another. It is also ready, with ErrNotFound, when the child
// has closed before that.
func (c Child[Out]) Cancel(ctx Context, reason string) Future[None] {
	return Future[None]{&sent{ctx.instance().CancelChild(ctx.scope, c.child, reason)}}
}

func (c Child[Out]) target() engine.SignalTarget { return engine.SignalTarget{Child: c.child} }

// Target is a receiver of signals from workflow code: a Child, or an External.
type Target interface{ target() engine.SignalTarget }

// External is the id of another workflow: its open run.
type External string

func (w External) target() engine.SignalTarget { return engine.SignalTarget{WorkflowID: string(w)} }

// Cancel asks the workflow to end. The future is ready when it has been asked. Its error is
// ErrNotFound if no run is open, unless the latest had been asked before it closed.
func (w External) Cancel(ctx Context, reason string) Future[None] {
	return Future[None]{&sent{ctx.instance().EndExternal(ctx.scope, string(w), reason, false)}}
}

// Terminate ends the workflow at once, without running its code. The future is ready when it has
// ended. Its error is ErrNotFound if no run is open.
func (w External) Terminate(ctx Context, reason string) Future[None] {
	return Future[None]{&sent{ctx.instance().EndExternal(ctx.scope, string(w), reason, true)}}
}

// SendTo sends the signal to another workflow, from workflow code. The signal is durable when the
// workflow next waits, and is delivered even if the workflow has closed by then. The future is
// ready when it was delivered. Its error is ErrNotFound if no run is open. Signals that are sent
// without waiting for the one before may be delivered in any order.
func (g Signal[T]) SendTo(ctx Context, to Target, v T) Future[None] {
	return Future[None]{&sent{ctx.instance().SignalExternal(ctx.scope, to.target(), g.name, func() history.Payload { return payload.MustEncodeBy(g.by, v) })}}
}

// sent is the future of a request to another workflow.
type sent struct{ *coro.Future[struct{}] }

func (f *sent) ready() bool         { return f.Ready() }
func (f *sent) waiters() *coro.List { return f.Waiters() }
func (f *sent) waits() bool         { return false }
func (f *sent) peek() (None, error) {
	_, err := f.Peek()
	return None{}, err
}
