package turn

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// bringResult commits the result of an attempt: here, or through the workflow's queue (see handsOver). If the queue refuses it, it is
// committed here. A crash leaves the attempt's message, whose next delivery finds the result or makes the attempt again.
func (s *Service) bringResult(ctx context.Context, w *work, e history.Event, follows *continuation) error {
	for refused := false; ; refused = true {
		over, apart := false, false
		err := s.at(ctx, w.delivery.WorkflowID, func(ctx context.Context, t *session) error {
			over = false
			run, place, err := t.named(ctx, w.delivery.Message)
			if err != nil || place != inLog {
				return err
			}
			if !run.Needed(w.delivery.Message) {
				return t.repair(ctx, run, w.delivery.Message)
			}
			if over, apart = t.handsOver(run); over && (apart || !refused) {
				return nil
			}
			over, t.follows = false, follows
			return t.commitEvents(ctx, run, []history.Event{e}, w.delivery.Message)
		})
		if err != nil || !over {
			return err
		}
		if err := s.outbox.SendResult(ctx, handOverOf(w, e, 0)); err == nil || apart {
			return err
		}
	}
}

// handsOver reports whether the result of an activity goes through the workflow's queue: other activities are pending, and results that
// come together become one commit. apart says that it can go no other way, because this process has no code of the workflow: activities
// can be deployed apart, and the run may have been moved to another build.
func (t *session) handsOver(run *engine.Run) (over, apart bool) {
	apart = t.elsewhere(run) || t.registry.Workflow(run.State.Started.WorkflowType) == nil
	return apart || len(run.State.Activities) > 1, apart
}
