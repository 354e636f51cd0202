package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/examples"
	"github.com/seed-41655fb1/weft/internal/isolate"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/seal"
	"github.com/seed-41655fb1/weft/weftotel"
)

// dev runs the local server.
type dev struct {
	Addr        string   `default:"127.0.0.1:8080" env:"WEFT_ADDR" help:"Address to serve the HTTP API at."`
	Data        string   `default:".weft" env:"WEFT_DATA" help:"Directory in which everything is kept."`
	CORSOrigins []string `name:"cors-origins" env:"WEFT_CORS_ORIGINS" placeholder:"ORIGIN" help:"Origins whose web pages may use the API, as http://localhost:5173, or * for all."`
	isolate.ProcessFlags
	limits.QueueFlags
	limits.Flags
	seal.KeyFlags
}

// Run runs the server until it is interrupted.
func (d *dev) Run(ctx context.Context) error {
	log, err := observe.TextLogger(os.Stderr, os.Getenv)
	if err != nil {
		return err
	}
	slog.SetDefault(log)
	local.TuneMemory(os.Getenv)
	return weft.Serve(ctx, registry(), weft.Options{
		Addr: d.Addr, Data: d.Data, CORSOrigins: d.CORSOrigins, Limits: d.Engine(), KeyFile: d.KeyFile, Compress: d.Compress != "off", SmallPayloads: !d.LargePayloads, TaskQueues: d.TaskQueues, Rate: d.Rate, Isolate: d.Isolation(),
		Greeting: greet, Log: log, Telemetry: weftotel.Open,
	})
}

// registry has all the examples.
func registry() *weft.Registry { return weft.Register(examples.All()...) }

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
