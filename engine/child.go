package engine

import (
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Child is the handle of a child for the code that started it.
type Child struct {
	id       int64 // of its StartChildWorkflowExecutionInitiated event; 0 in the activation that started it
	sequence uint64
	scope    *coro.Scope
	command  *command
	call     *history.StartChildWorkflowExecutionInitiated
	wait     bool      // after a cancellation, the code still waits for the end
	asked    *external // the request that it end, if there is one
	started  coro.Future[history.RunID]
	result   coro.Future[history.Payload]
}

// ChildCall is a child to start.
type ChildCall struct {
	history.StartChildWorkflowExecutionInitiated
	// WaitCancellation makes code whose scope is canceled wait until the child has ended.
	WaitCancellation bool
	// Encode returns the input, as in StartActivity.
	Encode func() history.Payload
}

// StartChild starts a child. Under a canceled scope it starts nothing, and the child's futures are
// canceled. An empty workflow id is replaced by one that follows from the run and the order of the
// calls.
func (in *Instance) StartChild(scope *coro.Scope, call ChildCall) *Child {
	in.s.MustRun("start a child workflow")
	initiated := &call.StartChildWorkflowExecutionInitiated
	initiated.RequestID = in.callID()
	if initiated.WorkflowID == "" {
		initiated.WorkflowID = initiated.RequestID
	}
	c := &Child{scope: scope, call: initiated, wait: call.WaitCancellation}
	err := in.splitWith(scope, initiated, func() { initiated.Input, initiated.Oversize = in.inputOf(call.Encode) }, func() { in.renew(initiated) })
	in.sequence++
	c.sequence = in.sequence
	if bad := CheckID("workflow id of the child", initiated.WorkflowID); err == nil && bad != nil {
		err = c.failed(failure.Newf(failure.ErrInvalid.Type, "%v", bad))
	}
	if err != nil {
		c.end(in, nil, err)
		return c
	}
	c.command = in.issue(&command{event: initiated, starts: c})
	in.unnumbered = append(in.unnumbered, c)
	return c
}

func (c *Child) numbered(in *Instance, id int64) {
	c.id = id
	in.children[id] = c
}

// callID returns a request id for a request to another workflow: the same on replay, also after a
// reset has copied the history, and unique.
func (in *Instance) callID() string {
	in.calls++
	return fmt.Sprintf("%s:%d", in.base, in.calls)
}

// renew changes the id of a call that waited for the next task when a reset came, to an id of the
// new run. The old run may have made the same call, and the other workflow would take one for a
// copy of the other.
func (in *Instance) renew(a history.Attributes) {
	if in.rules < history.SplitSideEffects {
		return
	}
	switch what := history.InitiatedBy(a); {
	case what.Child != nil:
		made := what.Child.WorkflowID == what.Child.RequestID
		in.renewID(&what.Child.RequestID)
		if made {
			what.Child.WorkflowID = what.Child.RequestID
		}
	case what.External != nil && what.External.RequestID != nil:
		in.renewID(what.External.RequestID)
	}
}

func (in *Instance) renewID(id *string) {
	if !strings.HasPrefix(*id, in.base+":") {
		*id = in.callID()
	}
}

// departs switches the ids of calls to those of a reset's new run, because the run that was reset
// may have used the next ids after that point, too. The new ids derive from the id of that run,
// which is reset only once. In a reset to the first task, departs is called before the event that
// opened the run is delivered.
func (in *Instance) departs(r *history.Reset) { in.base, in.departed = string(r.BaseRunID)+".r", true }

// event returns the id that names the child to others, or -1 if it was canceled in the activation
// that started it.
func (c *Child) event() int64 {
	if c.id == 0 {
		return -1
	}
	return c.id
}

// WorkflowID returns the child's workflow id.
func (c *Child) WorkflowID() string { return c.call.WorkflowID }

// Type returns the child's workflow type.
func (c *Child) Type() string { return c.call.WorkflowType }

// Started returns a future that is ready when the child has started, or cannot be.
func (c *Child) Started() *coro.Future[history.RunID] { return &c.started }

// Result returns a future that is ready when the child's outcome has arrived.
func (c *Child) Result() *coro.Future[history.Payload] { return &c.result }

func (c *Child) under() *coro.Scope { return c.scope }
func (c *Child) order() uint64      { return c.sequence }

func (c *Child) failed(cause error) error {
	run, _ := c.started.Peek()
	return &failure.ChildWorkflowError{
		WorkflowType: c.call.WorkflowType, WorkflowID: c.call.WorkflowID, RunID: string(run), EventID: c.id, Cause: cause,
	}
}

// end passes the child's outcome to the code that waits for it.
func (c *Child) end(in *Instance, result history.Payload, err error) {
	c.started.Set(&in.s, "", err)
	c.result.Set(&in.s, result, err)
}

// giveUp asks the child to end. Unless the author chose WaitCancellation, the code no longer waits
// for it. A child that was started in this activation leaves no trace.
func (c *Child) giveUp(in *Instance, err error) {
	switch {
	case c.result.Ready() || c.isAsked():
		return
	case c.id == 0:
		c.command.dropped = true
		c.end(in, nil, err)
		return
	}
	c.asked = in.tell(in.s.NewScope(), c.cancelCommand(""))
	if !c.wait {
		c.end(in, nil, err)
	}
}

// CancelChild asks a child to end. The child's result says how it ended. The returned future is
// ready when the child has been asked.
func (in *Instance) CancelChild(scope *coro.Scope, c *Child, reason string) *coro.Future[struct{}] {
	in.s.MustRun("cancel a child workflow")
	c.asked = in.tell(scope, c.cancelCommand(reason))
	return &c.asked.future
}

// isAsked reports whether the child has been asked to end. A request does not count if its scope
// was canceled before it was recorded.
func (c *Child) isAsked() bool {
	return c.asked != nil && (c.asked.id != 0 || c.asked.scope.Err() == nil)
}

func (c *Child) cancelCommand(reason string) *command {
	return &command{
		typ: history.TypeRequestCancelExternalWorkflowExecutionInitiated, name: c.call.WorkflowID,
		attributes: func() history.Attributes {
			return &history.RequestCancelExternalWorkflowExecutionInitiated{WorkflowID: c.call.WorkflowID, Reason: reason, ChildEventID: c.event()}
		},
	}
}

// childStarted passes the start of a child to the code.
func (in *Instance) childStarted(a *history.ChildWorkflowExecutionStarted) error {
	c := in.children[a.InitiatedEventID]
	if c == nil {
		return corrupt("the start of a child that event %d did not initiate", a.InitiatedEventID)
	}
	c.started.Set(&in.s, a.RunID, nil)
	return nil
}

// resolveChild passes the outcome of a child to the code that waits for it.
func (in *Instance) resolveChild(r history.Resolution) error {
	c := in.children[r.Child]
	if c == nil {
		return corrupt("the outcome of a child that event %d did not initiate", r.Child)
	}
	delete(in.children, r.Child)
	var err error
	if r.Failure != nil {
		err = c.failed(r.Failure.Err())
	}
	c.end(in, r.Result, err)
	return nil
}
