package deliveries

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/children"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/notify"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// lookAgain has the delays between reads for a message whose commit is not in the log. After the
// last, a delayed copy replaces the message.
var lookAgain = []time.Duration{20 * time.Millisecond, 80 * time.Millisecond, 200 * time.Millisecond}

// copyPart is the fraction of a message's age that a later copy waits, if that is longer. The
// number of copies grows with the logarithm of Grace: each copy that a queue delivers twice begins
// a chain of its own.
const copyPart = 4

// copyAfter returns the delay of the next copy of a message whose commit is not in the log. The age
// never adds a delay that would postpone the fence, or move the copy out of its queue. A message
// has a negative age if the clock was set back after it was sent. Its copy then waits until the
// clock has caught up, so that few copies are sent until then.
func copyAfter(s *session.Process, age time.Duration) time.Duration {
	if age < 0 {
		return max(activities.CopyDelay, min(-age, s.Options.LongTimer))
	}
	return max(activities.CopyDelay, min(age/copyPart, s.Options.Grace-age, s.Options.LongTimer))
}

// Handle does what a message of the activity queue or the timer queue asks for. If it returns nil,
// the message may be deleted: everything that it triggered is in the log or sent. Otherwise it is
// to be redelivered.
func (s *Deliveries) Handle(ctx context.Context, d inbox.Delivery) error {
	ctx, ended := s.Process.Metered(ctx)
	defer ended()
	ctx, cancel := s.Process.World.WithTimeout(ctx, s.Process.Options.SoftLimit)
	defer cancel()
	for look := 0; ; look++ {
		found, err := handleNamed(ctx, s.Process, d)
		if errors.Is(err, outcome.ErrDropped) {
			return activities.Dropped(context.WithoutCancel(ctx), s.Process, d.Message)
		}
		if found || err != nil {
			return err
		}
		age := s.Process.Timestamp().Sub(d.Sent)
		if age >= s.Process.Options.Grace {
			fenced, err := fence(ctx, s.Process, d.Message)
			if fenced || err != nil {
				return err
			}
			continue // what stands in the slot decides
		}
		if look == len(lookAgain) {
			return s.Process.Outbox.SendLater(ctx, d.Message, copyAfter(s.Process, age))
		}
		if err := s.Process.World.Wait(ctx, lookAgain[look], nil); err != nil {
			return err
		}
	}
}

// handleNamed does what a message asks for if the commit that it names is in the log. found is
// false if the commit is not there yet and may still arrive.
func handleNamed(ctx context.Context, s *session.Process, d inbox.Delivery) (found bool, err error) {
	m := *d.Message // the sender or another delivery may share it
	d.Message = &m
	switch d.Kind {
	case engine.RunActivity:
		return activities.Handle(ctx, s, d)
	case engine.StartOrCloseChild:
		return children.AfterEnd(ctx, s, d.Message, children.StartOrClose)
	case engine.NotifyParent:
		return children.NotifyParent(ctx, s, d.Message)
	case engine.NotifyCaller:
		return notify.Caller(ctx, s, d.Message)
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

// fence puts an empty commit into the slot that a message names. The missing commit can then never
// land: its writer has died or stalled. fence returns false if the slot is taken. A crash here
// leaves the message, and the fence if it landed. The next delivery finds both.
func fence(ctx context.Context, s *session.Process, m *engine.Message) (fenced bool, err error) {
	err = s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, m)
		fenced = err == nil && place == inbox.NotYet
		if !fenced {
			return err
		}
		if run == nil {
			if m.Slot != 0 && t.View.Known.Highest == 0 {
				return nil // the run was deleted: a run that opens with several commits continues another, which would be here
			}
			// The first slot is fenced, whichever slot the message names: the writer of the run
			// puts that slot first.
			run = engine.NewRun(m.WorkflowID, m.RunID.Number())
		} else if m.Slot != run.State.NextSlot {
			return nil
		}
		w := t.Writer(m)
		w.RunID = m.RunID
		c := run.Fence(w)
		if c.Status == history.Void {
			c.Expires = w.Now.Add(t.Process.Keep(0))
		}
		t.Process.Options.Logger.WarnContext(ctx, "fenced a slot whose writer did not come", "workflowId", m.WorkflowID, "run", m.RunID, "slot", m.Slot)
		return putFence(ctx, t, run, c)
	})
	return fenced, err
}

// putFence puts a fence. If the slot has been taken meanwhile, the message is handled again.
func putFence(ctx context.Context, t *session.Session, run *engine.Run, c *history.Commit) error {
	t.Code.Drop()
	ch := &session.Change{Run: run, Commit: c}
	if err := t.Encode([]*session.Change{ch}); err != nil {
		return err
	}
	return t.Put(ctx, []*session.Change{ch})
}

// act does what a message asks for if the message's commit is in the log.
func act(ctx context.Context, t *session.Session, run *engine.Run, m *engine.Message) error {
	if !run.Needed(m) {
		return inbox.Repair(ctx, t, run, m)
	}
	if early := m.Due.Sub(t.Process.Timestamp()); m.Due != 0 && early > 0 {
		return t.Process.Outbox.SendBack(ctx, m)
	}
	if m.Kind != engine.EndRun && run.State.Paused == nil {
		if err := commit.CheckBuild(ctx, t, run); err != nil {
			return err
		}
	}
	switch m.Kind {
	case engine.FireTimer:
		return commit.Events(ctx, t, run, []history.Event{history.Of(&history.TimerFired{StartedEventID: m.EventID})}, m)
	case engine.CloseActivity:
		return activities.CloseActivity(ctx, t, run, m)
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
		if run.Overtaken(m) {
			again, err := activities.AttemptAgain(ctx, t, run, m)
			if err != nil {
				return err
			}
			return again.Send(ctx, t.Process)
		}
		return commit.Events(ctx, t, run, run.Awaited(*m.Result), m)
	case engine.RunActivity, engine.StartOrCloseChild, engine.NotifyParent, engine.DeliverExternal, engine.NotifyCaller: // see handleNamed
	}
	return nil
}

// retryTask makes the next attempt at a failed task. If it fails again, it sends the message of the
// next attempt before its own is deleted, so the chain never breaks. It is one chain: a later
// commit ends it.
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
	next.Due, next.Sent = t.Process.Timestamp().Add(t.Process.Runner.RetryDelay(t.WorkflowID, run.State.RunID, m.Attempt)), 0
	return activities.NextAttempt(ctx, t.Process, m, run.State.LastTask.TaskScheduledID(), next, transition.Failure)
}

// Deliveries handles the messages of the queues.
type Deliveries struct{ Process *session.Process }
