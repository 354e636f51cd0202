package workflow

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Signal is a message to a running workflow that is not answered: its name and the type of its value.
type Signal[T any] struct{ name string }

// NewSignal declares a signal. Declare each once, as a package variable.
func NewSignal[T any](name string) Signal[T] { return Signal[T]{name} }

// Name is the signal's name.
func (g Signal[T]) Name() string { return g.name }

// Receive waits for the next signal of this name, in the order in which they arrived. A signal that arrived before is
// kept until it is received. It returns a *CanceledError as soon as ctx is canceled, unless a signal is there, and another
// error for a signal whose value does not decode; the next call returns the next signal then. A loop that goes on after
// an error must end at a *CanceledError: it would never wait again.
func (g Signal[T]) Receive(ctx Context) (v T, err error) {
	s := ctx.scheduler()
	s.MustRun("receive a signal")
	p, err := ctx.instance().Signals(g.name).Receive(s, ctx.scope)
	if err != nil {
		return v, err
	}
	return g.decode(p)
}

// TryReceive returns the next signal of this name if one has arrived; ok is false where none has.
func (g Signal[T]) TryReceive(ctx Context) (v T, ok bool, err error) {
	s := ctx.scheduler()
	s.MustRun("receive a signal")
	p, ok := ctx.instance().Signals(g.name).TryReceive(s)
	if !ok {
		return v, false, nil
	}
	v, err = g.decode(p)
	return v, true, err
}

func (g Signal[T]) decode(p []byte) (v T, err error) {
	if v, err = payload.DecodeOrZero[T](p); err != nil {
		return v, fmt.Errorf("the value of signal %q does not decode: %w", g.name, err)
	}
	return v, nil
}

// SendOptions tunes the sending of a signal. The zero value is the default.
type SendOptions = client.SignalOptions

// Send sends the signal to the latest run of a workflow, or to one that it starts (SendOptions.Start). It is durable when
// Send returns.
func (g Signal[T]) Send(ctx context.Context, c *client.Client, workflowID string, v T, options ...SendOptions) error {
	input, err := payload.Encode(v)
	if err != nil {
		return err
	}
	return c.Signal(ctx, workflowID, g.name, input, first(options))
}
