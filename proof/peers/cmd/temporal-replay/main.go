// Command temporal-replay measures cold replays with the Go SDK's replayer. It starts the replayed
// run on a running server. It replays the history from memory, and from its bytes, as a worker gets
// it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/seed-41655fb1/weft/proof/peers/measure"
	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
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

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func main() {
	addr := flag.String("addr", "127.0.0.1:28033", "server")
	n := flag.Int("activities", 1000, "activities of the run")
	flag.Parse()
	r := measure.NewReport("temporal-memory") // the store does not matter for a replay
	ctx := context.Background()
	log := sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError})))
	c, err := client.Dial(client.Options{HostPort: *addr, Logger: log})
	must(err)
	defer c.Close()
	w := worker.New(c, "replay", worker.Options{})
	w.RegisterWorkflow(steps)
	w.RegisterActivity(step)
	must(w.Start())
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: fmt.Sprint("replay-", time.Now().UnixNano()), TaskQueue: "replay"}, steps, *n)
	must(err)
	must(run.Get(ctx, nil))
	w.Stop()
	h := &history.History{}
	events := c.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		must(err)
		h.Events = append(h.Events, e)
	}
	replay := func(h *history.History) error {
		rp := worker.NewWorkflowReplayer()
		rp.RegisterWorkflow(steps)
		return rp.ReplayWorkflowHistory(log, h)
	}
	text, err := proto.Marshal(h)
	must(err)
	must(r.Replay("replay_stored", *n, len(h.Events), func() error {
		var h history.History
		if err := proto.Unmarshal(text, &h); err != nil {
			return err
		}
		return replay(&h)
	}))
	must(r.Replay("replay_decoded", *n, len(h.Events), func() error { return replay(h) }))
}
