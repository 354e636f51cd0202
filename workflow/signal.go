package workflow

import (
	"context"
	"fmt"
	"reflect"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
)

// Signal is a message to a running workflow that has no answer. It has a name and the type of its
// value.
type Signal[T any] struct {
	name, where string
	by          Converter
}

// NewSignal declares a signal. Declare each once, as a package variable. Several sets of options
// are merged.
//
//go:noinline
func NewSignal[T any](name string, sets ...DeclareOptions) Signal[T] {
	return Signal[T]{name, where.Caller(), converterOf("signal", name, sets)}
}

// Name returns the signal's name.
func (g Signal[T]) Name() string { return g.name }

// Receive waits for the next signal of this name, in the order of arrival. A signal is kept until
// it is received. Receive returns a *CanceledError as soon as ctx is canceled, unless a signal is
// there. A loop that continues after errors must end at a *CanceledError: it would never wait
// again.
//
// A signal whose value does not decode is refused when it arrives, once the code has received
// signals of this name. One that was accepted before is set aside: Receive continues with the next,
// the run's description counts it, and a warning is logged. Code that needs such values declares
// the signal with the type json.RawMessage and decodes them itself.
func (g Signal[T]) Receive(ctx Context) (v T, err error) {
	s := ctx.scheduler()
	s.MustRun("receive a signal")
	signals := g.signals(ctx)
	for {
		p, err := signals.Receive(s, ctx.scope)
		if err != nil {
			return v, err
		}
		if v, err = g.decode(p); err == nil || !g.setAside(ctx) {
			return v, err
		}
	}
}

// TryReceive returns the next signal of this name if one has arrived; otherwise ok is false. It
// sets values aside as Receive does.
func (g Signal[T]) TryReceive(ctx Context) (v T, ok bool, err error) {
	s := ctx.scheduler()
	s.MustRun("receive a signal")
	signals := g.signals(ctx)
	for {
		p, ok := signals.TryReceive(s)
		if !ok {
			return v, false, nil
		}
		if v, err = g.decode(p); err == nil || !g.setAside(ctx) {
			return v, true, err
		}
	}
}

// signals returns the channel of the signals of this name. Signals that arrive from now on are
// checked first.
func (g Signal[T]) signals(ctx Context) *coro.Channel[history.Payload] {
	in := ctx.instance()
	in.ReceivesSignal(g.name, reflect.TypeFor[T]().String(), func(p history.Payload) error {
		_, err := payload.DecodeOrZeroBy[T](g.by, p)
		return err
	})
	return in.Signals(g.name)
}

// setAside sets aside a signal whose value does not decode. It returns false if the code gets an
// error instead, as it did in its history.
func (g Signal[T]) setAside(ctx Context) bool { return ctx.instance().SetAside(g.name) }

func (g Signal[T]) decode(p []byte) (v T, err error) {
	if v, err = payload.DecodeOrZeroBy[T](g.by, p); err != nil {
		return v, fmt.Errorf("the value of signal %q does not decode: %w", g.name, err)
	}
	return v, nil
}

// SendOptions tunes the sending of a signal. The zero value is the default.
type SendOptions = client.SignalOptions

// Send sends the signal to the latest run of a workflow, or to one that it starts
// (SendOptions.Start). The signal is durable when Send returns.
func (g Signal[T]) Send(ctx context.Context, c *client.Client, workflowID string, v T, sets ...SendOptions) error {
	input, err := payload.EncodeBy(g.by, v)
	if err != nil {
		return err
	}
	return c.Signal(ctx, workflowID, g.name, input, options.Of(sets))
}
