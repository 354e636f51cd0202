package engine

import (
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// external is a signal to another workflow, or a request that it end. Code may wait for its
// delivery.
type external struct {
	id       int64 // of its Initiated event; 0 in the activation that sent it
	sequence uint64
	scope    *coro.Scope
	command  *command
	future   coro.Future[struct{}]
}

// SignalTarget is the receiver of a signal: a child, or the open run of a workflow.
type SignalTarget struct {
	WorkflowID string
	Child      *Child
}

// SignalExternal sends a signal to another workflow. The future is ready when the signal has been
// delivered, or found no open run. encode is as in StartActivity.
func (in *Instance) SignalExternal(scope *coro.Scope, to SignalTarget, name string, encode func() history.Payload) *coro.Future[struct{}] {
	in.s.MustRun("signal another workflow")
	a := &history.SignalExternalWorkflowExecutionInitiated{WorkflowID: to.WorkflowID, SignalName: name, RequestID: in.callID()}
	if to.Child != nil {
		a.WorkflowID = to.Child.WorkflowID()
	}
	_ = in.splitWith(scope, a, func() { a.Input, a.Oversize = in.inputOf(encode) }, func() { in.renew(a) }) // if it is canceled, its future is
	return &in.tell(scope, &command{
		typ: a.Type(), name: a.SignalName + " " + a.WorkflowID,
		attributes: func() history.Attributes {
			if to.Child != nil {
				a.ChildEventID = to.Child.event()
			}
			return a
		},
	}).future
}

// EndExternal asks another workflow to end, or terminates it. The future is ready when the workflow
// has been asked, or has ended, or has no open run.
func (in *Instance) EndExternal(scope *coro.Scope, workflowID, reason string, terminate bool) *coro.Future[struct{}] {
	in.s.MustRun("end another workflow")
	a := &history.RequestCancelExternalWorkflowExecutionInitiated{WorkflowID: workflowID, Reason: reason, Terminate: terminate}
	_ = in.splitUnder(scope, a)
	return &in.tell(scope, &command{event: a}).future
}

// tell issues a command that sends a request to another workflow.
func (in *Instance) tell(scope *coro.Scope, c *command) *external {
	in.sequence++
	e := &external{scope: scope, sequence: in.sequence, command: c}
	if err := scope.Err(); err != nil {
		e.future.Set(&in.s, struct{}{}, err)
		return e
	}
	c.starts = e
	in.issue(c)
	in.unnumbered = append(in.unnumbered, e)
	return e
}

func (e *external) under() *coro.Scope { return e.scope }
func (e *external) order() uint64      { return e.sequence }

func (e *external) numbered(in *Instance, id int64) {
	e.id = id
	in.externals[id] = e
}

// giveUp no longer waits for the delivery. A request that was sent in this activation leaves no
// trace.
func (e *external) giveUp(in *Instance, err error) {
	if e.future.Ready() {
		return
	}
	if e.id == 0 {
		e.command.dropped = true
	}
	e.future.Set(&in.s, struct{}{}, err)
}

// resolveExternal passes the outcome of a request to the code.
func (in *Instance) resolveExternal(id int64, f *failure.Failure) error {
	e := in.externals[id]
	if e == nil {
		return corrupt("news of what event %d did not send", id)
	}
	delete(in.externals, id)
	e.future.Set(&in.s, struct{}{}, f.Err())
	return nil
}
