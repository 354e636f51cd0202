package session

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
)

// At carries out fn at a workflow's gate, again and again while it loses races.
func (s *Process) At(ctx context.Context, workflowID string, fn func(context.Context, *Session) error) error {
	t, err := s.Open(ctx, workflowID)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.Insist(ctx, fn)
}

// Request carries out fn at a workflow's gate: again and again while it loses races, until the soft limit. What fn wrote
// is in the log when request returns nil. The caller's going away does not stop it: its context only bounds the wait at
// the gate.
func (s *Process) Request(ctx context.Context, workflowID string, fn func(context.Context, *Session) error) error {
	end := s.World.Now().Add(s.Options.SoftLimit)
	t, err := s.OpenWithin(ctx, s.Options.SoftLimit, workflowID)
	if err != nil {
		return ErrWaited
	}
	return s.Carry(ctx, t, end, fn)
}

// Carry carries out fn in a session, which it closes. It goes on until end, but for leastTime at least, and for the soft limit at most. So a
// caller who has waited at the gate does not wait for as long again.
func (s *Process) Carry(ctx context.Context, t *Session, end time.Time, fn func(context.Context, *Session) error) error {
	defer t.Close()
	ctx, cancel := s.World.WithTimeout(context.WithoutCancel(ctx), min(max(end.Sub(s.World.Now()), LeastTime), s.Options.SoftLimit))
	defer cancel()
	err := t.Insist(ctx, fn)
	RecordRun(ctx, t)
	return Problem(t, err)
}

// LeastTime is how long a request may take that is to wait for nothing.
const LeastTime = time.Second

// Insist calls fn until it neither loses a race nor decides on old knowledge, or ctx ends.
func (t *Session) Insist(ctx context.Context, fn func(context.Context, *Session) error) error {
	var race contention
	end := t.World.Now().Add(t.Patience)
	for begun := t.World.Now(); ; {
		err := fn(ctx, t)
		switch {
		case errors.Is(err, outcome.ErrTooLarge):
			err = t.RequireFresh(ctx, err) // it writes nothing either
		case errors.Is(err, outcome.ErrDropped):
			err = t.RequireFresh(ctx, err) // nor does this
		}
		switch {
		case errors.Is(err, outcome.ErrStale) && ctx.Err() != nil:
			return outcome.ErrBusy
		case errors.Is(err, outcome.ErrStale):
			continue
		case !errors.Is(err, outcome.ErrLost):
			return err
		}
		now := t.World.Now()
		race.recordLoss(now.Sub(begun), t.Run(), t.View.Fresh)
		t.View.Fresh = false
		if !now.Before(end) || t.World.Wait(ctx, race.wait(t.World, end.Sub(now)), nil) != nil || ctx.Err() != nil {
			return outcome.ErrBusy
		}
		begun = t.World.Now()
		if err := t.View.Refresh(ctx); err != nil {
			return err
		}
	}
}

// RequireFresh returns err, which may be nil, as the answer if what is known was read in this session. Otherwise it reads, and
// has the caller look again: without a write, nothing else proves that what was known is current.
func (t *Session) RequireFresh(ctx context.Context, err error) error {
	if t.View.Fresh {
		return err
	}
	if err := t.View.Refresh(ctx); err != nil {
		return err
	}
	return outcome.ErrStale
}

// OpenRun returns the latest run if it is open, and is the one with the id that the caller pinned, if any.
func (t *Session) OpenRun(ctx context.Context, pinned history.RunID) (*engine.Run, error) {
	if err := t.View.EnsureLoaded(ctx); err != nil {
		return nil, err
	}
	run := t.Run()
	switch {
	case run == nil:
		return nil, t.RequireFresh(ctx, NoSuchWorkflow(t.WorkflowID))
	case pinned != "" && pinned != run.State.RunID:
		return nil, t.RequireFresh(ctx, NotLatest(t.WorkflowID, pinned))
	case run.State.Status.Closed():
		return nil, t.RequireFresh(ctx, RunClosed(run))
	}
	return run, nil
}

// NoSuchWorkflow returns the refusal of a request to a workflow that has no run.
func NoSuchWorkflow(workflowID string) error {
	return api.NotFound.New("there is no workflow %q", workflowID)
}

// NotLatest returns the refusal of a request that pins a run which is not the latest.
func NotLatest(workflowID string, runID history.RunID) error {
	return api.NotFound.New("run %q of workflow %q is not there, or is no longer its latest", runID, workflowID)
}

// RunClosed returns the refusal of a request that needs an open run.
func RunClosed(run *engine.Run) error {
	return api.NotFound.New("run %q of workflow %q has closed already: it is %s", run.State.RunID, run.WorkflowID, run.State.Status)
}

// logEnd is where a run's log ends.
type logEnd struct {
	run  history.RunID
	slot uint32
	last history.CommitID
}

// EndOf returns where a run's log ends as far as it is known. A nil run has no log.
func EndOf(run *engine.Run) (end logEnd) {
	if run == nil || run.Last() == nil {
		return end
	}
	return logEnd{run.State.RunID, run.State.NextSlot, run.Last().ID}
}

// RequireUnchanged makes sure that a verdict on the latest run holds now. The code came to it when the log ended at known; fresh says that this
// session had read the log by then. It returns outcome.ErrStale if the log has more by now. The session may have forgotten the run and read it anew,
// because code that hangs holds it.
func RequireUnchanged(ctx context.Context, t *Session, known logEnd, fresh bool) error {
	if fresh {
		return nil
	}
	if err := t.View.Refresh(ctx); err != nil {
		return err
	}
	if EndOf(t.Run()) != known {
		return outcome.ErrStale
	}
	return nil
}
