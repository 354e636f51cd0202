package deliveries

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/children"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// lookAgain is how long a message whose commit is not in the log is held before the next look, look by look. After the
// last a delayed copy takes its place.
var lookAgain = []time.Duration{20 * time.Millisecond, 80 * time.Millisecond, 200 * time.Millisecond}

// copyPart is the part of a message's age that a later copy waits, if that is longer. The number of copies grows with the logarithm of
// Grace: each copy that a queue delivers twice begins a chain of its own.
const copyPart = 4

// copyAfter returns the delay of the next copy of a message whose commit is not in the log. The age adds no delay that would put off the
// fence, or take the copy out of its queue. A message has a negative age if the clock was set back after it was sent: its copy waits
// until the clock is where it was, so that few copies are made until then.
func copyAfter(s *session.Process, age time.Duration) time.Duration {
	if age < 0 {
		return max(activities.CopyDelay, min(-age, s.Options.LongTimer))
	}
	return max(activities.CopyDelay, min(age/copyPart, s.Options.Grace-age, s.Options.LongTimer))
}

// Handle does what a message of the activity queue or the timer queue asks for. Where it returns nil the message is to be
// deleted: all that it set off is in the log, or on its way. Otherwise it is to be delivered again.
func (s *Deliveries) Handle(ctx context.Context, d inbox.Delivery) error {
	ctx, ended := s.Metered(ctx)
	defer ended()
	ctx, cancel := s.World.WithTimeout(ctx, s.Options.SoftLimit)
	defer cancel()
	for look := 0; ; look++ {
		found, err := handleNamed(ctx, s.Process, d)
		if errors.Is(err, outcome.ErrDropped) {
			return activities.Dropped(context.WithoutCancel(ctx), s.Process, d.Message)
		}
		if found || err != nil {
			return err
		}
		age := s.Timestamp().Sub(d.Sent)
		if age >= s.Options.Grace {
			fenced, err := fence(ctx, s.Process, d.Message)
			if fenced || err != nil {
				return err
			}
			continue // what stands in the slot decides
		}
		if look == len(lookAgain) {
			return s.Outbox.SendLater(ctx, d.Message, copyAfter(s.Process, age))
		}
		if err := s.World.Wait(ctx, lookAgain[look], nil); err != nil {
			return err
		}
	}
}

// handleNamed does what a message asks for if the commit that it names is in the log. found is false where it is not
// there yet, and may still come.
func handleNamed(ctx context.Context, s *session.Process, d inbox.Delivery) (found bool, err error) {
	m := *d.Message // which is the sender's as well, or another delivery's
	d.Message = &m
	switch d.Kind {
	case engine.RunActivity:
		return activities.Handle(ctx, s, d)
	case engine.StartOrCloseChild:
		return children.AfterEnd(ctx, s, d.Message, children.StartOrClose)
	case engine.NotifyParent:
		return children.NotifyParent(ctx, s, d.Message)
	case engine.DeliverExternal:
		return children.AfterEnd(ctx, s, d.Message, children.DeliverExternal)
	case engine.FireTimer, engine.RetryTask, engine.EndRun, engine.TakeResult, engine.StartTask, engine.CloseActivity, engine.CloseAttempt: // see act
	}
	err = s.At(ctx, d.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, d.Message)
		found = place != inbox.NotYet
		if err != nil || place != inbox.InLog {
			return err
		}
		return act(ctx, t, run, d.Message)
	})
	return found, err
}

// fence puts an empty commit into the slot that a message names, so that the commit which should have stood there can
// never land: its writer has died, or sleeps. It reports false where something stands there already. A crash here leaves
// the message, and the fence if it landed; both are found again.
func fence(ctx context.Context, s *session.Process, m *engine.Message) (fenced bool, err error) {
	err = s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, m)
		fenced = err == nil && place == inbox.NotYet
		if !fenced {
			return err
		}
		if run == nil {
			if m.Slot != 0 && t.View.Highest == 0 {
				return nil // of a run that has been deleted: one that opens with several commits goes on from another, which would be here
			}
			// Its first slot is fenced, whichever slot the message names: who is to put the run puts that one, or has put it before.
			run = engine.NewRun(m.WorkflowID, m.RunID.Number())
		} else if m.Slot != run.State.NextSlot {
			return nil
		}
		w := t.Writer(m)
		w.RunID = m.RunID
		c := run.Fence(w)
		if c.Status == history.Void {
			c.Expires = w.Now.Add(t.Keep(0))
		}
		t.Options.Logger.WarnContext(ctx, "fenced a slot whose writer did not come", "workflowId", m.WorkflowID, "run", m.RunID, "slot", m.Slot)
		return putFence(ctx, t, run, c)
	})
	return fenced, err
}

