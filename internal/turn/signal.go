package turn

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
)

// Signal sends a signal to the latest run, or to the one that runID pins, or to one that it opens. The signal is in the log
// when Signal returns nil, and the code has seen it unless it fails.
func (s *Service) Signal(ctx context.Context, workflowID string, runID history.RunID, name string, r api.SignalRequest) (*api.SignalResponse, error) {
	if err := checkIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if err := engine.CheckName("signal's name", name); err != nil {
		return nil, api.Invalid.New("%v", err)
	}
	requestID, err := s.requestID(r.RequestID)
	if err != nil {
		return nil, err
	}
	if err := s.checkPayload(r.Input); err != nil {
		return nil, err
	}
	signal := history.Of(&history.WorkflowExecutionSignaled{SignalName: name, Input: history.Payload(r.Input), RequestID: requestID})
	if r.Start == nil {
		return &api.SignalResponse{}, s.signal(ctx, workflowID, runID, requestID, signal)
	}
	if r.Start.IDConflictPolicy == conflictFail {
		return nil, api.Invalid.New("a signal with a start goes to the run that is open: give the idConflictPolicy %s or %s, or none", useExisting, terminateExisting)
	}
	w, err := s.checkWithStart(ctx, workflowID, runID, r.Start)
	if err != nil {
		return nil, err
	}
	err = s.request(ctx, workflowID, func(ctx context.Context, t *session) error { return t.signalWithStart(ctx, w, requestID, signal) })
	return &api.SignalResponse{RunID: w.answer.RunID, Started: &w.answer.Started}, err
}

func (s *Service) signal(ctx context.Context, workflowID string, runID history.RunID, requestID string, signal history.Event) error {
	return s.request(ctx, workflowID, func(ctx context.Context, t *session) error {
		run, err := t.openRun(ctx, runID)
		switch {
		case errors.Is(err, api.NotFound):
			if arrived, lookErr := t.signaled(ctx, runID, requestID); arrived || lookErr != nil {
				return lookErr // it arrived before the run closed, and its answer was lost
			}
			return err
		case run == nil:
			return err
		case run.State.Signaled(requestID):
			return t.final(ctx, nil)
		}
		if before, err := t.view.Before(ctx, run); err != nil || runID == "" && before != nil && before.State.Signaled(requestID) {
			return err
		}
		return t.bring(ctx, run, signal)
	})
}

// signaled reports whether a signal has arrived at a run that is not open: at the one that the caller pinned, or else at
// the latest or the one that this continues.
func (t *session) signaled(ctx context.Context, pinned history.RunID, requestID string) (bool, error) {
	run := t.run()
	switch {
	case run == nil:
		return false, nil
	case pinned == "":
		return t.arrived(ctx, run, requestID)
	case pinned != run.State.RunID:
		var err error
		if run, err = t.view.Other(ctx, pinned); run == nil || err != nil {
			return false, err
		}
	}
	return run.State.Signaled(requestID), nil
}

// Cancel asks a run to end: its code's context is canceled. A run that has been asked is not asked again.
func (s *Service) Cancel(ctx context.Context, workflowID string, runID history.RunID, reason string) error {
	if err := checkIDs(workflowID, runID); err != nil {
		return err
	}
	if err := checkReason(reason); err != nil {
		return err
	}
	cancel := history.Of(&history.WorkflowExecutionCancelRequested{Reason: reason})
	return s.request(ctx, workflowID, func(ctx context.Context, t *session) error {
		run, err := t.openRun(ctx, runID)
		if run == nil {
			return err
		}
		if run.State.CancelRequested {
			return t.final(ctx, nil)
		}
		return t.bring(ctx, run, cancel)
	})
}

// bring commits an event that a request brings, or that these messages do, with what the code does about it.
func (t *session) bring(ctx context.Context, run *engine.Run, e history.Event, triggers ...*engine.Message) error {
	if run.Waits() {
		t.code.Drop() // it has not seen the event
		return t.commit(ctx, run, &engine.Transition{Commit: run.Keep(t.writer(triggers...), e)}, triggers...)
	}
	if err := t.mine(ctx, run); err != nil {
		return err
	}
	return t.commitEvents(ctx, run, []history.Event{e}, triggers...)
}

// refuse tells the sender of a signal that it is refused. Nothing is written.
func (t *session) refuse(ctx context.Context, transition *engine.Transition) error {
	current := t.view.Fresh
	t.discard()
	if !current {
		return t.final(ctx, nil) // the run may be another by now
	}
	return api.Invalid.New("%v", transition.Refused)
}

// settle is what is left to do after a transition's commit has landed: code that failed is thrown away.
func (t *session) settle(run *engine.Run, transition *engine.Transition) {
	if transition.Failure != nil {
		t.code.Drop()
	}
	t.code.Unsettled = false
	t.warn(run, transition)
}

// Terminate closes a run without asking its code. It has closed when Terminate returns nil.
func (s *Service) Terminate(ctx context.Context, workflowID string, runID history.RunID, reason string) error {
	if err := checkIDs(workflowID, runID); err != nil {
		return err
	}
	if err := checkReason(reason); err != nil {
		return err
	}
	return s.request(ctx, workflowID, func(ctx context.Context, t *session) error {
		run, err := t.openRun(ctx, runID)
		if run == nil {
			return err
		}
		end := history.Of(&history.WorkflowExecutionTerminated{Reason: reason})
		t.code.Drop()
		return t.sendThenPut(ctx, &change{run: run, commit: run.End(t.writer(), end)})
	})
}
