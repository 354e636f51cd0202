package turn

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/host"
)

// reachOut brings a signal to another workflow, or a request that it end, and tells the sender what came of it. A child that
// is not known to have started is started before. The sender may have closed: what it has sent arrives all the same.
//
// A crash on the way leaves the message; its next delivery finds what has arrived by its request id.
func (s *Service) reachOut(ctx context.Context, m *engine.Message) (found bool, err error) {
	e, found, err := s.errand(ctx, m)
	if e == nil || err != nil {
		return found, err
	}
	if e.done != "" {
		return true, s.repairForeign(ctx, e.done, m)
	}
	if child := e.child; child != nil && child.RunID == "" {
		start := *m
		start.Kind, start.EventID, start.Slot, start.Commit = engine.SettleChild, child.EventID, child.Slot, child.Commit
		if _, err := s.settleChild(ctx, &start); err != nil {
			return true, err
		}
	}
	f, err := s.deliverTo(ctx, e)
	if err != nil {
		return true, err
	}
	closed, err := s.bringNews(ctx, m, arrival(e.external, f))
	if err == nil && closed {
		_, _, err = s.errand(ctx, m) // which repairs
	}
	return true, err
}

// arrival is the news of what was sent to another workflow: that it arrived, or why not.
func arrival(p *engine.PendingExternal, f *failure.Failure) history.Attributes {
	switch {
	case p.Signal != nil && f == nil:
		return &history.ExternalWorkflowExecutionSignaled{InitiatedEventID: p.EventID}
	case p.Signal != nil:
		return &history.SignalExternalWorkflowExecutionFailed{InitiatedEventID: p.EventID, Failure: f}
	case f == nil:
		return &history.ExternalWorkflowExecutionCancelRequested{InitiatedEventID: p.EventID}
	}
	return &history.RequestCancelExternalWorkflowExecutionFailed{InitiatedEventID: p.EventID, Failure: f}
}

// checkExternal is why something cannot be sent to any workflow; nil where it can.
func checkExternal(p *engine.PendingExternal, limit int) *failure.Failure {
	err := engine.CheckID("workflow id", p.WorkflowID())
	if p.Signal != nil {
		if f := engine.OversizeSignal(p.Signal, limit); f != nil {
			return f
		}
		if err == nil {
			err = engine.CheckName("signal's name", p.Signal.SignalName)
		}
	}
	if err != nil {
		return failure.FromError(failure.New(failure.ErrInvalid.Type, err.Error()))
	}
	return nil
}

// deliverTo brings what a run sends to the workflow that it is for. It returns why that cannot be.
func (s *Service) deliverTo(ctx context.Context, e *errand) (f *failure.Failure, err error) {
	if f := checkExternal(e.external, s.options.MaxPayload); f != nil {
		return f, nil
	}
	err = s.at(ctx, e.external.WorkflowID(), func(ctx context.Context, t *session) error {
		if err := t.view.EnsureFresh(ctx); err != nil {
			return err
		}
		arrived, err := t.receive(ctx, e)
		f = nil
		if err == nil && !arrived {
			f = failure.FromError(failure.New(failure.ErrNotFound.Type, noSuchOpenRun(t.workflowID)))
		}
		return err
	})
	return f, err
}

func noSuchOpenRun(workflowID string) string { return "workflow " + workflowID + " has no open run" }

// receive brings what another workflow has sent to the latest run, and reports false where there is none that takes it.
func (t *session) receive(ctx context.Context, e *errand) (arrived bool, err error) {
	run := t.run()
	if run == nil {
		return false, nil
	}
	gone := e.external.ChildEventID() != 0 && run.State.Started.RequestID != e.request
	there, err := t.has(ctx, run, e)
	switch {
	case err != nil:
		return false, err
	case gone && e.external.Cancel != nil:
		there = false // the child has closed, or never was, and this run is another's
	case !there && !gone && e.message.Late && e.external.ChildEventID() == 0:
		if gone, err = t.missedBy(ctx, run, e); err != nil {
			return false, err
		}
	}
	if there || gone || run.State.Status.Closed() {
		return there, t.repairForeign(ctx, e.message)
	}
	trigger := foreign(e.message)
	if c := e.external.Cancel; c != nil && c.Terminate {
		t.code.Drop()
		end := history.Of(&history.WorkflowExecutionTerminated{Reason: c.Reason, RequestID: e.endRequest()})
		return true, t.putThenSend(ctx, []*engine.Message{trigger}, &change{run: run, commit: run.End(t.writer(trigger), end)})
	}
	return true, t.bring(ctx, run, e.incoming(), trigger)
}

// has reports whether something has arrived before: at the latest run, or at one before it that may have been open since it was
// sent.
func (t *session) has(ctx context.Context, run *engine.Run, e *errand) (bool, error) {
	signal, cancel := e.external.Signal, e.external.Cancel
	if cancel != nil && (run.State.Asked(e.endRequest()) || !cancel.Terminate && run.State.CancelRequested && !run.State.Status.Closed()) {
		return true, nil // or somebody else has asked it, and it has not ended yet
	}
	if signal != nil {
		if there, err := t.arrived(ctx, run, signal.RequestID); there || err != nil {
			return there, err
		}
	}
	for looks := 0; run.State.StartTime.Add(host.ClockSkew) >= e.sent; looks++ {
		if looks == maxLookBack {
			return e.message.Late, nil
		}
		before, err := t.view.Previous(ctx, run)
		if before == nil || err != nil {
			return e.message.Late && run.Number > 1, err // nobody knows what a run that has been deleted got
		}
		run = before
		if signal != nil && run.State.Signaled(signal.RequestID) || cancel != nil && run.State.Asked(e.endRequest()) {
			return true, nil
		}
	}
	return false, nil
}

// missedBy reports whether a late message has missed its receiver: no run of the latest run's chain was open when the sender closed. A
// request to end must not end a run that was started since.
func (t *session) missedBy(ctx context.Context, run *engine.Run, e *errand) (bool, error) {
	for looks := 0; run.State.StartTime > e.closeTime.Add(host.ClockSkew); looks++ {
		id := run.State.Started.ContinuedFrom
		if id == "" || looks == maxLookBack {
			return true, nil
		}
		before, err := t.view.Other(ctx, id)
		if before == nil || err != nil {
			return err == nil, err
		}
		run = before
	}
	return false, nil
}

// endRequest is the request id of a request to end: its receiver knows it again.
func (e *errand) endRequest() string { return fmt.Sprintf("%s.%d", e.message.RunID, e.message.EventID) }

// incoming is the event by which something arrives at a workflow.
func (e *errand) incoming() history.Event {
	if s := e.external.Signal; s != nil {
		return history.Of(&history.WorkflowExecutionSignaled{SignalName: s.SignalName, Input: s.Input, RequestID: s.RequestID})
	}
	return history.Of(&history.WorkflowExecutionCancelRequested{Reason: e.external.Cancel.Reason, RequestID: e.endRequest()})
}
