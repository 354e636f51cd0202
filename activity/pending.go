package activity

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// ErrPending is returned by an activity whose attempt continues outside of this process. Somebody
// who has its token (see Token) ends it, with Complete, Fail, or over HTTP. Until then the attempt
// costs nothing but a record and a message. It times out when Options.Pending has passed since it
// began, or Options.Heartbeat since its last heartbeat. It is then retried like any other.
var ErrPending = attempt.ErrPending

// Token returns the token of the attempt that ctx belongs to, for the party that will end it. The
// token allows its holder to end this attempt and nothing else. Keep it like a password, and out of
// URLs and logs. A further attempt has another token.
//
// The first call in a process reads the key that signs tokens. In a unit test, which calls the
// activity's function with a context of its own, the token is empty.
func Token(ctx context.Context) (string, error) {
	heartbeater := attempt.HeartbeaterOf(ctx)
	if heartbeater == nil {
		return "", ctx.Err()
	}
	return heartbeater.Token(ctx)
}

// Complete ends the attempt that a token names as succeeded, from anywhere. The result is durable
// when Complete returns nil. Completing again with the same result is no error. Complete returns
// ErrActivityEnded if the attempt has ended otherwise, and ErrInvalid if the token is invalid.
func (a Activity[In, Out]) Complete(ctx context.Context, c *client.Client, token string, out Out) error {
	result, err := payload.EncodeBy(a.options.Converter, out)
	if err != nil {
		return err
	}
	return c.CompleteActivity(ctx, token, result)
}

// Fail ends the attempt that a token names as failed with cause, from anywhere. Options.Retry says
// whether it is retried. Its errors are those of Complete.
func (a Activity[In, Out]) Fail(ctx context.Context, c *client.Client, token string, cause error) error {
	return c.FailActivity(ctx, token, cause)
}

// RecordHeartbeat is Heartbeat for the attempt that a token names, from anywhere: it records that
// the attempt is alive, and keeps details of at most 16 KiB for the next one. Each call is a write.
// It returns ErrCanceled if the workflow no longer waits for the activity: end it then, with Fail.
// Its other errors are those of Complete.
func RecordHeartbeat[T any](ctx context.Context, c *client.Client, token string, details T) error {
	body, err := payload.Encode(details)
	if err != nil {
		return err
	}
	return c.HeartbeatActivity(ctx, token, body)
}
