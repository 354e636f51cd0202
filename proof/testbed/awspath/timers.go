package awspath

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/store"
)

// timers knows when the store's timers are due. A schedule event whose sweep finds nothing only
// reads, so the clock skips it. Otherwise a sleep of days would send a request for each of its
// minutes.
type timers struct {
	store.Timers
	mu  sync.Mutex
	due map[string]time.Time
}

func newTimers(t store.Timers) *timers { return &timers{Timers: t, due: map[string]time.Time{}} }

func keyOf(t store.Timer) string { return fmt.Sprint(t.Due.UnixMicro(), " ", t.ID) }

// PutTimers implements store.Timers. A timer that may have been put counts as put.
func (t *timers) PutTimers(ctx context.Context, all []store.Timer) error {
	t.mu.Lock()
	for _, timer := range all {
		t.due[keyOf(timer)] = timer.Due
	}
	t.mu.Unlock()
	return t.Timers.PutTimers(ctx, all)
}

// DeleteTimers implements store.Timers.
func (t *timers) DeleteTimers(ctx context.Context, all []store.Timer) error {
	err := t.Timers.DeleteTimers(ctx, all)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, timer := range all {
		delete(t.due, keyOf(timer))
	}
	return nil
}

// next returns the first schedule event from a moment on whose sweep finds a timer; zero means
// none. Schedule events arrive each minute.
func (t *timers) next(from time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first time.Time
	for _, due := range t.due {
		if first.IsZero() || due.Before(first) {
			first = due
		}
	}
	if first.IsZero() {
		return first
	}
	const ahead = 2 * outbox.SweepEvery // how far ahead a sweep looks
	minutes := max(0, (first.Sub(from)-ahead+outbox.SweepEvery-1)/outbox.SweepEvery)
	return from.Add(minutes * outbox.SweepEvery)
}
