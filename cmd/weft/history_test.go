package main

import (
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/tickets"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// serve runs a local server with the workflows of tickets and schedules, and with others. It
// returns the server's address.
func serve(t *testing.T, others ...workflow.Registration) string {
	t.Helper()
	types, err := program.Registry(slices.Concat(tickets.Registrations(), others)...)
	if err != nil {
		t.Fatal(err)
	}
	server, err := local.Open(types, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		api.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return api.URL
}

// weft history prints a history that weftest.Replay accepts.
func TestHistory(t *testing.T) {
	t.Parallel()
	api := serve(t)
	run, err := tickets.Workflow.Start(t.Context(), client.New(api), "show-1", 100)
	if err != nil {
		t.Fatal(err)
	}
	latest, err := command(t, "history show-1 --url="+api)
	if err != nil {
		t.Fatal(err)
	}
	weftest.Replay(t, tickets.Registrations(), weftest.JSON([]byte(latest)))
	if pinned, err := command(t, "history show-1 --run="+string(run.RunID)+" --url="+api); err != nil || pinned != latest {
		t.Errorf("%s, %v; want\n%s", pinned, err, latest)
	}
	if table, err := command(t, "history show-1 -o table --url="+api); err != nil || !strings.Contains(table, "1  20") || !strings.Contains(table, "WorkflowExecutionStarted") {
		t.Errorf("%v\n%s", err, table)
	}
	if _, err := command(t, "history show-2 --url="+api); !errors.Is(err, client.ErrNotFound) || cli.CodeOf(err) != cli.NotFound {
		t.Errorf("the history of an unknown workflow: %v", err)
	}
}
