// Command go-workflows measures go-workflows, a library in this process over a SQLite file. It has
// no updates.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
	"github.com/seed-41655fb1/weft/proof/peers/measure"
)

func step(_ context.Context, n int) (int, error) { return n + 1, nil }

func steps(ctx workflow.Context, n int) (sum int, err error) {
	for range n {
		if sum, err = workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, step, sum).Get(ctx); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

type peer struct{ c *client.Client }

func (p peer) Run(ctx context.Context, id string, n int) (int, error) {
	in, err := p.c.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id}, steps, n)
	if err != nil {
		return 0, err
	}
	return client.GetWorkflowResult[int](ctx, p.c, in, time.Minute)
}

func (peer) Open(context.Context, string) error { return nil }

func (peer) Add(context.Context, string, int) (int, bool, error) { return 0, false, nil }

func main() {
	file := flag.String("file", "", "the database")
	flag.Parse()
	if err := run(*file); err != nil {
		fmt.Fprintln(os.Stderr, "go-workflows:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := monoprocess.NewMonoprocessBackend(sqlite.NewSqliteBackend(file, sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.DiscardHandler)))))
	w := worker.New(b, nil)
	if err := w.RegisterWorkflow(steps); err != nil {
		return err
	}
	if err := w.RegisterActivity(step); err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	measure.Main("go-workflows", peer{client.New(b)}, measure.Options{NoCart: true})
	return nil
}
