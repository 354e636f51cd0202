package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/store"
)

// slotKept is how much later than its slot an attempt may begin, or the time between two slots where that is longer. What comes
// later takes another: after an outage all slots of the past would be used at once. In w seconds no more attempts begin than
// the rate allows in w and this time, and the burst.
const slotKept = 5 * time.Second

// pace returns an attempt that may begin now at the rate of its task queue, and nil for one that has to wait: a message that
// has its slot is sent in the place of the one that came. Slots are given out by the store, one after the other, so that all
// processes together keep to the rate. A crash leaves a slot that nobody uses, or a copy of the message, which takes another.
func pace(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt) (*Attempt, error) {
	rate := rateOf(t.Process, w.Activity.TaskQueue)
	if !rate.Limited() || w.hasSlot(rate, t.Timestamp()) {
		return w, nil
	}
	if mine, err := claim(ctx, t, run, w); !mine || err != nil {
		return nil, err // a copy that is not to go on takes no slot
	}
	slot, err := reserve(ctx, t, w, rate)
	late := errors.Is(err, store.ErrStale)
	if err != nil && !late {
		t.Options.Logger.WarnContext(ctx, "an activity waits: the store gives out no slot of its task queue's rate",
			"workflowId", t.WorkflowID, "eventId", w.Activity.EventID, "taskQueue", w.Activity.TaskQueue, "error", err)
		return nil, fmt.Errorf("%w: reserve a slot: %w", outcome.ErrBusy, err)
	}
	if !late && slot <= t.Timestamp() {
		if isLate(&w.Delivery, w.limit, t.Timestamp()) {
			return nil, errLate
		}
		return w, nil
	}
	m := *w.Delivery.Message
	m.Details, m.Due, m.Reserved = w.details, slot, slot
	if late { // it waits until it is given up
		m.Due, m.Reserved = w.latest().Add(time.Millisecond), 0
	}
	return nil, Replace(ctx, t, run, w, m)
}

// rateOf is the rate of a task queue.
func rateOf(s *session.Process, taskQueue string) limits.Rate {
	if s.Options.Rate == nil || s.Rates == nil {
		return limits.Rate{}
	}
	return s.Options.Rate(taskQueue)
}

// hasSlot reports whether the message has a slot that may be used now. That of one which was delivered before may have been: if
// the count of receives is too low, two attempts begin in one slot.
func (w *Attempt) hasSlot(rate limits.Rate, now history.Timestamp) bool {
	slot := w.Delivery.Reserved
	return slot != 0 && w.Delivery.Received == 1 && slot <= now && now.Sub(slot) <= max(slotKept, rate.Every())
}

// reserve takes the next slot of the task queue, again and again while the store does not say that it has: a slot that was
// taken twice is only time lost. Its error wraps store.ErrStale where there is none before the attempt has to begin; then
// none is taken, and those who still can use one get it.
func reserve(ctx context.Context, t *session.Session, w *Attempt, rate limits.Rate) (history.Timestamp, error) {
	for try := 0; ; try++ {
		s := store.Slot{
			TaskQueue: w.Activity.TaskQueue, By: rate.Every(),
			Floor: t.Timestamp().Add(-time.Duration(rate.AtOnce()) * rate.Every()).Time(),
		}
		if latest := w.latest(); latest != 0 {
			s.Latest = latest.Time()
		}
		at, err := t.Rates.Reserve(ctx, s)
		if err == nil || errors.Is(err, store.ErrStale) || t.World.Wait(ctx, host.Backoff(t.World, try), nil) != nil {
			return history.At(at), err
		}
	}
}

// latest is when the attempt has to begin, if it is to; 0 is at any time.
func (w *Attempt) latest() (at history.Timestamp) {
	a := w.Activity
	if a.ScheduleToClose > 0 {
		at = a.Time.Add(time.Duration(a.ScheduleToClose))
	}
	if a.ScheduleToStart > 0 && w.Number == 1 {
		if start := a.Time.Add(time.Duration(a.ScheduleToStart)); at == 0 || start < at {
			at = start
		}
	}
	return at
}
