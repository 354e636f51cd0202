package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn/attempts"
	"github.com/seed-41655fb1/weft/internal/turn/outbox"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// heldFor is how long a record says that an attempt is held: until after its message has looked again.
const heldFor = 2 * outbox.ParkedFor

// hold keeps the message of an attempt that could not end in time where it is made: a deployment may allow it.
func (t *session) hold(ctx context.Context, run *engine.Run, w *work, longest time.Duration) error {
	a := w.activity
	t.options.Logger.ErrorContext(ctx, "an activity is held: an attempt may take longer than its function allows",
		"workflowId", t.workflowID, "runId", run.State.RunID, "eventId", a.EventID, "activityType", a.ActivityType, "taskQueue", a.TaskQueue,
		"startToClose", w.limit, "allowed", longest.Truncate(time.Second))
	return t.holdFor(ctx, run, w, fmt.Sprintf("an attempt may take %v, and the function that runs it allows %v: give the function a longer time-out, or reset the run and give the activity a shorter StartToClose",
		w.limit, longest.Truncate(time.Second)))
}

// holdFor keeps the message of an attempt that must not be made here, and looks again every few minutes. The activity does not fail.
// The reason is recorded for Describe. Each look costs two writes, a read and a message. A crash leaves the message, which is held again.
func (t *session) holdFor(ctx context.Context, run *engine.Run, w *work, reason string) error {
	m := w.delivery.Message
	if !w.looked {
		if done, err := t.recall(ctx, run, w); done || err != nil {
			return err
		}
		if w.interrupted {
			return errBegun
		}
	}
	held := attempts.Record{}
	if w.kept != nil {
		held = *w.kept
		if held.IsAhead(w.delivery.Message, w.number) {
			return errOther
		}
	}
	held.By, held.Look, held.Copy = m.Send, m.Look, m.Copy
	held.Held = reason
	held.HeldUntil = t.now().Add(heldFor)
	held.Number = max(attempts.Failed(w.number-1)+1, w.stored+1)
	if err := t.attempts.Keep(ctx, w.delivery.Message, w.activity.EventID, &held); err != nil && !errors.Is(err, store.ErrStale) { // stale: another delivery holds it
		return fmt.Errorf("%w: record that an attempt is held: %w", outcome.ErrBusy, err)
	}
	t.Observed().Observe(ctx, &observe.Held{Run: w.run, ActivityType: w.activity.ActivityType, EventID: w.activity.EventID})
	return t.outbox.Park(ctx, m)
}
