package workflow

import (
	"encoding/json"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/where"
)

// Raw is a value whose type is not known before the code runs: its JSON. A nil Raw is no value.
type Raw = json.RawMessage

// Dynamic is the code of all workflow types that are not registered, of types that are known only
// when they are started. typ is the type that the caller gave. Register one at most.
//
//	weft.Register(workflow.Bind(cart.Workflow, cart.Run, cart.Names), workflow.Dynamic(interpret))
//
// It may handle signals, updates and queries of all names (ReceiveSignals, HandleUpdates,
// HandleQueries), and publish any topic. Requests are checked against the names that the options
// give, and against nothing else. A type that is registered later takes over the open runs that
// were started under its name: its code has to replay them.
func Dynamic(run func(ctx Context, typ string, in Raw) (Raw, error), sets ...BindOptions) Registration {
	o, at := options.Of(sets), where.Caller()
	o.Dynamic = Signals | Queries | Updates | Topics
	names, wrong := o.named(at)
	return bridge.PartOf(func(r *engine.Registry) error {
		if wrong != nil {
			return fmt.Errorf("the workflow of all types (bound at %s): %w", at, wrong)
		}
		return r.SetDynamicWorkflow(&engine.Workflow{
			Where: at, Declared: at, Pinned: o.Pinned, Names: names, CheckInput: func(history.Payload) error { return nil },
			Run: func(in *engine.Instance, scope *coro.Scope, input history.Payload) (history.Payload, error) {
				ctx := Context{in: in, scope: scope}
				var result Raw
				err := ctx.aroundRun(func(ctx Context) (err error) {
					result, err = run(ctx, in.Info().WorkflowType, Raw(input))
					return err
				})
				if err != nil {
					return nil, err
				}
				return payload.MustEncodeRaw(result), nil
			},
		})
	})
}

// ReceiveSignals waits for the next signal of a name that the code has not received by that name
// (Signal.Receive), in the order of arrival. Signals that arrived before are received, too. The
// binding has to allow it: BindOptions.Dynamic with Signals. It returns a *CanceledError as soon as
// ctx is canceled, unless a signal is there.
func ReceiveSignals(ctx Context) (name string, value Raw, err error) {
	s := ctx.scheduler()
	s.MustRun("receive a signal")
	v, err := ctx.instance().SignalsOfAllNames().Receive(s, ctx.scope)
	return v.Name, Raw(v.Input), err
}

// TryReceiveSignals returns the next signal that ReceiveSignals would return if one has arrived;
// otherwise ok is false.
func TryReceiveSignals(ctx Context) (name string, value Raw, ok bool) {
	s := ctx.scheduler()
	s.MustRun("receive a signal")
	v, ok := ctx.instance().SignalsOfAllNames().TryReceive(s)
	return v.Name, Raw(v.Input), ok
}

// OnSignals is ready when a signal has arrived that ReceiveSignals would return, and passes its
// name and its value to fn. A nil fn does nothing.
func OnSignals(fn func(name string, value Raw)) Case {
	return Case{func(ctx Context) waiting {
		s, channel := ctx.scheduler(), ctx.instance().SignalsOfAllNames()
		var v engine.NamedSignal
		return waiting{
			list: channel.Receivers(),
			ready: func() (ok bool) {
				v, ok = channel.TryReceive(s)
				return ok
			},
			then: func() {
				if fn != nil {
					fn(v.Name, Raw(v.Input))
				}
			},
			leave: func() { channel.PassOn(s) },
		}
	}}
}

// UpdatesOptions tunes the handler of HandleUpdates. The zero value is the default.
type UpdatesOptions struct {
	// Validate is the validator: see HandlerOptions.Validate.
	Validate func(name string, in Raw) error
	// Abandon allows the workflow to end while the handler runs. Without it, that logs a warning.
	Abandon bool
}

// HandleUpdates sets the handler of the updates whose name has no handler of its own
// (Update.Handle). The binding has to allow it: BindOptions.Dynamic with Updates. Set it after the
// handlers of names: it takes the updates that have arrived and that have no handler then. Setting
// it twice fails the task.
func HandleUpdates(ctx Context, fn func(ctx Context, name string, in Raw) (Raw, error), sets ...UpdatesOptions) {
	o, at := options.Of(sets), where.Caller()
	ctx.instance().HandleUpdates(at, func(name string) *engine.UpdateHandler {
		h := &engine.UpdateHandler{
			Where: at, Abandon: o.Abandon,
			Decode: func(p history.Payload) (any, error) { return Raw(p), nil },
			Handle: func(scope *coro.Scope, input any) (history.Payload, error) {
				inner := ctx
				inner.scope = scope
				var out Raw
				err := inner.aroundUpdate(name, func(ctx Context) (err error) {
					out, err = fn(ctx, name, as[Raw](input))
					return err
				})
				if err != nil {
					return nil, err
				}
				return payload.MustEncodeRaw(out), nil
			},
		}
		if o.Validate != nil {
			h.Validate = func(input any) error { return o.Validate(name, as[Raw](input)) }
		}
		return h
	})
}

// HandleQueries sets the handler of the queries whose name has no handler of its own
// (Query.Handle). The binding has to allow it: BindOptions.Dynamic with Queries. Setting it twice
// fails the task.
func HandleQueries(ctx Context, fn func(name string, in Raw) (Raw, error)) {
	at := where.Caller()
	ctx.instance().HandleQueries(at, func(name string) *engine.QueryHandler {
		return &engine.QueryHandler{Where: at, Answer: func(input history.Payload) (history.Payload, error) {
			out, err := fn(name, Raw(input))
			if err != nil {
				return nil, err
			}
			return payload.EncodeRaw(out)
		}}
	})
}
