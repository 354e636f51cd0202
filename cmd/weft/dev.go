package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/examples/approval"
	"github.com/seed-41655fb1/weft/examples/cancellation"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/examples/conditions"
	"github.com/seed-41655fb1/weft/examples/determinism"
	"github.com/seed-41655fb1/weft/examples/errors"
	"github.com/seed-41655fb1/weft/examples/fanout"
	"github.com/seed-41655fb1/weft/examples/locks"
	"github.com/seed-41655fb1/weft/examples/queries"
	"github.com/seed-41655fb1/weft/examples/retries"
	"github.com/seed-41655fb1/weft/examples/selects"
	"github.com/seed-41655fb1/weft/examples/signals"
	"github.com/seed-41655fb1/weft/examples/timeouts"
	"github.com/seed-41655fb1/weft/examples/timers"
	"github.com/seed-41655fb1/weft/workflow"
)

// dev runs the local server.
type dev struct {
	Addr string `default:"127.0.0.1:8080" env:"WEFT_ADDR" help:"Address to serve the HTTP API at."`
	Data string `default:".weft" env:"WEFT_DATA" help:"Directory in which everything is kept."`
}

// Run runs the server until it is interrupted.
func (d *dev) Run(ctx context.Context) error {
	return weft.Serve(ctx, examples(), weft.Options{Addr: d.Addr, Data: d.Data, Greeting: greet})
}

// examples are all the examples, in one registry.
func examples() *weft.Registry {
	var all []workflow.Registration
	for _, registrations := range []func() []workflow.Registration{
		approval.Registrations, cancellation.Registrations, cart.Registrations, conditions.Registrations, determinism.Registrations,
		errors.Registrations, fanout.Registrations, locks.Registrations, queries.Registrations, retries.Registrations,
		selects.Registrations, signals.Registrations, timeouts.Registrations, timers.Registrations,
	} {
		all = slices.Concat(all, registrations())
	}
	return weft.Register(all...)
}

// greet prints lines to paste.
func greet(out io.Writer, url string) {
	_, _ = fmt.Fprintf(out, `Weft is at %[1]s with the example workflows. Stop it with Ctrl-C; what is open goes on when it is started again.

Start a cart, and put something into it (the second update is refused: nothing is written):
  curl -i %[1]s/v1/workflows -d '{"workflowId":"cart-1","type":"cart","input":{"owner":"ada"}}'
  curl -i %[1]s/v1/workflows/cart-1/updates/addItem -d '{"input":{"sku":"tea","quantity":2}}'
  curl -i %[1]s/v1/workflows/cart-1/updates/addItem -d '{"input":{"sku":"tea","quantity":100}}'
Look at it, and check out:
  curl -i %[1]s/v1/workflows/cart-1/queries/cart -d '{}'
  curl -i %[1]s/v1/workflows/cart-1/updates/checkout -d '{}'
  curl -i '%[1]s/v1/workflows/cart-1/result?wait=20s'
  curl -i %[1]s/v1/workflows/cart-1/history
`, url)
}
