// Package weft runs workflows: durable Go code whose history lives in a store, and which can be
// signalled, queried and updated while it runs.
//
// A program registers its workflows and activities once. The same registry runs the local server
// and, on AWS, the Lambda functions:
//
//	func main() {
//		weft.Main(weft.Register(workflow.Bind(cart.Workflow, cart.Run, cart.Names), cart.Reserve, cart.Charge))
//	}
//
// Workflows are written with package workflow, activities with package activity, and called with
// package client.
package weft

import (
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/workflow"
)

// Registry is the set of workflows and activities that a program knows. It does not change.
type Registry struct {
	types *engine.Registry
	wrong error
}

// Register returns a registry of these workflows and activities. A mistake in them (two of one
// name, an empty name, options that cannot be) is reported by whatever uses the registry, with the
// place of each declaration.
func Register(registrations ...workflow.Registration) *Registry {
	types, err := program.Registry(registrations...)
	return &Registry{types, err}
}

// Err returns everything that is wrong with the registrations, or nil.
func (r *Registry) Err() error {
	if r.wrong == nil {
		return nil
	}
	return fmt.Errorf("cannot use these registrations:\n  %s", strings.ReplaceAll(r.wrong.Error(), "\n", "\n  "))
}
