package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/store"
)

// heldFor is how long a record says that an attempt is held: longer than its message takes to check
// again.
const heldFor = 2 * outbox.ParkedFor

// hold keeps the message of an attempt that could not finish in time in this function: a new
// deployment may allow it.
func hold(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt, longest time.Duration) error {
	a := w.Activity
	t.Process.Options.Logger.ErrorContext(ctx, "an activity is held: an attempt may take longer than its function allows",
		"workflowId", t.WorkflowID, "runId", run.State.RunID, "eventId", a.EventID, "activityType", a.ActivityType, "taskQueue", a.TaskQueue,
		"startToClose", w.limit, "allowed", longest.Truncate(time.Second))
	return holdFor(ctx, t, run, w, fmt.Sprintf("an attempt may take %v, and the function that runs it allows %v: give the function a longer time-out, or reset the run and give the activity a shorter StartToClose",
		w.limit, longest.Truncate(time.Second)))
}

// holdFor keeps the message of an attempt that must not be made here, and checks again every few
// minutes. The activity does not fail. The reason is recorded for Describe. Each check costs two
// writes, a read and a message. A crash leaves the message, and its next delivery holds it again.
func holdFor(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt, reason string) error {
	t.Process.Observed().Observe(ctx, &observe.Held{Run: w.run, ActivityType: w.Activity.ActivityType, EventID: w.Activity.EventID})
	return keepHeld(ctx, t, run, w, reason)
}

// HeldByPause is what holds an attempt while its run is paused.
const HeldByPause = "the run is paused"

// keepHeld is holdFor, and reports nothing.
func keepHeld(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt, reason string) error {
	m := w.Delivery.Message
	if !w.looked {
		if done, err := recall(ctx, t, run, w); done || err != nil {
			return err
		}
		if w.interrupted {
			return ErrBegun
		}
	}
	held := attempts.Record{}
	if w.kept != nil {
		if w.kept.IsAhead(w.Delivery.Message, w.Number) {
			return ErrOther
		}
		held = w.kept.Base(w.Number)
	}
	held.By, held.Look, held.Copy = m.Send, m.Look, m.Copy
	held.Held = reason
	held.HeldUntil = t.Process.Timestamp().Add(heldFor)
	held.Number = max(attempts.Failed(w.Number-1)+1, w.stored+1)
	if err := t.Process.Attempts.Keep(ctx, w.Delivery.Message, w.Activity.EventID, &held); err != nil && !errors.Is(err, store.ErrStale) { // stale: another delivery holds it
		return outcome.OfStore("record that an attempt is held", err)
	}
	return t.Process.Outbox.Park(ctx, m)
}