// putFence puts a fence. Where the slot has been taken meanwhile, the message is looked at again.
func putFence(ctx context.Context, t *session.Session, run *engine.Run, c *history.Commit) error {
	t.Code.Drop()
	ch := &session.Change{Run: run, Commit: c}
	if err := t.Encode([]*session.Change{ch}); err != nil {
		return err
	}
	return t.Put(ctx, []*session.Change{ch})
}

// act does what a message asks for whose commit is in the log.
func act(ctx context.Context, t *session.Session, run *engine.Run, m *engine.Message) error {
	if !run.Needed(m) {
		return inbox.Repair(ctx, t, run, m)
	}
	if early := m.Due.Sub(t.Timestamp()); m.Due != 0 && early > 0 {
		return t.Outbox.SendBack(ctx, m)
	}
	if m.Kind != engine.EndRun {
		if err := commit.CheckBuild(ctx, t, run); err != nil {
			return err
		}
	}
	switch m.Kind {
	case engine.FireTimer:
		return commit.Events(ctx, t, run, []history.Event{history.Of(&history.TimerFired{StartedEventID: m.EventID})}, m)
	case engine.CloseActivity:
		f := runner.TimedOut(failure.ScheduleToClose, "its time was over", nil)
		return commit.Events(ctx, t, run, []history.Event{history.Of(&history.ActivityTaskTimedOut{ScheduledEventID: m.EventID, Failure: f})}, m)
	case engine.CloseAttempt:
		return activities.CloseAttempt(ctx, t, run, m)
	case engine.StartTask:
		return commit.Task(ctx, t, run, engine.Task{First: true}, m)
	case engine.RetryTask:
		return retryTask(ctx, t, run, m)
	case engine.EndRun:
		t.Code.Drop()
		return commit.Transition(ctx, t, run, run.TimeOut(t.Writer(m)), m)
	case engine.TakeResult:
		return commit.Events(ctx, t, run, run.Awaited(*m.Result), m)
	case engine.RunActivity, engine.StartOrCloseChild, engine.NotifyParent, engine.DeliverExternal: // see handleNamed
	}
	return nil
}

// HungRetry is the longest delay between two looks at a run whose code hangs.
const HungRetry = time.Minute

// retryTask is the next attempt at a task that failed. One that fails again sends the message of the one after it before
// its own is deleted, so the chain never ends, and there is one: a later commit ends it.
func retryTask(ctx context.Context, t *session.Session, run *engine.Run, m *engine.Message) error {
	task := engine.Task{Attempt: m.Attempt}
	transition, err := t.Step(ctx, run, task, m)
	if err != nil {
		return err
	}
	if transition.Commit != nil {
		err := commit.Transition(ctx, t, run, transition, m)
		if !errors.Is(err, outcome.ErrTooLarge) {
			return err
		}
		transition = commit.FailTooLarge(ctx, t, run, task, m)
	}
	t.Discard()
	next := *m
	next.Attempt++
	delay := engine.TaskRetryDelay(m.Attempt)
	if t.Runner.Blocked(t.WorkflowID, run.State.RunID) != nil {
		delay = min(delay, HungRetry) // the code may come back at any moment
	}
	next.Due, next.Sent = t.Timestamp().Add(delay), 0
	return activities.NextAttempt(ctx, t.Process, m, run.State.LastTask.TaskScheduledID(), next, transition.Failure)
}

// Deliveries handles the messages of the queues.
type Deliveries struct{ *session.Process }
