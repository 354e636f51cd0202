package calls

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/queue"
)

func (c *Calls) ofQueue(name string) *method { return c.method(observe.ServiceQueue, name) }

func (c *Calls) sender(inner queue.Sender) queue.Sender { return &sender{inner, c.ofQueue("Send")} }

type sender struct {
	inner queue.Sender
	send  *method
}

// Send implements queue.Sender. A queue that does not exist has refused the call.
func (s *sender) Send(ctx context.Context, q string, messages ...queue.Message) error {
	began := s.send.now()
	err := s.inner.Send(ctx, q, messages...)
	s.send.ended(ctx, began, err, "queue", q)
	return err
}

// Extend wraps the function that extends the time of a message in flight.
func (c *Calls) Extend(extend func(ctx context.Context, queue, receipt string, d time.Duration) error) func(ctx context.Context, queue, receipt string, d time.Duration) error {
	m := c.ofQueue("Extend")
	return func(ctx context.Context, q, receipt string, d time.Duration) error {
		began := m.now()
		err := extend(ctx, q, receipt, d)
		m.ended(ctx, began, err, "queue", q)
		return err
	}
}

func (c *Calls) inspector(inner queue.Inspector) queue.Inspector {
	return &inspector{inner, c.ofQueue("Depth")}
}

type inspector struct {
	inner queue.Inspector
	depth *method
}

// Depth implements queue.Inspector. A deployment may lack a queue of dead letters.
func (i *inspector) Depth(ctx context.Context, q string) (queue.Depth, error) {
	began := i.depth.now()
	d, err := i.inner.Depth(ctx, q)
	i.depth.ended(ctx, began, unlessMissing(err), "queue", q)
	return d, err
}

func (c *Calls) redriver(inner queue.Redriver) queue.Redriver {
	return &redriver{inner, c.ofQueue("Redrive")}
}

type redriver struct {
	inner   queue.Redriver
	redrive *method
}

// Redrive implements queue.Redriver.
func (r *redriver) Redrive(ctx context.Context, q string) error {
	began := r.redrive.now()
	err := r.inner.Redrive(ctx, q)
	r.redrive.ended(ctx, began, unlessMissing(err), "queue", q)
	return err
}

type keeper struct {
	inner queue.Keeper
	keep  *method
}

// Keep implements queue.Keeper.
func (k *keeper) Keep(ctx context.Context, q string, d queue.Delivery, reason string) error {
	began := k.keep.now()
	err := k.inner.Keep(ctx, q, d, reason)
	k.keep.ended(ctx, began, err, "queue", queue.Unreadable)
	return err
}

// unlessMissing returns nil for the error of a queue that does not exist.
func unlessMissing(err error) error {
	if errors.Is(err, queue.ErrInvalid) {
		return nil
	}
	return err
}
