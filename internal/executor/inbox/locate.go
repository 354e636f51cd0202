package inbox

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// place says whether the commit that a message names is in the log.
type place uint8

const (
	// NotYet: its slot is empty.
	NotYet place = iota
	// InLog: it is in the log.
	InLog
	// never: its slot holds another commit, or can no longer be filled. Nobody acts on the message.
	Never
)

// Locate finds the commit that a message names, and the run that it is in.
func Locate(ctx context.Context, t *session.Session, m *engine.Message) (*engine.Run, place, error) {
	t.View.Expect = int(m.Slot)
	if err := t.View.EnsureLoaded(ctx); err != nil {
		return nil, NotYet, err
	}
	for {
		run, p := Find(t, m)
		if p == Never && run != nil && run.Number > m.RunID.Number() {
			return locatePast(ctx, t, run, m)
		}
		if p == InLog || t.View.Fresh {
			return run, p, nil
		}
		if err := t.View.Refresh(ctx); err != nil {
			return nil, NotYet, err
		}
	}
}

// Find is Locate without a read: it uses what the session knows.
func Find(t *session.Session, m *engine.Message) (*engine.Run, place) {
	run, number := t.Run(), m.RunID.Number()
	switch {
	case run == nil || run.Number < number:
		if t.View.IsMoot(number) {
			return nil, Never // a void run, or one that is gone
		}
		// The void run that the cache knows may have been deleted since. A start in progress may
		// take its number.
		return nil, NotYet
	case run.Number > number:
		return run, Never // an earlier run has closed, and what it waited for is moot; see locatePast
	case run.State.RunID != m.RunID:
		return nil, Never // the run was deleted, and another has its number now
	case m.Slot < run.State.NextSlot:
		if !run.Has(m.Slot, m.Commit) {
			return nil, Never
		}
		return run, InLog
	case run.State.Status.Closed():
		return nil, Never
	}
	return run, NotYet
}

// locatePast is Locate for a message of a run before the latest. Some of that run's messages
// outlive it: to its children, to its parent, and to other workflows.
func locatePast(ctx context.Context, t *session.Session, latest *engine.Run, m *engine.Message) (*engine.Run, place, error) {
	if err := repairPast(ctx, t, latest, m); err != nil {
		return latest, Never, err
	}
	switch m.Kind {
	case engine.StartOrCloseChild, engine.NotifyParent, engine.DeliverExternal, engine.NotifyCaller:
		run, err := t.View.Other(ctx, m.RunID)
		if err != nil || run == nil || !run.Has(m.Slot, m.Commit) {
			return latest, Never, err
		}
		return run, InLog, nil
	case engine.RunActivity, engine.FireTimer, engine.RetryTask, engine.EndRun, engine.TakeResult, engine.StartTask, engine.CloseActivity, engine.CloseAttempt:
		// are moot
	}
	return latest, Never, nil
}
