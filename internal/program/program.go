// Package program creates the registry of a program: what its author registers, and Weft's own
// workflows.
package program

import (
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	batch "github.com/seed-41655fb1/weft/internal/batch/flow"
	"github.com/seed-41655fb1/weft/internal/bridge"
	notify "github.com/seed-41655fb1/weft/internal/notify/flow"
	probe "github.com/seed-41655fb1/weft/internal/probe/flow"
	"github.com/seed-41655fb1/weft/internal/schedule/flow"
	"github.com/seed-41655fb1/weft/workflow"
)

// own returns Weft's own workflows. Each program has them.
func own() []workflow.Registration {
	return []workflow.Registration{flow.Registration(), batch.Registration(), probe.Registration(), notify.Registration()}
}

// Registry returns a registry of these workflows and activities, and of Weft's own workflows. If
// some of them are invalid, the error says why, and the registry has the others. A name that begins
// with "weft." is invalid.
func Registry(registrations ...workflow.Registration) (*engine.Registry, error) {
	r := &engine.Registry{}
	var wrong []error
	for _, registration := range own() {
		wrong = append(wrong, bridge.Register(r, registration))
	}
	r.ReserveOwn()
	for _, registration := range registrations {
		wrong = append(wrong, bridge.Register(r, registration))
	}
	return r, errors.Join(wrong...)
}
