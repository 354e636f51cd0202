package workflow

import "github.com/seed-41655fb1/weft/engine/coro"

// ErrClosed is returned by operations on a closed channel.
var ErrClosed = coro.ErrClosed

// Channel passes values between the coroutines of a workflow, in the order in which they are sent.
// Workflow code must not use Go's channels.
type Channel[T any] struct{ c *coro.Channel[T] }

// NewChannel returns a channel that holds capacity values. With capacity 0, a sender waits until
// its value was received.
func NewChannel[T any](capacity int) Channel[T] {
	return Channel[T]{coro.NewChannel[T](max(capacity, 0))}
}

// Send waits until there is room for the value. It returns ErrClosed if the channel is closed, and
// a *CanceledError as soon as ctx is canceled, unless there is room. Values are received in the
// order in which their Sends began.
func (c Channel[T]) Send(ctx Context, v T) error {
	s := ctx.scheduler()
	s.MustRun("send on a channel")
	return c.c.Send(s, ctx.scope, v)
}

// TrySend sends the value if there is room, and reports whether it did. With capacity 0, there is
// room if a receiver waits.
func (c Channel[T]) TrySend(ctx Context, v T) bool {
	s := ctx.scheduler()
	s.MustRun("send on a channel")
	return c.c.TrySend(s, v)
}

// Receive waits for a value and returns it. It returns ErrClosed if the channel is closed and
// empty, and a *CanceledError as soon as ctx is canceled, unless a value is there.
func (c Channel[T]) Receive(ctx Context) (T, error) {
	s := ctx.scheduler()
	s.MustRun("receive from a channel")
	return c.c.Receive(s, ctx.scope)
}

// TryReceive receives a value if there is one, and reports whether it did.
func (c Channel[T]) TryReceive(ctx Context) (T, bool) {
	s := ctx.scheduler()
	s.MustRun("receive from a channel")
	return c.c.TryReceive(s)
}

// Len returns the number of values that were sent and not received.
func (c Channel[T]) Len() int { return c.c.Len() }

// Close closes the channel: receivers get the remaining values and then ErrClosed. Closing twice
// does nothing.
func (c Channel[T]) Close(ctx Context) {
	s := ctx.scheduler()
	s.MustRun("close a channel")
	c.c.Close(s)
}
