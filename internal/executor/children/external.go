package children

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/executor/starts"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// DeliverExternal delivers a signal or a request to end to another workflow, and reports the
// outcome to the sender. It first starts a receiving child that is not known to have started.
// Delivery continues even if the sender has closed.
//
// After a crash on the way, the next delivery of the message finds by its request id whether it has
// arrived.
func DeliverExternal(ctx context.Context, s *session.Process, m *engine.Message) (found bool, err error) {
	e, found, err := load(ctx, s, m)
	if e == nil || err != nil {
		return found, err
	}
	if e.done != "" {
		return true, inbox.RepairForeignAt(ctx, s, e.done, m)
	}
	if child := e.child; child != nil && child.RunID == "" {
		start := *m
		start.Kind, start.EventID, start.Slot, start.Commit = engine.StartOrCloseChild, child.EventID, child.Slot, child.Commit
		if _, err := StartOrClose(ctx, s, &start); err != nil {
			return true, err
		}
	}
	f, err := deliverTo(ctx, s, e)
	if err != nil {
		return true, err
	}
	closed, err := bringNews(ctx, s, m, e.external.Answer(e.external.EventID, f))
	if err == nil && closed {
		_, _, err = load(ctx, s, m) // which repairs
	}
	return true, err
}

// checkExternal returns why no workflow could receive the message, or nil.
func checkExternal(p *engine.PendingExternal, limit int) *failure.Failure {
	err := engine.CheckID("workflow id", p.WorkflowID)
	if signal, ok := p.Arrives("").(*history.WorkflowExecutionSignaled); ok {
		if f := engine.OversizeSignal(signal.SignalName, p.Delivery, limit); f != nil {
			return f
		}
		if err == nil {
			err = engine.CheckName("signal's name", signal.SignalName)
		}
		if err == nil {
			err = command.CheckReceiver(p.WorkflowID)
		}
	}
	if err != nil {
		return failure.FromError(failure.New(failure.ErrInvalid.Type, err.Error()))
	}
	return nil
}

// deliverTo delivers the message to the workflow that it is for. It returns why that is not
// possible, or nil.
func deliverTo(ctx context.Context, s *session.Process, e *outbound) (f *failure.Failure, err error) {
	if f := checkExternal(e.external, s.Options.MaxPayload); f != nil {
		return f, nil
	}
	err = s.At(ctx, e.external.WorkflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		arrived, refused, err := receive(ctx, t, e)
		f = refused
		if err == nil && !arrived && refused == nil {
			f = failure.FromError(failure.New(failure.ErrNotFound.Type, noSuchOpenRun(t.WorkflowID)))
		}
		return err
	})
	return f, err
}

func noSuchOpenRun(workflowID string) string { return "workflow " + workflowID + " has no open run" }

// receive commits the message of another workflow to the latest run. It returns false if no run
// takes it, and the failure of the sender's request if the contract of the run's code does not have
// the signal. The code of a run that is pinned to another build is not here: if it is not paused,
// the message goes to that build, and otherwise it is recorded unchecked, because it must not wait
// for the end of the pause.
func receive(ctx context.Context, t *session.Session, e *outbound) (arrived bool, refused *failure.Failure, err error) {
	run := t.Run()
	if run == nil {
		return false, nil, nil
	}
	gone := e.external.ChildEventID != 0 && run.State.Started.RequestID != e.request
	there, err := lookForDelivery(ctx, t, run, e)
	switch {
	case err != nil:
		return false, nil, err
	case gone && e.external.Ends:
		there = false // the child has closed or never started, and this is another run
	case !there && !gone && e.message.Late && e.external.ChildEventID == 0:
		if gone, err = lookForMiss(ctx, t, run, e); err != nil {
			return false, nil, err
		}
	}
	if there || gone || run.State.Status.Closed() {
		return there, nil, inbox.RepairForeign(ctx, t, e.message)
	}
	trigger, arrives := inbox.Foreign(e.message), e.incoming()
	if refused, err := refusedSignal(ctx, t, run, arrives); refused != nil || err != nil {
		return false, refused, err
	}
	if history.EndOf(arrives.Attributes).Status.Closed() {
		t.Code.Drop()
		return true, nil, t.Commit(ctx, []*session.Change{{Run: run, Commit: run.End(t.Writer(trigger), arrives)}}, []*engine.Message{trigger})
	}
	return true, nil, commit.Event(ctx, t, run, arrives, trigger)
}

// refusedSignal returns why the contract of a run's code does not have a signal of another
// workflow, or nil. It returns an error if the decoder of the value hangs: the message is
// redelivered, because the decoder may only have been slow, or is fixed by then.
func refusedSignal(ctx context.Context, t *session.Session, run *engine.Run, arrives history.Event) (*failure.Failure, error) {
	signal, ok := arrives.Attributes.(*history.WorkflowExecutionSignaled)
	if !ok || commit.IsElsewhere(ctx, t, run) {
		return nil, nil
	}
	code := session.TypeOf(t, run)
	err := session.Bounded(t.Process, command.Taken(code, engine.SignalName, signal.SignalName), code, func(code *engine.Workflow) error { return command.CheckSignalOfCode(code, signal) })
	if errors.Is(err, refusal.NotReady) {
		return nil, err
	}
	if refused, ok := errors.AsType[*refusal.Error](err); ok {
		return failure.FromError(failure.New(failure.ErrInvalid.Type, refused.Detail)), nil
	}
	return nil, nil
}

// lookForDelivery reads whether the message has arrived before: at the latest run, or at an earlier
// one that may have been open since it was sent.
func lookForDelivery(ctx context.Context, t *session.Session, run *engine.Run, e *outbound) (bool, error) {
	arrives := e.incoming().Attributes
	if run.State.Received(arrives) {
		return true, nil
	}
	switch a := arrives.(type) {
	case *history.WorkflowExecutionCancelRequested: // or another request to end is in progress
		if run.State.CancelRequested && !run.State.Status.Closed() {
			return true, nil
		}
	case *history.WorkflowExecutionSignaled:
		if there, err := starts.LookForSignal(ctx, t, run, a.RequestID); there || err != nil {
			return there, err
		}
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // leave no other trace
	}
	for looks := 0; run.State.StartTime.Add(host.ClockSkew) >= e.sent; looks++ {
		if looks == session.MaxLookBack {
			return e.message.Late, nil
		}
		before, err := t.View.Previous(ctx, run)
		if before == nil || err != nil {
			return e.message.Late && run.Number > 1, err // a deleted run may have received it
		}
		run = before
		if run.State.Received(arrives) {
			return true, nil
		}
	}
	return false, nil
}

// lookForMiss reads whether a late message has missed its receiver: no run of the latest run's
// chain was open when the sender closed. A request to end must not end a run that started later.
func lookForMiss(ctx context.Context, t *session.Session, run *engine.Run, e *outbound) (bool, error) {
	for looks := 0; run.State.StartTime > e.closeTime.Add(host.ClockSkew); looks++ {
		id := run.State.Started.ContinuedFrom
		if id == "" || looks == session.MaxLookBack {
			return true, nil
		}
		before, err := t.View.Other(ctx, id)
		if before == nil || err != nil {
			return err == nil, err
		}
		run = before
	}
	return false, nil
}
