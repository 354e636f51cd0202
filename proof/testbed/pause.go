package testbed

import (
	"context"
	"time"
)

type pauseKey struct{}

// WithPause returns a context that says how the activities of the scenarios wait, for tests whose
// clock is not that of package time.
func WithPause(ctx context.Context, pause func(ctx context.Context, d time.Duration) error) context.Context {
	return context.WithValue(ctx, pauseKey{}, pause)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if pause, ok := ctx.Value(pauseKey{}).(func(context.Context, time.Duration) error); ok {
		return pause(ctx, d)
	}
	if d <= 0 {
		return ctx.Err() // A timer that is due at once crashes the race detector in a synctest bubble: docs/decisions/0032.
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
