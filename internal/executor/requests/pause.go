package requests

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// paused refuses a request that needs the code of a paused run.
func paused(run *engine.Run) error {
	return refusal.Paused.New("run %q of workflow %q is paused since %s: resume it first",
		run.State.RunID, run.WorkflowID, run.State.Paused.Since.Time().Format(time.RFC3339))
}

// pausedBefore refuses a query of a paused run of which no task has succeeded: its code has not set
// its handlers.
func pausedBefore(run *engine.Run) error {
	if run.State.Pending != history.PendingPaused || run.State.Ran {
		return nil
	}
	return refusal.Paused.New("run %q of workflow %q is paused since %s, and none of its tasks has succeeded, so its code answers no queries: resume it first",
		run.State.RunID, run.WorkflowID, run.State.Paused.Since.Time().Format(time.RFC3339))
}

// Pause pauses an open run. From the moment at which it is in the log, no code of the run is run
// until the run is resumed, and no further attempt at an activity begins. Attempts that are in
// progress go on, and so do first attempts that begin at that moment. What arrives is recorded. The
// pause is in the log when Pause returns nil. A run that is paused already stays as it is.
func (s *Steering) Pause(ctx context.Context, c command.Pause) (*schema.PauseResponse, error) {
	pauses := history.Of(&history.WorkflowExecutionPaused{Reason: c.Reason(), RequestID: c.RequestID()})
	return s.steer(ctx, c, pauses.Type(), func(ctx context.Context, t *session.Session, run *engine.Run) error {
		switch {
		case run.State.Paused != nil:
			return t.RequireFresh(ctx, nil)
		case run.State.Pending == history.PendingStart:
			return t.RequireFresh(ctx, refusal.NothingToDo.New("run %q of workflow %q has not begun: cancel it, or pause it when it has", run.State.RunID, t.WorkflowID))
		}
		t.Code.Drop() // it has not seen the event
		return t.Commit(ctx, []*session.Change{{Run: run, Commit: run.Pause(t.Writer(), pauses)}}, nil)
	})
}

// Resume resumes a paused run: its code runs, and gets what has arrived since the pause. That is in
// the log when Resume returns nil. If the code fails, the run is resumed, and stuck.
func (s *Steering) Resume(ctx context.Context, c command.Pause) (*schema.PauseResponse, error) {
	resumes := history.Of(&history.WorkflowExecutionUnpaused{Reason: c.Reason(), RequestID: c.RequestID()})
	return s.steer(ctx, c, resumes.Type(), func(ctx context.Context, t *session.Session, run *engine.Run) error {
		if run.State.Paused == nil {
			return t.RequireFresh(ctx, refusal.NothingToDo.New("run %q of workflow %q is not paused", run.State.RunID, t.WorkflowID))
		}
		if err := commit.CheckBuild(ctx, t, run); err != nil {
			return err
		}
		if err := commit.Task(ctx, t, run, engine.Task{InputEvents: []history.Event{resumes}}); err != nil {
			return err
		}
		if err := beginHeld(ctx, t, run); err != nil { // they look again by themselves
			t.Process.Options.Logger.InfoContext(ctx, "activities that the pause has held begin within five minutes", "workflowId", t.WorkflowID, "runId", run.State.RunID, "error", err)
		}
		return nil
	})
}

// steer pauses or resumes a run with an event of a type, unless the same request did so before.
func (s *Steering) steer(ctx context.Context, c command.Pause, event history.Type, do func(context.Context, *session.Session, *engine.Run) error) (*schema.PauseResponse, error) {
	answer := &schema.PauseResponse{}
	err := s.Process.Request(ctx, c.Workflow(), func(ctx context.Context, t *session.Session) error {
		run, err := t.OpenRun(ctx, c.Run())
		switch {
		case run == nil && !errors.Is(err, refusal.NotFound):
			return err
		case run == nil:
		case run.State.Steered(event, c.RequestID()):
			answer.RunID = run.State.RunID
			return t.RequireFresh(ctx, nil)
		default:
			before, lookErr := continuedAfter(ctx, t, run, c, event)
			switch {
			case lookErr != nil:
				return lookErr
			case before != nil: // the request is sent again, and its run has continued since
				answer.RunID = before.State.RunID
				return nil
			}
			answer.RunID = run.State.RunID
			err = do(ctx, t, run)
		}
		if !errors.Is(err, refusal.NotFound) && !errors.Is(err, refusal.NothingToDo) {
			return err
		}
		steered, lookErr := steeredBefore(ctx, t, c, event)
		switch {
		case lookErr != nil:
			return lookErr
		case steered != nil: // the run has closed since, and the answer was lost
			answer.RunID = steered.State.RunID
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// steeredBefore returns the run that a request has paused or resumed before, which need not be
// open: the one that the request pins, or the latest or the one that the latest continues. It
// returns nil if there is none.
func steeredBefore(ctx context.Context, t *session.Session, c command.Pause, event history.Type) (*engine.Run, error) {
	run, err := t.Run(), error(nil)
	if pinned := c.Run(); run != nil && pinned != "" && pinned != run.State.RunID {
		run, err = t.View.Other(ctx, pinned)
	}
	if run == nil || err != nil || run.State.Steered(event, c.RequestID()) {
		return run, err
	}
	return continuedAfter(ctx, t, run, c, event)
}

// continuedAfter returns the run that another one continues, if a request has paused or resumed it
// before. It returns nil if the request pins a run, or has done nothing to that run.
func continuedAfter(ctx context.Context, t *session.Session, run *engine.Run, c command.Pause, event history.Type) (*engine.Run, error) {
	if c.Run() != "" {
		return nil, nil
	}
	before, err := t.View.Before(ctx, run)
	if before == nil || err != nil || !before.State.Steered(event, c.RequestID()) {
		return nil, err
	}
	return before, nil
}

// beginAtOnce is how many held activities a resumption begins. The others begin when they look
// again, within five minutes.
const beginAtOnce = 10

// beginHeld begins the attempts of a run now that its pause has held. The run has been resumed.
func beginHeld(ctx context.Context, t *session.Session, run *engine.Run) error {
	if len(run.State.Activities) == 0 || run.State.Status.Closed() || t.Run() != run {
		return nil
	}
	records, err := t.Process.Attempts.All(ctx, run)
	if err != nil {
		return err
	}
	begun := 0
	for _, event := range slices.Sorted(maps.Keys(records)) {
		kept := records[event]
		if run.State.Activities[event] == nil || kept.HeldNow(t.Process.Timestamp()) != activities.HeldByPause || begun == beginAtOnce {
			continue
		}
		m, err := messageOf(ctx, t, run, event, kept.LastFailed+1)
		if err != nil {
			return err
		}
		if err := recordProblem(activities.BeginNow(ctx, t.Process, run, m, kept)); err != nil {
			return err
		}
		begun++
	}
	return nil
}
