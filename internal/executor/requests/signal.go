package requests

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/executor/starts"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Signal sends a signal to the latest run, to the one that runID pins, or to one that it opens. The
// signal is in the log when Signal returns nil, and the code has seen it unless the code fails.
func (s *Requests) Signal(ctx context.Context, c *command.Signal) (*schema.SignalResponse, error) {
	event := c.Event()
	signal := history.Of(&event)
	if c.Start() == nil {
		return &schema.SignalResponse{}, sendSignal(ctx, s.Process, c.Target, event.RequestID, signal)
	}
	w := newWithStart(ctx, s.Process, c.Start())
	err := s.Process.Request(ctx, c.Workflow(), func(ctx context.Context, t *session.Session) error {
		return signalWithStart(ctx, t, w, event.RequestID, signal)
	})
	return &schema.SignalResponse{RunID: w.answer.RunID, Started: &w.answer.Started}, err
}

func sendSignal(ctx context.Context, s *session.Process, to command.Target, requestID string, signal history.Event) error {
	return s.Request(ctx, to.Workflow(), func(ctx context.Context, t *session.Session) error {
		run, err := t.OpenRun(ctx, to.Run())
		switch {
		case errors.Is(err, refusal.NotFound):
			if arrived, lookErr := lookForSignal(ctx, t, to.Run(), requestID); arrived || lookErr != nil {
				return lookErr // it arrived before the run closed, and its answer was lost
			}
			return err
		case run == nil:
			return err
		case run.State.Signaled(requestID):
			return t.RequireFresh(ctx, nil)
		}
		if before, err := t.View.Before(ctx, run); err != nil || to.Run() == "" && before != nil && before.State.Signaled(requestID) {
			return err
		}
		if err := checkSignal(ctx, t, run, signal); err != nil {
			return err
		}
		return commit.Event(ctx, t, run, signal)
	})
}

// checkSignal refuses a signal that the contract of a run's code does not have. Nothing is written.
func checkSignal(ctx context.Context, t *session.Session, run *engine.Run, signal history.Event) error {
	if err := commit.CheckBuild(ctx, t, run); err != nil {
		return err
	}
	if err := takesSignal(t, session.TypeOf(t, run), signal); err != nil {
		return t.RequireFresh(ctx, err)
	}
	return nil
}

// takesSignal refuses a signal that the contract of code does not have.
func takesSignal(t *session.Session, code *engine.Workflow, signal history.Event) error {
	a := signal.Attributes.(*history.WorkflowExecutionSignaled)
	return session.Bounded(t.Process, command.Taken(code, engine.SignalName, a.SignalName), code, func(code *engine.Workflow) error { return command.CheckSignal(code, a) })
}

// lookForSignal reads whether a signal has arrived at a run that is not open: at the one that the
// caller pinned, or at the latest or the one that the latest continues.
func lookForSignal(ctx context.Context, t *session.Session, pinned history.RunID, requestID string) (bool, error) {
	run := t.Run()
	switch {
	case run == nil:
		return false, nil
	case pinned == "":
		return starts.LookForSignal(ctx, t, run, requestID)
	case pinned != run.State.RunID:
		var err error
		if run, err = t.View.Other(ctx, pinned); run == nil || err != nil {
			return false, err
		}
	}
	return run.State.Signaled(requestID), nil
}

// Cancel asks a run to end: its code's context is canceled. A run that has been asked is not asked
// again.
func (s *Requests) Cancel(ctx context.Context, end command.End) error {
	cancel := history.Of(&history.WorkflowExecutionCancelRequested{Reason: end.Reason()})
	return s.Process.Request(ctx, end.Workflow(), func(ctx context.Context, t *session.Session) error {
		run, err := t.OpenRun(ctx, end.Run())
		if run == nil {
			return err
		}
		if run.State.CancelRequested {
			return t.RequireFresh(ctx, nil)
		}
		return commit.Event(ctx, t, run, cancel)
	})
}

// Terminate closes a run without asking its code. It has closed when Terminate returns nil.
func (s *Requests) Terminate(ctx context.Context, end command.End) error {
	return s.Process.Request(ctx, end.Workflow(), func(ctx context.Context, t *session.Session) error {
		run, err := t.OpenRun(ctx, end.Run())
		if run == nil {
			return err
		}
		terminated := history.Of(&history.WorkflowExecutionTerminated{Reason: end.Reason()})
		t.Code.Drop()
		return t.Commit(ctx, []*session.Change{{Run: run, Commit: run.End(t.Writer(), terminated)}}, nil)
	})
}
