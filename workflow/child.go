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
)

// ParentClosePolicy says what becomes of an open child when the run that started it closes, in whichever way: a run that
// continues as new has closed, too.
type ParentClosePolicy = history.ParentClosePolicy

// The policies. The first is the default.
const (
	// TerminateChild ends the child at once, without asking its code.
	TerminateChild = history.TerminateChild
	// RequestCancelChild asks the child to end.
	RequestCancelChild = history.RequestCancelChild
	// AbandonChild lets the child be. It is started even if its parent closes before that.
	AbandonChild = history.AbandonChild
)

// ChildOptions tunes the start of a child. The zero value is the default.
type ChildOptions struct {
	// WorkflowID is the child's workflow id; empty, one is made, which follows from the parent's run.
	WorkflowID string
	// ParentClosePolicy is what becomes of the child when its parent closes before it: TerminateChild by default.
	ParentClosePolicy ParentClosePolicy
	// WaitCancellation says that code whose context is canceled waits for how the child ends, which is asked to. By default
	// the child is asked to end, and the code goes on with a *CanceledError. To leave a child alone, start it under a
	// Disconnected context.
	WaitCancellation bool
	// IDReusePolicy says whether a workflow id may be used again after its run closed: allowDuplicate (the default),
	// allowDuplicateFailedOnly or rejectDuplicate.
	IDReusePolicy string
	// RunTimeout is how long the child may stay open; 0 is for ever.
	RunTimeout time.Duration
	// StartDelay is how long the child's first task waits, unless a signal or a request to end comes before; 0 is not at all.
	StartDelay time.Duration
	// Retry, Cron and ExecutionTimeout are as in StartOptions: the child's result is that of its last run.
	Retry            *Retry
	Cron             string
	ExecutionTimeout time.Duration
	// Memo and SearchAttributes are what the child begins with, as in StartOptions. It has none of its parent's.
	Memo             []MemoField
	SearchAttributes []SearchAttribute
	// Quiet says that nobody waits for the start: Started is ready when the outcome has come. It saves the parent a workflow task, as
	// RunChild does.
	Quiet bool
}

// retry is the child's retry policy as it is recorded.
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

// StartChild starts a run of this type as a child of the run whose code calls it, and returns it. Its start is durable when
// the workflow next waits; nobody waits for it here.
//
//	shipped, err := Ship.StartChild(ctx, order).Get(ctx)
//
// Whoever cancels ctx asks the child to end; see ChildOptions.WaitCancellation. Errors are *ChildWorkflowError, and wrap why.
func (t Type[In, Out]) StartChild(ctx Context, in In, sets ...ChildOptions) Child[Out] {
	return startChild[Out](ctx, t.name, in, options.Of(sets))
}

// RunChild starts a run of this type as a child, and waits for its result. Nobody waits for the start, which saves the parent
// a workflow task.
func (t Type[In, Out]) RunChild(ctx Context, in In, sets ...ChildOptions) (Out, error) {
	o := options.Of(sets)
	o.Quiet = true
	return startChild[Out](ctx, t.name, in, o).Get(ctx)
}

func startChild[Out any](ctx Context, name string, in any, o ChildOptions) Child[Out] {
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
		Encode:           func() history.Payload { return mustEncode(in) },
	})
	return Child[Out]{child, child.Started(), &result[Out]{Future: child.Result(), kind: "child workflow", name: name, wait: o.WaitCancellation}}
}

// misuse is what code does that no code should.
func misuse(format string, args ...any) error {
	return &failure.OtherError{Kind: failure.KindMisuse, Message: fmt.Sprintf(format, args...)}
}

// WorkflowID is the child's workflow id.
func (c Child[Out]) WorkflowID() string { return c.child.WorkflowID() }

// Started waits until the child has started, and returns the id of its run. It returns a *ChildWorkflowError where the child
// could not be started; that wraps ErrAlreadyStarted where its workflow id is taken.
func (c Child[Out]) Started(ctx Context) (runID string, err error) {
	s := ctx.scheduler()
	s.MustRun("wait for a child workflow")
	id, err := c.started.Get(s, ctx.scope)
	return string(id), err
}

// Get waits for the child's result. It returns a *ChildWorkflowError that wraps why the child failed, and a *CanceledError as
// soon as ctx is canceled, unless the child was started with WaitCancellation.
func (c Child[Out]) Get(ctx Context) (Out, error) {
	return c.Result().Get(ctx)
}

// Result is the future of the child's result.
func (c Child[Out]) Result() Future[Out] { return Future[Out]{c.result} }

// Cancel asks the child to end; its result says how it did. The future is ready when the child has been asked, by this call or
// another, or has closed without that (ErrNotFound).
func (c Child[Out]) Cancel(ctx Context, reason string) Future[None] {
	return Future[None]{&sent{ctx.instance().CancelChild(ctx.scope, c.child, reason)}}
}

func (c Child[Out]) target() engine.SignalTarget { return engine.SignalTarget{Child: c.child} }

// Target is where workflow code sends a signal: a Child, or an External.
type Target interface{ target() engine.SignalTarget }

// External is another workflow, by its id: whichever run of it is open.
type External string

func (w External) target() engine.SignalTarget { return engine.SignalTarget{WorkflowID: string(w)} }

// Cancel asks the workflow to end. The future is ready when it has been asked; it says ErrNotFound where no run is open, unless the
// latest had been asked before it closed.
func (w External) Cancel(ctx Context, reason string) Future[None] {
	return Future[None]{&sent{ctx.instance().EndExternal(ctx.scope, string(w), reason, false)}}
}

// Terminate ends the workflow at once, without asking its code. The future is ready when it has ended; it says ErrNotFound where
// no run is open.
func (w External) Terminate(ctx Context, reason string) Future[None] {
	return Future[None]{&sent{ctx.instance().EndExternal(ctx.scope, string(w), reason, true)}}
}

// SendTo sends the signal to another workflow, from workflow code. It is durable when the workflow next waits, and arrives even
// if the workflow has closed by then. The future is ready when it has arrived; it says ErrNotFound where no run is open. Signals
// that are sent without waiting for the one before may arrive in any order.
func (g Signal[T]) SendTo(ctx Context, to Target, v T) Future[None] {
	return Future[None]{&sent{ctx.instance().SignalExternal(ctx.scope, to.target(), g.name, func() history.Payload { return mustEncode(v) })}}
}

// sent is the future of something that was sent to another workflow.
type sent struct{ *coro.Future[struct{}] }

func (f *sent) ready() bool         { return f.Ready() }
func (f *sent) waiters() *coro.List { return f.Waiters() }
func (f *sent) waits() bool         { return false }
func (f *sent) peek() (None, error) {
	_, err := f.Peek()
	return None{}, err
}
