package requests

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Retry retries the failed task of a run now. The task has succeeded when Retry returns nil, and
// what it did is in the log. If its code fails again, Retry writes nothing, and returns a refusal
// with the failure. The message that retries the task later stays: after this commit it has nothing
// to do.
//
// The updates that a run has refused because its code failed are not in the log. So Retry replays
// such a run, and runs a task without updates. If the code does not fail, that task is committed,
// and the run is no longer stuck.
func (s *Steering) Retry(ctx context.Context, of command.Target) (*schema.RetryResponse, error) {
	answer := &schema.RetryResponse{}
	var stuck history.RunID // the run that this request has found stuck
	err := s.Process.Request(ctx, of.Workflow(), func(ctx context.Context, t *session.Session) error {
		run, err := t.OpenRun(ctx, of.Run())
		if run == nil {
			return err
		}
		answer.RunID = run.State.RunID
		switch {
		case run.State.Paused != nil:
			return t.RequireFresh(ctx, paused(run))
		case run.State.Streak == nil && stuck == run.State.RunID:
			return t.RequireFresh(ctx, nil) // another has retried the task meanwhile
		case run.State.Refused() != nil && run.State.Pending == history.PendingStart:
			return t.RequireFresh(ctx, refusal.NothingToDo.New("run %q of workflow %q has refused an update because its code failed, and has not begun: its first task shows whether the code works", run.State.RunID, t.WorkflowID))
		case run.State.Streak == nil:
			return t.RequireFresh(ctx, refusal.NothingToDo.New("run %q of workflow %q is not stuck: its last task has not failed, or was retried with success", run.State.RunID, t.WorkflowID))
		}
		stuck = run.State.RunID
		if err := commit.CheckBuild(ctx, t, run); err != nil {
			return err
		}
		return retryTask(ctx, t, run)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// retryTask runs the failed task of a run once more, or a task without updates if the run has
// refused some. It commits the task if its code does not fail.
func retryTask(ctx context.Context, t *session.Session, run *engine.Run) error {
	attempt, err := nextAttempt(ctx, t, run)
	if err != nil {
		return err
	}
	known, fresh := session.EndOf(run), t.View.Fresh
	task := engine.Task{Attempt: attempt, Confirm: run.State.Refused() != nil}
	transition, err := t.Step(ctx, run, task)
	if err != nil {
		return err
	}
	f := transition.Failure
	if transition.Commit != nil {
		err := commit.Transition(ctx, t, run, transition)
		if !errors.Is(err, outcome.ErrTooLarge) {
			return err
		}
		f = commit.FailTooLarge(ctx, t, run, task).Failure
	}
	t.Discard()
	if err := session.RequireUnchanged(ctx, t, known, fresh); err != nil {
		return err
	}
	return notReady(f)
}

// retryAtOnce is how many activities RetryAll retries.
const retryAtOnce = 100

// RetryAll retries now what a run retries by itself later: its failed task, as Retry does, and each
// activity that waits for its next attempt, as RetryActivity does. It refuses a run that has
// neither. It begins the attempts of retryAtOnce activities, and returns refusal.Busy if more wait:
// a further call begins those of the others. If the run's code fails, the activities are retried
// nevertheless.
//
// It costs what Retry does; a read of the records of attempts if activities are pending; and a
// write and a message for each activity that waits.
func (s *Steering) RetryAll(ctx context.Context, of command.Target) error {
	_, err := s.Retry(ctx, of)
	if err != nil && !errors.Is(err, refusal.NothingToDo) && !errors.Is(err, refusal.NotReady) {
		return err
	}
	begun, left, failed := s.retryActivities(ctx, of)
	switch {
	case failed != nil && !errors.Is(failed, refusal.NotFound):
		return failed
	case left > 0:
		return refusal.Busy.New("%d activities of the run begin their next attempts now, and %d more wait for theirs: retry it again for those", begun, left)
	case begun > 0 && errors.Is(err, refusal.NothingToDo):
		return nil
	}
	return err
}

// retryActivities begins the next attempts now of the activities of a run that wait for them. It
// returns how many it has begun, and how many more wait. The process has just read the log.
func (s *Steering) retryActivities(ctx context.Context, of command.Target) (begun, left int, err error) {
	err = s.Process.Request(ctx, of.Workflow(), func(ctx context.Context, t *session.Session) error {
		run, err := t.OpenRun(ctx, of.Run())
		if run == nil || len(run.State.Activities) == 0 || run.State.Paused != nil {
			return err
		}
		records, err := t.Process.Attempts.All(ctx, run)
		if err != nil {
			return err
		}
		left = 0
		byDue := slices.SortedFunc(maps.Keys(records), func(a, b int64) int { // those that have failed again just now come last
			return cmp.Or(cmp.Compare(records[a].Next, records[b].Next), cmp.Compare(a, b))
		})
		for _, event := range byDue {
			kept := records[event]
			switch {
			case run.State.Activities[event] == nil || activities.NotBackingOff(kept, t.Process.Timestamp()) != "":
				continue
			case begun == retryAtOnce:
				left++
				continue
			}
			m, err := messageOf(ctx, t, run, event, kept.LastFailed+1)
			if err == nil {
				err = recordProblem(activities.BeginNow(ctx, t.Process, run, m, kept))
			}
			if err != nil {
				return err
			}
			begun++
		}
		return nil
	})
	return begun, left, err
}

// nextAttempt returns the number of the next attempt at the task of a run, or 0 if the task has not
// failed. The commit of that attempt has the number, so that the log says how many have failed. The
// record of the failed attempts has it, which nextAttempt reads if the second attempt has been due.
func nextAttempt(ctx context.Context, t *session.Session, run *engine.Run) (int, error) {
	if run.State.Stuck() == nil {
		return 0, nil
	}
	failed := run.State.LastTask
	first := failed.Task.Attempt
	if t.Process.Timestamp() < failed.Time.Add(engine.TaskRetryDelay(first)) {
		return first + 1, nil
	}
	kept, err := t.Process.Attempts.Of(ctx, run, failed.TaskScheduledID())
	switch {
	case err != nil:
		return 0, err
	case kept == nil:
		return first + 1, nil
	}
	return max(kept.LastFailed, first) + 1, nil
}

// RetryActivity begins the next attempt at an activity now that waits for it. A message for that
// attempt is sent when RetryActivity returns nil.
func (s *Steering) RetryActivity(ctx context.Context, c command.Activity) (*schema.RetryActivityResponse, error) {
	answer := &schema.RetryActivityResponse{}
	err := s.Process.Request(ctx, c.Workflow(), func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		run, err := t.OpenRun(ctx, c.Run())
		if run == nil {
			return err
		}
		if run.State.Activities[c.Event()] == nil {
			return noActivity(ctx, t, run, c.Event())
		}
		if run.State.Paused != nil {
			return paused(run)
		}
		kept, err := t.Process.Attempts.Of(ctx, run, c.Event())
		if err != nil {
			return err
		}
		if why := activities.NotBackingOff(kept, t.Process.Timestamp()); why != "" {
			return refusal.NothingToDo.New("the activity of event %d does not wait for a retry: %s", c.Event(), why)
		}
		m, err := messageOf(ctx, t, run, c.Event(), kept.LastFailed+1)
		if err != nil {
			return err
		}
		answer.RunID, answer.Attempt = run.State.RunID, m.Attempt
		return recordProblem(activities.BeginNow(ctx, t.Process, run, m, kept))
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// noActivity refuses a request for an activity that is not pending: it has ended, or there is none.
// The session has read the log.
func noActivity(ctx context.Context, t *session.Session, run *engine.Run, event int64) error {
	command, err := t.View.Command(ctx, run, event)
	switch {
	case err != nil:
		return err
	case history.InitiatedBy(command).Activity == nil:
		return refusal.NotFound.New("event %d of run %q is not an activity: give the eventId of a pending activity, which the run's description has", event, run.State.RunID)
	case run.State.Status.Closed():
		return refusal.ActivityEnded.New("run %q of workflow %q has closed: it is %s", run.State.RunID, t.WorkflowID, run.State.Status)
	}
	return refusal.ActivityEnded.New("the activity of event %d has ended: its history says how", event)
}
