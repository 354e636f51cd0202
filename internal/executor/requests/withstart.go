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

// withStart is a start that comes with an update or a signal. It opens a run if no open run takes
// that.
type withStart struct {
	request *command.Start
	started *history.WorkflowExecutionStarted
	answer  schema.StartResponse
	// opened says that the run which the start opened is in the log.
	opened bool
}

func newWithStart(ctx context.Context, s *session.Process, c *command.Start) *withStart {
	return &withStart{request: c, started: starts.Event(ctx, s, c)}
}

// lookForStart reads whether an earlier attempt at this start opened the latest run.
func (w *withStart) lookForStart(ctx context.Context, t *session.Session, latest *engine.Run) (bool, error) {
	id, err := starts.LookForStart(ctx, t, latest, w.request)
	return id != "", err
}

// acquireWithStart is acquire for an update that may open its own run.
func (c *updateCall) acquireWithStart(ctx context.Context, start *command.Start) (work func(), err error) {
	w := newWithStart(ctx, c.process, start)
	t, err := c.process.OpenWithin(ctx, c.wait, c.workflowID)
	if err != nil {
		return nil, session.ErrWaited
	}
	t.Patience = c.wait
	return func() {
		defer c.outlive()
		end := c.process.World.Now().Add(c.process.Options.SoftLimit)
		err := c.process.Carry(ctx, t, end, func(ctx context.Context, t *session.Session) error { return updateWithStart(ctx, t, w, c) })
		switch {
		case err != nil && w.opened && (errors.Is(err, refusal.Busy) || errors.Is(err, refusal.TooLarge)):
			c.err = errOpened.By(refusal.CauseOf(err))
		case err != nil:
			c.err = err
		default:
			c.answer.Started = &w.answer.Started
		}
		c.returned = true
	}, nil
}

// errOpened says that the start of a request opened its run, and that its update was not carried
// out.
var errOpened = refusal.OutcomeUnknown.New("the workflow was started, and its update was not carried out in time: send the request again with the same ids")

// updateWithStart answers an update, after it has opened a run if necessary. If the update already
// has an outcome, or an open run has accepted it, that is the answer whatever the policies say.
func updateWithStart(ctx context.Context, t *session.Session, w *withStart, call *updateCall) error {
	if err := t.View.EnsureFresh(ctx); err != nil {
		return err
	}
	w.answer = schema.StartResponse{Started: w.opened}
	if w.opened { // a later step has lost a race
		return group{call}.try(ctx, t)
	}
	if latest := t.Run(); latest != nil {
		found, err := lookForTaker(ctx, t, w, latest, call.request.ID)
		if err != nil {
			return err
		}
		if found {
			if w.uses(latest) && w.request.RefusedUse() == nil {
				if err := starts.Subscribe(ctx, t, latest, w.request); err != nil {
					return err
				}
			}
			return group{call}.try(ctx, t)
		}
	}
	replaced, err := starts.CheckConflict(ctx, t, w.request, &w.answer)
	if err != nil {
		return err
	}
	call.answer, call.err = schema.UpdateResponse{UpdateID: call.request.ID}, nil
	if call.breaks(w.request.Code()) {
		w.answer = schema.StartResponse{}
		return nil
	}
	run, transition, err := commit.Open(ctx, t, replaced, &w.answer, engine.Task{InputEvents: starts.OpeningEvents(w.started, w.request), Updates: []engine.UpdateRequest{call.request}})
	if err != nil {
		return err
	}
	w.opened = true
	if transition.Failure == nil && (transition.Updates == nil || transition.ClosedBefore(0)) {
		return group{call}.try(ctx, t) // the first task waits, or did not reach the update
	}
	answer(t, run, call, transition, 0)
	return nil
}

// uses reports whether the start uses a run for its update, because it is open.
func (w *withStart) uses(latest *engine.Run) bool {
	return !latest.State.Status.Closed() && w.request.Conflict() == command.UseExisting
}

// lookForTaker reads whether an update opens no run. It opens none if this start has opened the
// latest run, or uses an open one, or if the update has an outcome already, at the latest run or at
// the one that it continues, or is in flight at an open one. A start that the contract does not
// have uses no open run, unless the update has arrived there before.
func lookForTaker(ctx context.Context, t *session.Session, w *withStart, latest *engine.Run, updateID string) (bool, error) {
	if same, err := w.lookForStart(ctx, t, latest); same || err != nil {
		return same, err
	}
	open, uses := !latest.State.Status.Closed(), w.uses(latest)
	if uses && w.request.RefusedUse() == nil {
		return true, nil
	}
	if _, admitted := latest.State.Admitted[updateID]; admitted && open {
		return true, nil
	}
	if known := latest.State.Updates[updateID]; known != nil {
		return known.Completed != nil || open, nil
	}
	before, err := t.View.Before(ctx, latest)
	if before == nil || err != nil {
		return false, err
	}
	known := before.State.Updates[updateID]
	return known != nil && (known.Completed != nil || uses), nil
}

// signalWithStart commits a signal to the open run, or opens one with it.
func signalWithStart(ctx context.Context, t *session.Session, w *withStart, requestID string, signal history.Event) error {
	if err := t.View.EnsureFresh(ctx); err != nil {
		return err
	}
	w.answer = schema.StartResponse{}
	if latest := t.Run(); latest != nil {
		w.answer.RunID = latest.State.RunID
		same, err := w.lookForStart(ctx, t, latest)
		if err != nil {
			return err
		}
		arrived, err := starts.LookForSignal(ctx, t, latest, requestID)
		open, refused := !latest.State.Status.Closed(), w.request.Refused()
		uses := open && w.request.Conflict() != command.TerminateExisting
		if uses {
			refused = w.request.RefusedUse()
		}
		switch {
		case err != nil || arrived:
			return err
		case !same && refused != nil:
			return refused
		case same && !open:
			return session.RunClosed(latest)
		case same || uses:
			if err := checkSignal(ctx, t, latest, signal); err != nil {
				return err
			}
			if err := starts.Subscribe(ctx, t, latest, w.request); err != nil {
				return err
			}
			return commit.Event(ctx, t, latest, signal)
		}
		w.answer = schema.StartResponse{}
	}
	replaced, err := starts.CheckConflict(ctx, t, w.request, &w.answer)
	if err != nil {
		return err
	}
	if err := takesSignal(t, w.request.Code(), signal); err != nil {
		return err
	}
	_, _, err = commit.Open(ctx, t, replaced, &w.answer, engine.Task{InputEvents: append(starts.OpeningEvents(w.started, w.request), signal), CheckSignals: true})
	return err
}
