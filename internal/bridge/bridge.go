// Package bridge gives Weft's packages access to what packages workflow, activity and client hide
// from programs: what an activity is to the engine, how workflow code starts one, how a retry
// policy is recorded, and how a client waits. A program cannot import it, so none of that is part
// of the API.
//
//	activity.New, workflow.Bind ── embed or return a Part ──▶ Registration ── Register ──▶ engine.Registry
//	activity.Activity.Start ── StartActivity ──▶ what package workflow has given to Connect ──▶ engine.Instance
package bridge

import (
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Registration is what a program registers. Its method is unexported, so only a Part implements it.
type Registration interface {
	register(r *engine.Registry) error
}

// Part is a Registration, and so is a type that embeds one.
type Part struct{ add func(*engine.Registry) error }

// PartOf returns a part that calls add with the registry.
func PartOf(add func(*engine.Registry) error) Part { return Part{add} }

func (p Part) register(r *engine.Registry) error {
	if p.add == nil {
		return errors.New("a zero value was registered: create it with the constructor of its package")
	}
	return p.add(r)
}

// Register adds what a program registers to a registry.
func Register(r *engine.Registry, registration Registration) error { return registration.register(r) }

// Start is the start of an activity by workflow code: its context, a workflow.Context, and its
// input. It is one object because each allocation shows in a replay.
type Start[Context any] interface {
	Context() Context
	// Encode returns the encoded input.
	Encode() history.Payload
	// Converter returns the converter of the activity's values; nil is encoding/json.
	Converter() payload.Converter
}

// Starter is how workflow code starts activities. start is a Start[workflow.Context], ctx a
// workflow.Context, and typ a nil *workflow.Future[Out]. The result is a pointer of that type, to
// the future of the activity's result: package activity cannot create one.
type Starter struct {
	Activity func(start any, call engine.ActivityCall, typ any) (future any)
	Local    func(ctx any, call engine.LocalCall, by payload.Converter, typ any) (future any)
}

// starter is set by package workflow before any code of a program runs.
var starter Starter

// Connect sets the starter. Only package workflow calls it, while it is initialized.
func Connect(s Starter) { starter = s }

// StartActivity starts an activity, and returns the future of its result, a workflow.Future.
func StartActivity[Future, Context any](start Start[Context], call engine.ActivityCall) Future {
	return *starter.Activity(start, call, (*Future)(nil)).(*Future)
}

// StartLocalActivity starts a local activity, as StartActivity starts another. ctx is a
// workflow.Context.
func StartLocalActivity[Future any](ctx any, call engine.LocalCall, by payload.Converter) Future {
	return *starter.Local(ctx, call, by, (*Future)(nil)).(*Future)
}
