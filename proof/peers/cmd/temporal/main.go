// Command temporal measures a running Temporal server with the Go SDK. The worker and the client
// are in this process. run starts the server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/seed-41655fb1/weft/proof/peers/measure"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func step(_ context.Context, n int) (int, error) { return n + 1, nil }

func steps(ctx workflow.Context, n int) (sum int, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for range n {
		if err := workflow.ExecuteActivity(ctx, step, sum).Get(ctx, &sum); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

const refused = "quantity below 1"

func cart(ctx workflow.Context) (int, error) {
	total := 0
	err := workflow.SetUpdateHandlerWithOptions(ctx, "add", func(_ workflow.Context, q int) (int, error) {
		total += q
		return total, nil
	}, workflow.UpdateHandlerOptions{Validator: func(q int) error {
		if q < 1 {
			return temporal.NewApplicationError(refused, "quantity")
		}
		return nil
	}})
	if err != nil {
		return 0, err
	}
	workflow.GetSignalChannel(ctx, "done").Receive(ctx, nil)
	return total, nil
}

const queue = "side"

type peer struct{ c client.Client }

func (p peer) Run(ctx context.Context, id string, n int) (got int, err error) {
	r, err := p.c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, steps, n)
	if err != nil {
		return 0, err
	}
	err = r.Get(ctx, &got)
	return got, err
}

func (p peer) Open(ctx context.Context, id string) error {
	_, err := p.c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, cart)
	return err
}

func (p peer) Add(ctx context.Context, id string, q int) (total int, no bool, err error) {
	h, err := p.c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: "add", Args: []any{q}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(ctx, &total)
	}
	if a := (*temporal.ApplicationError)(nil); errors.As(err, &a) && a.Type() == "quantity" {
		return 0, true, nil
	}
	return total, false, err
}

// dial connects and discards the SDK's default logs.
func dial(addr string) client.Client {
	c, err := client.Dial(client.Options{HostPort: addr, Logger: sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))})
	if err != nil {
		fmt.Fprintln(os.Stderr, "temporal:", err)
		os.Exit(1)
	}
	return c
}

func main() {
	addr := flag.String("addr", "127.0.0.1:28033", "server")
	name := flag.String("name", "temporal", "the name of the peer")
	flag.Parse()
	c := dial(*addr)
	defer c.Close()
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(steps)
	w.RegisterWorkflow(cart)
	w.RegisterActivity(step)
	if err := w.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "temporal:", err)
		os.Exit(1)
	}
	defer w.Stop()
	// A run accepts 2,000 updates. After that another run has to be started.
	measure.Main(*name, peer{c}, measure.Options{AddsOfACart: 1900})
}
