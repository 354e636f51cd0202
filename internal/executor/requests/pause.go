package requests

import (
	"context"
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
	return s.steer(ctx, c, func(ctx context.Context, t *session.Session, run *engine.Run) error {
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
	return s.steer(ctx, c, func(ctx context.Context, t *session.Session, run *engine.Run) error {
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

// steer pauses or resumes a run, unless the same request did so before.
func (s *Steering) steer(ctx context.Context, c command.Pause, do func(context.Context, *session.Session, *engine.Run) error) (*schema.PauseResponse, error) {
	answer := &schema.PauseResponse{}
	err := s.Process.Request(ctx, c.Workflow(), func(ctx context.Context, t *session.Session) error {
		run, err := t.OpenRun(ctx, c.Run())
		if run == nil {
			return err
		}
		answer.RunID = run.State.RunID
		if run.State.Steered(c.RequestID()) {
			return t.RequireFresh(ctx, nil)
		}
		return do(ctx, t, run)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
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
