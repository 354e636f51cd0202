package activity

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// ErrPending is what an activity returns whose attempt goes on outside of this process: somebody who has its token (see
// Token) ends it, with Complete, Fail, or over HTTP. Until then the attempt costs nothing but a record and a message. It times
// out when Options.Pending has passed since it began, or Options.Heartbeat since it was heard of last, and is then tried again
// as any other.
var ErrPending = attempt.ErrPending

// Token returns the token of the attempt that ctx belongs to, for whoever is to end it. Who has it can end this attempt and
// nothing else: keep it as you keep a password, and out of addresses and logs. A further attempt has a token of its own.
//
// The first call in a process reads the key that tokens are signed with. In a unit test, which calls the activity's function with a context of
// its own, the token is empty.
func Token(ctx context.Context) (string, error) {
	heartbeater := attempt.HeartbeaterOf(ctx)
	if heartbeater == nil {
		return "", ctx.Err()
	}
	return heartbeater.Token(ctx)
}

// Complete ends the attempt at this activity that a token names, from anywhere: it has succeeded. The result is durable when
// Complete returns nil. The same again is no error; where the attempt has ended otherwise the error is ErrActivityEnded,
// and for a token that is none ErrInvalid.
func (a Activity[In, Out]) Complete(ctx context.Context, c *client.Client, token string, out Out) error {
	result, err := payload.Encode(out)
	if err != nil {
		return err
	}
	return c.CompleteActivity(ctx, token, result)
}

// Fail ends the attempt at this activity that a token names, from anywhere: it has failed with cause, and Options.Retry says
// what follows. Its errors are those of Complete.
func (a Activity[In, Out]) Fail(ctx context.Context, c *client.Client, token string, cause error) error {
	return c.FailActivity(ctx, token, cause)
}

// RecordHeartbeat is Heartbeat for the attempt that a token names, from anywhere: it says that the attempt is alive, and keeps details,
// of at most 16 KiB, for the next one. Each call is a write. It returns ErrCanceled where the workflow no longer waits for
// the activity: end it then, with Fail. Its other errors are those of Complete.
func RecordHeartbeat[T any](ctx context.Context, c *client.Client, token string, details T) error {
	body, err := payload.Encode(details)
	if err != nil {
		return err
	}
	return c.HeartbeatActivity(ctx, token, body)
}
