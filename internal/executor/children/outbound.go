package children

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// outbound is what a run wants of another workflow, as its log has it.
type outbound struct {
	message  *engine.Message
	child    *engine.PendingChild
	external *engine.PendingExternal
	// request is the request id of the start of the child that external is for.
	request string
	// sent is when external was sent, or before.
	sent history.Timestamp
	// holder is the parent of the open run that has the workflow id of the child; nil where it has none.
	holder *history.Parent
	// closed says that the run has closed, so that nobody waits for news, and closeTime when.
	closed    bool
	closeTime history.Timestamp
	// done is the workflow at which all has been done already, by another delivery; empty where something is to be done.
	done string
}

// load finds what a message asks for. It is nil where that will not be done, or was and nothing is left to be repaired.
func load(ctx context.Context, s *session.Process, m *engine.Message) (e *outbound, found bool, err error) {
	err = s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		if m.Kind == engine.StartOrCloseChild && m.Attempt > 1 { // it was sent because the parent has closed, which this process may not know
			if err := t.View.EnsureFresh(ctx); err != nil {
				return err
			}
		}
		run, place, err := inbox.Locate(ctx, t, m)
		found = place != inbox.NotYet
		if err != nil || place != inbox.InLog {
			return err
		}
		needed, closed := run.Needed(m), run.State.Status.Closed()
		if !needed || closed {
			// An earlier delivery may have closed the run, and died before it sent what follows from that.
			if err := inbox.Repair(ctx, t, run, m); err != nil {
				return err
			}
		}
		if !needed {
			command, err := t.View.Command(ctx, run, m.EventID)
			if err != nil {
				return err
			}
			if to := target(command); to != "" {
				e = &outbound{message: m, done: to}
			}
			return nil
		}
		e = &outbound{message: m, closed: closed, closeTime: run.State.CloseTime}
		child := m.EventID
		if m.Kind == engine.DeliverExternal {
			e.external = run.State.Externals[m.EventID]
			if run.State.Reset == nil { // which copies what was sent before
				e.sent = run.TimeOf(e.external.Slot)
			}
			child = e.external.ChildEventID()
			command, err := t.View.Command(ctx, run, child)
			if err != nil {
				return err
			}
			if start, ok := command.(*history.StartChildWorkflowExecutionInitiated); ok {
				e.request = start.RequestID
			}
		}
		if p := run.State.Children[child]; p != nil {
			now := *p
			if run.State.Reset != nil {
				now.Time = 0 // the run that was reset may have started it, at any time
			}
			e.child = &now
		}
		return nil
	})
	return e, found, err
}

// target is the workflow that a command reaches out to.
func target(command history.Attributes) string {
	switch a := command.(type) {
	case *history.StartChildWorkflowExecutionInitiated:
		return a.WorkflowID
	case *history.SignalExternalWorkflowExecutionInitiated:
		return a.WorkflowID
	case *history.RequestCancelExternalWorkflowExecutionInitiated:
		return a.WorkflowID
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // stay in the run
	}
	return ""
}

// endRequest is the request id of a request to end: its receiver knows it again.
func (e *outbound) endRequest() string {
	return fmt.Sprintf("%s.%d", e.message.RunID, e.message.EventID)
}

// incoming is the event by which something arrives at a workflow.
func (e *outbound) incoming() history.Event {
	if s := e.external.Signal; s != nil {
		return history.Of(&history.WorkflowExecutionSignaled{SignalName: s.SignalName, Input: s.Input, RequestID: s.RequestID})
	}
	return history.Of(&history.WorkflowExecutionCancelRequested{Reason: e.external.Cancel.Reason, RequestID: e.endRequest()})
}
