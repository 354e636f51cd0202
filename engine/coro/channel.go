package coro

import "errors"

// ErrClosed is what a channel that was closed answers, to a receiver once it is empty, to a sender at once.
var ErrClosed = errors.New("the channel is closed")

// Channel passes values between coroutines in the order in which they were sent. A channel of capacity 0 hands each
// value from sender to receiver; one of negative capacity never makes a sender wait.
type Channel[T any] struct {
	capacity  int
	values    []T
	closed    bool
	receivers List
	senders   List
	waiting   int // receivers that wait: on a channel of capacity 0 each makes room for one value
}

// NewChannel returns a channel that holds capacity values.
func NewChannel[T any](capacity int) *Channel[T] { return &Channel[T]{capacity: capacity} }

// Len is the number of values that were sent and not received.
func (c *Channel[T]) Len() int { return len(c.values) }

// Readable reports whether a receive would not wait.
func (c *Channel[T]) Readable() bool { return len(c.values) > 0 || c.closed }

// Writable reports whether a send would not wait.
func (c *Channel[T]) Writable() bool {
	return c.closed || c.capacity < 0 || len(c.values) < c.capacity+c.waiting
}

// Receivers are those that wait for a value.
func (c *Channel[T]) Receivers() *List { return &c.receivers }

// Senders are those that wait for room.
func (c *Channel[T]) Senders() *List { return &c.senders }

// Expect says that a receiver waits (1) or no longer waits (-1); a select that can receive calls it around its wait.
func (c *Channel[T]) Expect(s *Scheduler, n int) {
	c.waiting += n
	if n > 0 {
		c.senders.WakeOne(s)
	} else if len(c.values) > 0 {
		c.receivers.WakeOne(s) // the one that was woken for this value may have taken another way
	}
}

// TrySend sends without waiting, and reports whether it could.
func (c *Channel[T]) TrySend(s *Scheduler, v T) bool {
	if c.closed || !c.Writable() {
		return false
	}
	c.values = append(c.values, v)
	c.receivers.WakeOne(s)
	return true
}

// Send waits until there is room, the channel is closed or the scope is canceled.
func (c *Channel[T]) Send(s *Scheduler, scope *Scope, v T) error {
	for !c.TrySend(s, v) {
		if c.closed {
			return ErrClosed
		}
		if err := scope.Err(); err != nil {
			return err
		}
		s.Park(scope, nil, &c.senders)
	}
	return nil
}

// TryReceive receives without waiting. ok is false where there was nothing to receive.
func (c *Channel[T]) TryReceive(s *Scheduler) (v T, ok bool) {
	if len(c.values) == 0 {
		return v, false
	}
	v = c.values[0]
	var zero T
	c.values[0] = zero
	c.values = c.values[1:]
	c.senders.WakeOne(s)
	return v, true
}

// Receive waits until there is a value, the channel is closed and empty, or the scope is canceled.
func (c *Channel[T]) Receive(s *Scheduler, scope *Scope) (T, error) {
	for {
		if v, ok := c.TryReceive(s); ok {
			return v, nil
		}
		var zero T
		if c.closed {
			return zero, ErrClosed
		}
		if err := scope.Err(); err != nil {
			return zero, err
		}
		c.Expect(s, 1)
		s.Park(scope, nil, &c.receivers)
		c.Expect(s, -1)
	}
}

// Close lets receivers take what is left and then get ErrClosed. Closing twice does nothing.
func (c *Channel[T]) Close(s *Scheduler) {
	c.closed = true
	c.receivers.WakeAll(s)
	c.senders.WakeAll(s)
}
