package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/weftotel"
)

// dev runs the local server.
type dev struct {
	weft.Flags `embed:""`
}

// Run runs the server until it is interrupted.
func (d *dev) Run(ctx context.Context) error {
	log, failures, err := local.Logger(os.Stderr, os.Getenv)
	if err != nil {
		return err
	}
	slog.SetDefault(log)
	local.TuneMemory(os.Getenv)
	return weft.Serve(ctx, registry(), d.Over(weft.Options{Greeting: greet, Log: log, LogFailures: failures, Telemetry: weftotel.Open}))
}

// registry returns a registry of all examples.
func registry() *weft.Registry { return weft.Register(examples.All()...) }

// greet prints lines to paste.
func greet(out io.Writer, url string) {
	_, _ = fmt.Fprintf(out, `Weft is at %[1]s with the example workflows. Stop it with Ctrl-C.
Open workflows continue when you start it again.

Start a cart, and put something into it (the second update is refused: nothing is written):
  curl -i %[1]s/v1/workflows -d '{"workflowId":"cart-1","type":"cart","input":{"owner":"ada"}}'
  curl -i %[1]s/v1/workflows/cart-1/updates/addItem -d '{"input":{"sku":"tea","quantity":2}}'
  curl -i %[1]s/v1/workflows/cart-1/updates/addItem -d '{"input":{"sku":"tea","quantity":100}}'
Look at it, and check out:
  curl -i %[1]s/v1/workflows/cart-1/queries/cart -d '{}'
  curl -i %[1]s/v1/workflows/cart-1/updates/checkout -d '{}'
  curl -i '%[1]s/v1/workflows/cart-1/result?wait=20s'
  curl -i %[1]s/v1/workflows/cart-1/history
List all runs:
  weft list --url %[1]s
`, url)
}
