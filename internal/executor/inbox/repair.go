package inbox

import (
	"context"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// RepairForeignAt is RepairForeign, with the lock of the workflow.
func RepairForeignAt(ctx context.Context, s *session.Process, workflowID string, m *engine.Message) error {
	return s.At(ctx, workflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		return RepairForeign(ctx, t, m)
	})
}

// RepairForeign sends again what another workflow's commits owe that an earlier delivery of a
// message made. Those commits are in runs that were open since the message was sent. It reads only
// if the latest run began after that, or if the message has opened it.
func RepairForeign(ctx context.Context, t *session.Session, m *engine.Message) error {
	run := t.Run()
	if run == nil {
		return nil
	}
	trigger := Foreign(m)
	repair := func(run *engine.Run) error {
		owed, err := t.View.Owed(ctx, run, []*engine.Message{trigger}, nil)
		if err != nil {
			return err
		}
		if m.Kind == engine.StartOrCloseChild { // its handler notifies the parent itself
			owed = slices.DeleteFunc(owed, func(o engine.Message) bool { return o.Kind == engine.NotifyParent })
		}
		return t.Process.Outbox.Send(ctx, owed)
	}
	if err := repair(run); err != nil {
		return err
	}
	for {
		// A put that the message caused has closed the run before this one, by whatever clock.
		opened := slices.Contains(run.First().CausationIDs, m.CausationID)
		if !opened && run.State.StartTime.Add(host.ClockSkew) < m.Sent {
			return nil // it was open before the send, and no earlier run was
		}
		before, err := t.View.Previous(ctx, run)
		if before == nil || err != nil || !opened && before.State.CloseTime.Add(host.ClockSkew) < m.Sent {
			return err
		}
		if err := repair(before); err != nil {
			return err
		}
		run = before
	}
}

// Foreign returns a message as the trigger of a commit in another workflow's log. It clears Seen,
// which is a slot of the message's own log.
func Foreign(m *engine.Message) *engine.Message {
	other := *m
	other.Seen = 0
	return &other
}

// Repair sends again what the commits of a message's causation id schedule and what is still
// needed. An earlier delivery did what the message asks for, and may have died before it sent what
// follows.
func Repair(ctx context.Context, t *session.Session, run *engine.Run, m *engine.Message) error {
	return SendOwed(ctx, t, run, []*engine.Message{m})
}

// repairPast is Repair for a message of a run before the latest. An earlier delivery may have
// closed that run and died before it sent what follows, also in the run that the same put opened.
// The log says whether one did. That costs no read if the latest run continues the message's run,
// and otherwise a read of one commit.
func repairPast(ctx context.Context, t *session.Session, latest *engine.Run, m *engine.Message) error {
	// A run that a reset opened copies its start from the run that was reset: another put opened
	// it.
	if latest.State.Reset == nil && latest.State.Started.ContinuedFrom == m.RunID && !slices.Contains(latest.First().CausationIDs, m.CausationID) {
		return nil // the put that closed its run opened this one: and another message or a request caused it
	}
	if last, err := t.View.Reader.LastCommit(ctx, t.WorkflowID, m.RunID); err != nil || last != nil && last.Status.Closed() && !slices.Contains(last.CausationIDs, m.CausationID) {
		return err // another causation id closed the run, so it owes nothing to this one
	}
	run, err := t.View.Other(ctx, m.RunID)
	if err != nil {
		return err
	}
	if run == nil {
		return repairNext(ctx, t, latest, m)
	}
	if m.Seen >= run.State.NextSlot {
		return nil // the run had closed before the message was sent, and its messages were sent again then
	}
	if err := Repair(ctx, t, run, m); err != nil {
		return err
	}
	next := latest
	if id := run.State.Next(); id != latest.State.RunID {
		if id == "" {
			return nil
		}
		if next, err = t.View.Other(ctx, id); next == nil || err != nil {
			return err
		}
	}
	return repairNext(ctx, t, next, m)
}

// repairNext is Repair for a message of a run that another one continues. The put that closed the
// run also opened the next one, and its writer may have died before it sent what that run's first
// task schedules.
func repairNext(ctx context.Context, t *session.Session, next *engine.Run, m *engine.Message) error {
	if next.State.Started.ContinuedFrom != m.RunID {
		return nil
	}
	return t.Process.Outbox.Send(ctx, next.OwedFirst(m))
}

// SendOwed sends what a run owes because of these messages.
func SendOwed(ctx context.Context, t *session.Session, run *engine.Run, triggers []*engine.Message) error {
	owed, err := t.View.Owed(ctx, run, triggers, nil)
	if err != nil {
		return err
	}
	return t.Process.Outbox.Send(ctx, owed)
}
