package session

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// At calls fn with a workflow's lock, again and again while it loses races.
func (s *Process) At(ctx context.Context, workflowID string, fn func(context.Context, *Session) error) error {
	t, err := s.Open(ctx, workflowID)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.Insist(ctx, fn)
}

// Request calls fn with a workflow's lock, again and again while it loses races, until the soft
// limit. What fn wrote is in the log when Request returns nil. If the caller leaves, that does not
// stop fn: the caller's context only bounds the wait for the lock.
func (s *Process) Request(ctx context.Context, workflowID string, fn func(context.Context, *Session) error) error {
	end := s.World.Now().Add(s.Options.SoftLimit)
	t, err := s.OpenWithin(ctx, s.Options.SoftLimit, workflowID)
	if err != nil {
		return ErrWaited
	}
	return s.Carry(ctx, t, end, fn)
}

// Carry calls fn in a session, and closes the session. It continues until end, but for LeastTime at
// least and the soft limit at most. So a caller who has waited for the lock does not wait for as
// long again.
func (s *Process) Carry(ctx context.Context, t *Session, end time.Time, fn func(context.Context, *Session) error) error {
	defer t.Close()
	ctx, cancel := s.World.WithTimeout(context.WithoutCancel(ctx), min(max(end.Sub(s.World.Now()), LeastTime), s.Options.SoftLimit))
	defer cancel()
	err := t.Insist(ctx, fn)
	RecordRun(ctx, t)
	return Problem(t, err)
}

// LeastTime is how long a request may take that must not wait.
const LeastTime = time.Second

// Insist calls fn until it neither loses a race nor decides on outdated knowledge, or until ctx
// ends.
func (t *Session) Insist(ctx context.Context, fn func(context.Context, *Session) error) error {
	var race contention
	end := t.Process.World.Now().Add(t.Patience)
	for begun := t.Process.World.Now(); ; {
		err := fn(ctx, t)
		if errors.Is(err, outcome.ErrTooLarge) || errors.Is(err, outcome.ErrDropped) {
			err = t.RequireFresh(ctx, err) // it wrote nothing
		}
		switch {
		case errors.Is(err, outcome.ErrStale) && ctx.Err() != nil:
			return outcome.OfContention()
		case errors.Is(err, outcome.ErrStale):
			continue
		case !errors.Is(err, outcome.ErrLost):
			return err
		}
		now := t.Process.World.Now()
		race.recordLoss(now.Sub(begun), t.Run(), t.View.Fresh)
		t.View.Fresh = false
		if !now.Before(end) || t.Process.World.Wait(ctx, race.wait(t.Process.World, end.Sub(now)), nil) != nil || ctx.Err() != nil {
			return outcome.OfContention()
		}
		begun = t.Process.World.Now()
		if err := t.View.Refresh(ctx); err != nil {
			return err
		}
	}
}

// RequireFresh returns err, which may be nil, if this session has read the log. Otherwise it reads,
// and returns outcome.ErrStale so that the caller looks again: without a write, nothing else proves
// that the knowledge was current.
func (t *Session) RequireFresh(ctx context.Context, err error) error {
	if t.View.Fresh {
		return err
	}
	if err := t.View.Refresh(ctx); err != nil {
		return err
	}
	return outcome.ErrStale
}

// TypeOf returns the workflow type of a run, or nil if this process does not have it.
func TypeOf(t *Session, run *engine.Run) *engine.Workflow {
	return t.Process.Registry.Workflow(run.State.Started.WorkflowType)
}

// OpenRun returns the latest run. It fails if that run is not open, or is not the one that the
// caller pinned.
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
	return refusal.NotFound.New("there is no workflow %q", workflowID)
}

// NotLatest returns the refusal of a request that pins a run which is not the latest.
func NotLatest(workflowID string, runID history.RunID) error {
	return refusal.NotFound.New("run %q of workflow %q is not there, or is no longer its latest", runID, workflowID)
}

// RunClosed returns the refusal of a request that needs an open run.
func RunClosed(run *engine.Run) error {
	return refusal.NotFound.New("run %q of workflow %q has closed already: it is %s", run.State.RunID, run.WorkflowID, run.State.Status)
}

// logEnd is where a run's log ends.
type logEnd struct {
	run  history.RunID
	slot uint32
	last history.CommitID
}

// EndOf returns where a run's log ends, as far as that is known. A nil run has no log.
func EndOf(run *engine.Run) (end logEnd) {
	if run == nil || run.Last() == nil {
		return end
	}
	return logEnd{run.State.RunID, run.State.NextSlot, run.Last().ID}
}

// RequireUnchanged makes sure that a verdict on the latest run holds now. The code decided when the
// log ended at known. fresh says that this session had read the log by then. It returns
// outcome.ErrStale if the log has grown. If code that hangs holds the run, the session may have
// forgotten the run and read it again.
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
