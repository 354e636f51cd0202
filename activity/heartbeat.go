package activity

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Heartbeat says that the attempt is alive, and keeps details for the next one, should this one fail or its process die. It
// returns an error when the attempt should end: ErrCanceled where the workflow no longer waits for the activity or has
// closed, and else why its context has ended. Return that error.
//
// Heartbeats are recorded at most each 30 s, or each four fifths of Options.Heartbeat; those between cost nothing. A recorded one
// costs a write and a read. What was said last before a failure is kept with that failure; what was said after the last
// recorded one is lost where the process dies. Details have at most 16 KiB. In a unit test, which calls the activity's
// function with a context of its own, it does nothing.
func Heartbeat[T any](ctx context.Context, details T) error {
	heartbeater := attempt.HeartbeaterOf(ctx)
	if heartbeater == nil {
		return ctx.Err()
	}
	body, err := payload.Encode(details)
	if err != nil {
		return fmt.Errorf("the details of a heartbeat: %w", err)
	}
	return heartbeater.RecordHeartbeat(ctx, body)
}

// HeartbeatDetails are the details that the attempts before this one kept last. ok is false where there are none, or where
// they are no T.
func HeartbeatDetails[T any](ctx context.Context) (details T, ok bool) {
	heartbeater := attempt.HeartbeaterOf(ctx)
	if heartbeater == nil || len(heartbeater.Details()) == 0 {
		return details, false
	}
	details, err := payload.Decode[T](heartbeater.Details())
	return details, err == nil
}
