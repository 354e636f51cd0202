package activities

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/store"
)

// reservationKept is how long a reservation may be used after its moment, or the interval between
// two reservations if that is longer. A later attempt makes another reservation: otherwise all past
// ones would be used at once after an outage. In w seconds no more attempts begin than the rate
// allows in w plus this time, plus the burst.
const reservationKept = 5 * time.Second

// pace returns the attempt if it may begin now at the rate of its task queue. It returns nil if the
// attempt has to wait: a message with a reservation replaces the delivered one. The store makes
// reservations in sequence, so all processes together keep to the rate. A crash leaves an unused
// reservation, or a copy of the message, which makes another.
func pace(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt) (*Attempt, error) {
	rate := rateOf(t.Process, w.Activity.TaskQueue)
	if !rate.Limited() || w.hasSlot(rate, t.Process.Timestamp()) {
		return w, nil
	}
	if mine, err := claim(ctx, t, run, w); !mine || err != nil {
		return nil, err // a copy that must not continue reserves nothing
	}
	reservation, err := reserve(ctx, t, w, rate)
	late := errors.Is(err, store.ErrStale)
	if err != nil && !late {
		t.Process.Options.Logger.WarnContext(ctx, "an activity waits: the store gives out no reservation of its task queue's rate",
			"workflowId", t.WorkflowID, "eventId", w.Activity.EventID, "taskQueue", w.Activity.TaskQueue, "error", err)
		return nil, outcome.OfStore("reserve a moment of its rate", err)
	}
	if !late && reservation <= t.Process.Timestamp() {
		if isLate(&w.Delivery, w.limit, t.Process.Timestamp()) {
			return nil, errLate
		}
		return w, nil
	}
	m := *w.Delivery.Message
	m.Details, m.Due, m.Reserved = w.details, reservation, reservation
	if late { // it waits until it times out
		m.Due, m.Reserved = w.latest().Add(time.Millisecond), 0
	}
	return nil, Replace(ctx, t, run, w, m)
}

// rateOf returns the rate of a task queue.
func rateOf(s *session.Process, taskQueue string) limits.Rate {
	if s.Options.Rate == nil || s.Rates == nil {
		return limits.Rate{}
	}
	return s.Options.Rate(taskQueue)
}

// hasSlot reports whether the message has a reservation that may be used now. A message that was
// delivered before may have used it already. If the count of receives is too low, two attempts
// share a reservation.
func (w *Attempt) hasSlot(rate limits.Rate, now history.Timestamp) bool {
	reservation := w.Delivery.Reserved
	return reservation != 0 && w.Delivery.Received == 1 && reservation <= now && now.Sub(reservation) <= max(reservationKept, rate.Every())
}

// reserve makes the task queue's next reservation. It retries until the store confirms: a duplicate
// reservation only costs time. It returns an error that wraps store.ErrStale, and reserves nothing,
// if the next free moment is too late for the attempt. That moment is left to an attempt that can
// use it.
func reserve(ctx context.Context, t *session.Session, w *Attempt, rate limits.Rate) (history.Timestamp, error) {
	for try := 0; ; try++ {
		s := store.Reservation{
			TaskQueue: w.Activity.TaskQueue, By: rate.Every(),
			Floor: t.Process.Timestamp().Add(-time.Duration(rate.AtOnce()) * rate.Every()).Time(),
		}
		if latest := w.latest(); latest != 0 {
			s.Latest = latest.Time()
		}
		at, err := t.Process.Rates.Reserve(ctx, s)
		if err == nil || errors.Is(err, store.ErrStale) || t.Process.World.Wait(ctx, host.Backoff(t.Process.World, try), nil) != nil {
			return history.At(at), err
		}
	}
}

// latest returns the latest moment at which the attempt may begin, or 0 if there is no limit.
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
