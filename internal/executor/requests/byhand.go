package requests

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// EndByHand ends a pending activity with what an operator says, whatever its retry policy says. The
// end is in the log when EndByHand returns nil, and the code has seen it unless the code fails. The
// same request again finds that, and says so.
//
// A result of an activity of Weft's own is refused. Otherwise a batch would act on runs of the
// caller's choice: the result of its step has the runs that are left.
//
// An attempt that is in progress is not stopped: its result is dropped, and its next heartbeat says
// that nobody waits for it.
func (s *Steering) EndByHand(ctx context.Context, c *command.ByHand) (*schema.ByHandResponse, error) {
	answer := &schema.ByHandResponse{}
	err := s.Process.Request(ctx, c.Workflow(), func(ctx context.Context, t *session.Session) error {
		*answer = schema.ByHandResponse{}
		run, err := runOf(ctx, t, c.Run())
		if err != nil {
			return err
		}
		if run.State.Status.Closed() || run.State.Activities[c.Event()] == nil {
			answer.Repeated, err = endedByHand(ctx, t, run, c)
			return err
		}
		activityType := run.State.Activities[c.Event()].ActivityType
		if c.Failure() == nil && engine.OwnType(activityType) {
			return refusal.Invalid.New("activity type %q is one of Weft's own, whose results only it knows: fail the activity, or stop its workflow", activityType)
		}
		if err := checkResult(ctx, t, run, activityType, c.Result(), c.Failure()); err != nil {
			return err
		}
		kept, err := t.Process.Attempts.Of(ctx, run, c.Event())
		if err != nil {
			return err
		}
		attempt := 1
		if kept != nil {
			attempt = kept.LastFailed + 1
		}
		answer.MayRun = activities.MayRun(kept, t.Process.Timestamp())
		return commit.Event(ctx, t, run, byHand(c, attempt))
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// byHand returns the event that ends an activity by hand.
func byHand(c *command.ByHand, attempt int) history.Event {
	if f := c.Failure(); f != nil {
		return history.Of(&history.ActivityTaskFailed{ScheduledEventID: c.Event(), Failure: f, Attempt: attempt, ByHand: c.Reason()})
	}
	return history.Of(&history.ActivityTaskCompleted{ScheduledEventID: c.Event(), Result: c.Result(), Attempt: attempt, ByHand: c.Reason()})
}

// endedByHand reports whether an activity that is not pending was ended by the same request before.
// It returns a refusal if it was not. Neither depends on what this process knew before.
func endedByHand(ctx context.Context, t *session.Session, run *engine.Run, c *command.ByHand) (bool, error) {
	if err := t.RequireFresh(ctx, nil); err != nil {
		return false, err
	}
	repeated, err := lookForEnd(ctx, t, run, c.Event(), func(e history.Event) bool { return sameByHand(e, c) })
	if repeated || err != nil {
		return repeated, err
	}
	return false, noActivity(ctx, t, run, c.Event())
}

// sameByHand reports whether an event is the one by which this request ends its activity.
func sameByHand(e history.Event, c *command.ByHand) bool {
	switch a := e.Attributes.(type) {
	case *history.ActivityTaskCompleted:
		return c.Failure() == nil && a.ByHand == c.Reason() && string(a.Result) == string(c.Result())
	case *history.ActivityTaskFailed:
		return c.Failure() != nil && a.ByHand == c.Reason() && c.Failure().Same(a.Failure)
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // an operator ends no activity with it
	}
	return false
}
