package activities

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// commitResult commits the result of an attempt here, with its last batch of items, or through the
// workflow's queue (goesThroughQueue), and then the items before. If the queue refuses it, it is
// committed here. After a crash, the next delivery of the attempt's message finds the result or
// makes the attempt again.
func commitResult(ctx context.Context, s *session.Process, w *Attempt, e history.Event, last *history.ActivityItemsPublished, follows *continuation) error {
	for refused := false; ; refused = true {
		over, queueOnly := false, false
		err := s.At(ctx, w.Delivery.WorkflowID, func(ctx context.Context, t *session.Session) error {
			over = false
			run, place, err := inbox.Locate(ctx, t, w.Delivery.Message)
			if err != nil || place != inbox.InLog {
				return err
			}
			if !run.Needed(w.Delivery.Message) {
				return inbox.Repair(ctx, t, run, w.Delivery.Message)
			}
			events, err := withLast(ctx, t, run, w, last, e)
			if err != nil {
				return err
			}
			if over, queueOnly = goesThroughQueue(ctx, t, run); over && (queueOnly || !refused) {
				return nil
			}
			over, t.Follows = false, follows
			return commit.Events(ctx, t, run, events, w.Delivery.Message)
		})
		if err != nil || !over {
			return err
		}
		if last != nil { // the workflow's queue takes results only
			if err := w.publisher.commit(ctx, last); err != nil {
				return err
			}
		}
		if err := s.Outbox.SendResult(ctx, endMessage(w, e, 0)); err == nil || queueOnly {
			return err
		}
	}
}

// goesThroughQueue reports whether the result of an activity goes through the workflow's queue. It
// does if other activities are pending, because concurrent results become one commit there.
// queueOnly is set if this process cannot run the workflow's code: activities can be deployed
// separately, and the run may have moved to another build.
func goesThroughQueue(ctx context.Context, t *session.Session, run *engine.Run) (over, queueOnly bool) {
	queueOnly = commit.IsPinnedElsewhere(t, run) || commit.IsOwnedElsewhere(ctx, t, run) || t.Process.Registry.Workflow(run.State.Started.WorkflowType) == nil
	return queueOnly || len(run.State.Activities) > 1, queueOnly
}
