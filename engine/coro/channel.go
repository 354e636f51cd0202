package coro

import "errors"

// ErrClosed is returned by operations on a closed channel: by a receive once the channel is empty,
// by a send at once.
var ErrClosed = errors.New("the channel is closed")

// Channel passes values between coroutines in the order in which they began to send them. A channel
// of capacity 0 passes each value from sender to receiver; one of negative capacity never makes a
// sender wait.
//
// No wake-up is lost: each new value wakes a waiting receiver, and a receiver that stops waiting
// without taking a value wakes the next (PassOn).
type Channel[T any] struct {
	capacity  int
	values    []T             // sent and not received
	offers    line[*offer[T]] // of senders that wait for room, in order
	closed    bool
	receivers List
}

// offer is a value whose sender waits until a receiver takes it.
type offer[T any] struct {
	value  T
	taken  bool
	sender List
}

// NewChannel returns a channel that holds capacity values.
func NewChannel[T any](capacity int) *Channel[T] { return &Channel[T]{capacity: capacity} }

// Len returns the number of values that were sent and not received.
func (c *Channel[T]) Len() int { return len(c.values) }

// Values returns the values that were sent and not received, in order. The caller does not change
// them.
func (c *Channel[T]) Values() []T { return c.values }

// Remove takes the values for which match reports true off a channel whose capacity is negative,
// and returns them in order.
func (c *Channel[T]) Remove(match func(T) bool) (removed []T) {
	kept := make([]T, 0, len(c.values))
	for _, v := range c.values {
		if match(v) {
			removed = append(removed, v)
		} else {
			kept = append(kept, v)
		}
	}
	c.values = kept
	return removed
}

// Readable reports whether a receive would not wait.
func (c *Channel[T]) Readable() bool { return len(c.values) > 0 || !c.offers.empty() || c.closed }

// Receivers returns the list of the coroutines that wait for a value.
func (c *Channel[T]) Receivers() *List { return &c.receivers }

// room reports whether a value can be sent without waiting. On a channel of capacity 0, a receiver
// that waits, and was not woken for another value, makes room for one.
func (c *Channel[T]) room() bool {
	switch {
	case c.closed || !c.offers.empty():
		return false
	case c.capacity == 0:
		return c.receivers.idle() != nil
	}
	return c.capacity < 0 || len(c.values) < c.capacity
}

// TrySend sends the value if it need not wait, and reports whether it did.
func (c *Channel[T]) TrySend(s *Scheduler, v T) bool {
	if !c.room() {
		return false
	}
	c.values = append(c.values, v)
	c.receivers.WakeOne(s)
	return true
}

// Send waits until there is room (with capacity 0, until the value has been received), the channel
// is closed or the scope is canceled. If there is room, it sends under a canceled scope, too.
func (c *Channel[T]) Send(s *Scheduler, scope *Scope, v T) error {
	if c.capacity != 0 && c.TrySend(s, v) {
		return nil
	}
	if c.closed {
		return ErrClosed
	}
	if err := scope.Err(); err != nil {
		return err
	}
	o := &offer[T]{value: v}
	place := c.offers.add(o)
	c.receivers.WakeOne(s)
	for !o.taken && !c.closed && scope.Err() == nil {
		s.Park(scope, nil, s.Known(OnChannel, &o.sender))
	}
	switch {
	case o.taken:
		return nil
	case c.closed:
		return ErrClosed
	}
	place.leave()
	return scope.Err()
}

// TryReceive receives a value if it need not wait, and reports whether it did.
func (c *Channel[T]) TryReceive(s *Scheduler) (v T, ok bool) {
	switch {
	case len(c.values) > 0:
		v, c.values = first(c.values)
		if !c.offers.empty() && len(c.values) < c.capacity {
			c.values = append(c.values, c.accept(s))
		}
		return v, true
	case !c.offers.empty():
		return c.accept(s), true
	}
	return v, false
}

// accept takes the oldest offer, and wakes its sender.
func (c *Channel[T]) accept(s *Scheduler) T {
	oldest := c.offers.head
	oldest.leave()
	o := oldest.value
	o.taken = true
	o.sender.WakeAll(s)
	return o.value
}

// first returns the first element and the rest.
func first[E any](all []E) (E, []E) {
	var zero E
	e := all[0]
	all[0] = zero
	return e, all[1:]
}

// Receive waits until there is a value, the channel is closed and empty, or the scope is canceled.
// If there is a value, it receives under a canceled scope, too.
func (c *Channel[T]) Receive(s *Scheduler, scope *Scope) (T, error) {
	if !c.Readable() {
		leave := s.Enlist(s.Known(OnChannel, &c.receivers))
		for !c.Readable() && scope.Err() == nil {
			s.Park(scope, nil)
		}
		leave()
	}
	v, ok := c.TryReceive(s)
	switch {
	case ok:
		return v, nil
	case c.closed:
		return v, ErrClosed
	}
	return v, scope.Err()
}

// PassOn wakes the next receiver if there is something to receive. A coroutine that was on the list
// of receivers, and may have left it without receiving, calls it: the value that it was woken for
// may still be there.
func (c *Channel[T]) PassOn(s *Scheduler) {
	if c.Readable() {
		c.receivers.WakeOne(s)
	}
}

// Close closes the channel: receivers get the remaining values and then ErrClosed. Waiting senders
// get it at once. Closing twice does nothing.
func (c *Channel[T]) Close(s *Scheduler) {
	c.closed = true
	for e := c.offers.head; e != nil; e = e.next {
		e.value.sender.WakeAll(s)
	}
	c.offers = line[*offer[T]]{}
	c.receivers.WakeAll(s)
}
