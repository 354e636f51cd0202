// Package examples lists the examples. Each is a folder that shows one idea. The local server and
// the deployed functions register this list.
package examples

import (
	"maps"
	"slices"

	"github.com/seed-41655fb1/weft/examples/agent"
	"github.com/seed-41655fb1/weft/examples/approval"
	"github.com/seed-41655fb1/weft/examples/attributes"
	"github.com/seed-41655fb1/weft/examples/callbacks"
	"github.com/seed-41655fb1/weft/examples/campaigns"
	"github.com/seed-41655fb1/weft/examples/cancellation"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/examples/children"
	"github.com/seed-41655fb1/weft/examples/conditions"
	"github.com/seed-41655fb1/weft/examples/continued"
	"github.com/seed-41655fb1/weft/examples/determinism"
	"github.com/seed-41655fb1/weft/examples/documents"
	"github.com/seed-41655fb1/weft/examples/errors"
	"github.com/seed-41655fb1/weft/examples/fanout"
	"github.com/seed-41655fb1/weft/examples/heartbeats"
	"github.com/seed-41655fb1/weft/examples/interceptors"
	"github.com/seed-41655fb1/weft/examples/locks"
	"github.com/seed-41655fb1/weft/examples/lookups"
	"github.com/seed-41655fb1/weft/examples/nightly"
	"github.com/seed-41655fb1/weft/examples/patches"
	"github.com/seed-41655fb1/weft/examples/pinned"
	"github.com/seed-41655fb1/weft/examples/queries"
	"github.com/seed-41655fb1/weft/examples/retries"
	"github.com/seed-41655fb1/weft/examples/schedules"
	"github.com/seed-41655fb1/weft/examples/selects"
	"github.com/seed-41655fb1/weft/examples/signals"
	"github.com/seed-41655fb1/weft/examples/taskqueues"
	"github.com/seed-41655fb1/weft/examples/tickets"
	"github.com/seed-41655fb1/weft/examples/timeouts"
	"github.com/seed-41655fb1/weft/examples/timers"
	"github.com/seed-41655fb1/weft/workflow"
)

// Registrations returns everything that a program has to register to run the examples, by the names
// of their folders. Hello is not in it, because it is a program of its own.
func Registrations() map[string][]workflow.Registration {
	return map[string][]workflow.Registration{
		"agent":        agent.Registrations(),
		"approval":     approval.Registrations(),
		"attributes":   attributes.Registrations(),
		"callbacks":    callbacks.Registrations(),
		"campaigns":    campaigns.Registrations(),
		"cancellation": cancellation.Registrations(),
		"continued":    continued.Registrations(),
		"cart":         cart.Registrations(),
		"children":     children.Registrations(),
		"conditions":   conditions.Registrations(),
		"determinism":  determinism.Registrations(),
		"documents":    documents.Registrations(),
		"errors":       errors.Registrations(),
		"fanout":       fanout.Registrations(),
		"heartbeats":   heartbeats.Registrations(),
		"interceptors": interceptors.Registrations(),
		"locks":        locks.Registrations(),
		"lookups":      lookups.Registrations(),
		"nightly":      nightly.Registrations(),
		"patches":      patches.Registrations(),
		"pinned":       pinned.Registrations(),
		"queries":      queries.Registrations(),
		"retries":      retries.Registrations(),
		"schedules":    schedules.Registrations(),
		"selects":      selects.Registrations(),
		"signals":      signals.Registrations(),
		"taskqueues":   taskqueues.Registrations(),
		"tickets":      tickets.Registrations(),
		"timeouts":     timeouts.Registrations(),
		"timers":       timers.Registrations(),
	}
}

// All returns the registrations in one list.
func All() []workflow.Registration {
	return slices.Concat(slices.Collect(maps.Values(Registrations()))...)
}
