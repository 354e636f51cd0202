package activity

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Heartbeat records that the attempt is alive, and keeps details for the next attempt in case this
// one fails or its process dies. It returns an error when the attempt should end: ErrCanceled if
// the workflow has closed or no longer waits for the activity, and otherwise the reason why its
// context has ended. Return that error.
//
// Heartbeats are recorded at most every 30 s, or every four fifths of Options.Heartbeat. A recorded
// one costs a write and a read, and those between cost nothing. The last details before a failure
// are kept with that failure. If the process dies, the details since the last recorded heartbeat
// are lost. Details have at most 16 KiB. In a unit test, which calls the activity's function with a
// context of its own, Heartbeat does nothing.
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

// HeartbeatDetails returns the last details that an earlier attempt kept. ok is false if there are
// none, or if they are no T.
func HeartbeatDetails[T any](ctx context.Context) (details T, ok bool) {
	heartbeater := attempt.HeartbeaterOf(ctx)
	if heartbeater == nil || len(heartbeater.Details()) == 0 {
		return details, false
	}
	details, err := payload.Decode[T](heartbeater.Details())
	return details, err == nil
}
