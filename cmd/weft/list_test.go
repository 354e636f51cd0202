package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/tickets"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/workflow"
)

// weft list prints the runs that a filter selects, from as many pages as needed.
func TestList(t *testing.T) {
	t.Parallel()
	api, hall := serve(t), workflow.NewAttribute[int64]("Hall")
	for n := range 130 {
		attributes := []workflow.SearchAttribute{hall.Set(int64(n % 65))}
		if _, err := tickets.Workflow.Start(t.Context(), client.New(api), fmt.Sprint("show-", n), 100, workflow.StartOptions{SearchAttributes: attributes}); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]int{"--limit=1000": 131, "--limit=105": 106, "Hall = 7": 3, "Hall = 70": 1} {
		text, err := commandWith(t, "", "list", args, "--url="+api)
		if err != nil || strings.Count(text, "\n") != want || want > 1 && !strings.Contains(text, `running`) {
			t.Errorf("%s: %v\n%s\nwant %d lines", args, err, text, want)
		}
	}
	if text, err := commandWith(t, "", "list", "Hall = 7", "--limit=1", "-q", "--url="+api); err != nil || text != "show-72\n" {
		t.Errorf("%q, %v", text, err)
	}
	for _, form := range []string{"--json", "--output=jsonl"} {
		text, err := commandWith(t, "", "list", "WorkflowId = 'show-9'", form, "--url="+api)
		var run client.Summary
		if err != nil || json.Unmarshal([]byte(text), &run) != nil {
			t.Fatal(text, err)
		}
		if n, ok := hall.Of(run.SearchAttributes); n != 9 || !ok || run.WorkflowID != "show-9" {
			t.Errorf("%s", text)
		}
	}
	if _, err := commandWith(t, "", "list", "Hall ~ 7", "--url="+api); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("an invalid filter: %v", err)
	}
}

// A list that ends at its limit says so, also in a pipe. One that is whole says nothing.
func TestLimited(t *testing.T) {
	t.Parallel()
	pages := func(token string) ([]int, string, error) {
		if token == "" {
			return []int{1, 2}, "next", nil
		}
		return []int{3, 4}, "", nil
	}
	for limit, want := range map[int]struct {
		n    int
		says bool
	}{1: {1, true}, 2: {2, true}, 3: {3, true}, 4: {4, false}, 9: {4, false}} {
		for _, live := range []bool{true, false} {
			var errs strings.Builder
			n := 0
			for page, err := range limited(&cli.Session{Err: &errs, Live: live}, limit, pages) {
				if err != nil {
					t.Fatal(err)
				}
				n += len(page)
			}
			if says := strings.Contains(errs.String(), "there may be more"); n != want.n || says != want.says {
				t.Errorf("limit %d, terminal %v: %d things, and %q", limit, live, n, errs.String())
			}
		}
	}
}

// A list without rows says so on a terminal, and only there.
func TestNoting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width int
		pages [][]int
		err   error
		want  string
	}{
		{80, [][]int{nil}, nil, "No run matches.\n"}, {80, nil, nil, "No run matches.\n"}, {80, [][]int{nil, {1}}, nil, ""}, {0, [][]int{nil}, nil, ""}, {80, nil, errors.New("refused"), ""},
	} {
		var errs strings.Builder
		pages := func(yield func([]int, error) bool) {
			for _, page := range c.pages {
				if !yield(page, nil) {
					return
				}
			}
			if c.err != nil {
				yield(nil, c.err)
			}
		}
		n := 0
		for range noting(&cli.Session{Err: &errs, Width: c.width}, "No run matches.", pages) {
			n++
		}
		if errs.String() != c.want || c.err == nil && n != len(c.pages) {
			t.Errorf("%+v: %q", c, errs.String())
		}
	}
}

// A terminal that is too narrow cuts what commands do not take before the ids that they do.
func TestNarrowTables(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for what, c := range map[string]struct {
		width int
		print func(*cli.Session) error
		want  string
	}{
		"runs": {80, func(s *cli.Session) error {
			run := client.Summary{WorkflowRun: client.WorkflowRun{WorkflowID: "1-9e179bc8b529cd04:1", RunID: "1-0bf05646e5d95e4d", Type: "order", StartedAt: at, Status: history.Running}}
			return runs.Print(s, cli.Output{Output: "table"}, cli.Pages([]client.Summary{run}))
		}, "1-9e179bc8b529cd04:1  1-0bf"},
		"batches": {100, func(s *cli.Session) error {
			one := client.BatchSummary{BatchID: "37a609c9-32ce-4862-99a1-009d1d7b3e27", Kind: "terminate", State: "completed", StartedAt: at, Filter: "WorkflowType = 'order' AND Region = 'eu'"}
			return batches.Print(s, cli.Output{Output: "table"}, cli.Pages([]client.BatchSummary{one}))
		}, "37a609c9-32ce-4862-99a1-009d1d7b3e27  terminate"},
		"events": {80, func(s *cli.Session) error {
			return eventsOn(s).Print(s, cli.Output{Output: "table"}, cli.Pages([]client.HistoryEvent{{ID: 1, Time: at}}))
		}, "    1  08:00:00.000Z  "},
	} {
		var out strings.Builder
		if err := c.print(&cli.Session{Out: &out, Err: io.Discard, Width: c.width}); err != nil {
			t.Fatal(err)
		}
		_, row, _ := strings.Cut(out.String(), "\n")
		if !strings.HasPrefix(row, c.want) {
			t.Errorf("%s: %s\nwant %s", what, out.String(), c.want)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > c.width {
				t.Errorf("%s: %d columns: %s", what, n, line)
			}
		}
	}
}

// The status of a run in the list says what its row knows besides.
func TestListedCell(t *testing.T) {
	t.Parallel()
	run := func(status history.Status, state client.RunState, reason string) (run client.Summary) {
		run.Status, run.State, run.CloseReason = status, state, reason
		return run
	}
	for want, run := range map[string]client.Summary{
		"running":          run(history.Running, "", ""),
		"running (stuck)":  run(history.Running, client.StateStuck, ""),
		"running (paused)": run(history.Running, client.StatePaused, ""),
		"completed":        run(history.Completed, "", ""),
		"running (retrying: pay, ship)": {
			WorkflowRun: client.WorkflowRun{Status: history.Running}, State: client.StateRetrying, FailingActivities: []string{"pay", "ship"},
		},
		"failed (Declined)": run(history.Failed, "", "Declined"),
		"terminated":        run(history.Terminated, "", "terminated"),
	} {
		if got := listedCell(run).Text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
