package workflow

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
)

// Update is a call into a running workflow that is validated and answered. It has a name and the
// types of its input and its result. An update that its validator refuses leaves no trace. An
// accepted one is durable.
type Update[In, Out any] struct {
	name, where string
	options     *updateOptions // nil if there are none
}

// updateOptions are the options with which an update was declared.
type updateOptions struct {
	by     Converter
	errors []engine.DeclaredError
}

// NewUpdate declares an update. Declare each once, as a package variable. Several sets of options
// are merged.
//
//go:noinline
func NewUpdate[In, Out any](name string, sets ...DeclareOptions) Update[In, Out] {
	u := Update[In, Out]{name: name, where: where.Caller()}
	if len(sets) > 0 {
		o := options.Of(sets)
		u.options = &updateOptions{o.Converter, o.declared()}
	}
	return u
}

// by returns the converter of the update's values, or nil.
func (u Update[In, Out]) by() Converter {
	if u.options == nil {
		return nil
	}
	return u.options.by
}

// Name returns the update's name.
func (u Update[In, Out]) Name() string { return u.name }

// HandlerOptions tunes the handler of an update. The zero value is the default.
type HandlerOptions[In any] struct {
	// Validate is the validator: if it returns an error, the update is refused and nothing is
	// written. It gets no Context: it depends on the workflow's state and the input alone, and
	// changes nothing. It runs when the update arrives, perhaps several times, and never on replay,
	// so it may be changed at any time. nil refuses nothing.
	Validate func(In) error
	// Abandon allows the workflow to end while the handler runs. Without it, that logs a warning.
	Abandon bool
}

// Validate returns the options with this validator. It is short for HandlerOptions[In]{Validate:
// fn}, whose type is inferred here:
//
//	AddItem.Handle(ctx, c.add, workflow.Validate(c.canAdd))
func Validate[In any](fn func(In) error) HandlerOptions[In] {
	return HandlerOptions[In]{Validate: fn}
}

// Handle sets the handler of the update. The handler runs in a coroutine of its own and may wait.
// If it returns an error, that is the update's outcome, and the workflow continues. Set it before
// the workflow first waits. Setting it twice fails the task with an error that names both places.
// Several sets of options are merged. Two sets that both give Validate fail the task.
func (u Update[In, Out]) Handle(ctx Context, fn func(Context, In) (Out, error), sets ...HandlerOptions[In]) {
	o := options.Of(sets)
	h := &engine.UpdateHandler{
		Where: where.Caller(), Abandon: o.Abandon,
		Decode: func(p history.Payload) (any, error) { return payload.DecodeBy[In](u.by(), p) },
		Handle: func(scope *coro.Scope, input any) (history.Payload, error) {
			inner := ctx
			inner.scope = scope
			var out Out
			err := inner.aroundUpdate(u.name, func(ctx Context) (err error) {
				out, err = fn(ctx, as[In](input))
				return err
			})
			if err != nil {
				return nil, err
			}
			return payload.MustEncodeBy(u.by(), out), nil
		},
	}
	if o.Validate != nil {
		h.Validate = func(input any) error { return o.Validate(as[In](input)) }
	}
	ctx.instance().HandleUpdate(u.name, h)
}

// as returns the value of type T in v. A nil v is the zero value, for a T that is an interface.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

// CallOptions tunes the sending of an update. [client.UpdateOptions] documents its fields: ID,
// RunID and Start. The zero value is the default.
type CallOptions = client.UpdateOptions

// Call sends the update to the latest run of a workflow and returns its outcome: the handler's
// result or its error. A refusal is a *client.Rejected: nothing was written.
func (u Update[In, Out]) Call(ctx context.Context, c *client.Client, workflowID string, in In, sets ...CallOptions) (out Out, err error) {
	input, err := payload.EncodeBy(u.by(), in)
	if err != nil {
		return out, err
	}
	p, err := c.Call(ctx, workflowID, u.name, input, options.Of(sets))
	if err != nil {
		return out, err
	}
	return payload.DecodeOrZeroBy[Out](u.by(), p)
}

// Send sends the update and returns when it has been accepted or refused. An acceptance is then
// durable. Get the outcome from the handle.
func (u Update[In, Out]) Send(ctx context.Context, c *client.Client, workflowID string, in In, sets ...CallOptions) (UpdateHandle[Out], error) {
	input, err := payload.EncodeBy(u.by(), in)
	if err != nil {
		return UpdateHandle[Out]{}, err
	}
	h, err := c.Update(ctx, workflowID, u.name, input, options.Of(sets))
	return UpdateHandle[Out]{h, u.by()}, err
}

// UpdateHandle is a handle of an accepted update.
type UpdateHandle[Out any] struct {
	*client.Update
	by Converter
}

// Get waits for the outcome: the handler's result or its error. The context bounds the wait.
func (h UpdateHandle[Out]) Get(ctx context.Context) (out Out, err error) {
	p, err := h.Wait(ctx)
	if err != nil {
		return out, err
	}
	return payload.DecodeOrZeroBy[Out](h.by, p)
}

// AllHandlersFinished reports whether no update handler is running.
func AllHandlersFinished(ctx Context) bool { return ctx.instance().RunningUpdates() == 0 }

// AwaitHandlers waits until no update handler is running. A workflow whose handlers wait calls it
// before it returns. Otherwise the senders of the updates get an error that says that the run
// closed first.
func AwaitHandlers(ctx Context) error {
	return Await(ctx, func() bool { return AllHandlersFinished(ctx) })
}
