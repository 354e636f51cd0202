package maintenance

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// orphan is an open run of which the slow check asks whether its parent has closed.
type orphan struct {
	run       openPart
	started   *history.WorkflowExecutionStarted
	startTime history.Timestamp
	asked     bool // to end
}

// lostCloseMessage returns the message that applies the close policy of a parent that closed long
// ago, if its child still runs: the parent's own message was lost. It returns nil if there is no
// such message, or if the parent has been deleted, because nobody knows the policy then.
func lostCloseMessage(ctx context.Context, s *session.Process, r *round, o orphan) (policy *engine.Message, err error) {
	if o.started == nil || o.started.Parent == nil {
		return nil, nil
	}
	parent := o.started.Parent
	err = s.At(ctx, parent.WorkflowID, func(ctx context.Context, t *session.Session) error {
		for id := parent.RunID; id != ""; {
			run, err := t.View.Other(ctx, id)
			if run == nil || err != nil {
				return err // it is open, or no longer there
			}
			if m := closeMessage(run, parent.InitiatedEventID); m != nil {
				if p := run.State.Children[m.EventID]; p.RequestID == o.started.RequestID && o.overdue(r, run, p) {
					policy = m
				}
				return nil
			}
			id = ""
			if end, ok := run.State.Close.(*history.WorkflowExecutionTerminated); ok && parent.InitiatedEventID < end.ResetEventID {
				id = end.NewRunID // the child belongs to that run
			}
		}
		return nil
	})
	return policy, err
}

// closeMessage returns the message for a child that was scheduled by the commit which closed a run.
// It returns nil if the child is not this run's, has ended, or is to outlive the run.
func closeMessage(run *engine.Run, child int64) *engine.Message {
	for _, m := range run.Messages(run.Last()) {
		if m.Kind == engine.StartOrCloseChild && m.EventID == child && run.Needed(&m) && run.State.Children[child].Policy != history.AbandonChild {
			return &m
		}
	}
	return nil
}

// overdue reports whether a child should have been ended long ago, and this round must end it. A
// child that was asked to end may take as long as it likes, and so may the run that continues it.
func (o orphan) overdue(r *round, parent *engine.Run, p *engine.PendingChild) bool {
	closed := parent.State.CloseTime
	if p.Policy == history.RequestCancelChild && (o.asked || o.startTime > closed) {
		return false
	}
	return r.reaches(closed, o.run)
}
