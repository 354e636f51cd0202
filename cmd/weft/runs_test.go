package main

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/workflow"
)

// weft runs says how each run of a workflow began and closed, and which one follows. The
// description of a closed run names the one that follows it, too.
func TestRuns(t *testing.T) {
	t.Parallel()
	var (
		twice = workflow.NewWorkflow[bool, string]("twice")
		fails = workflow.NewWorkflow[workflow.None, string]("fails")
	)
	url := work(t, "", append(steered(&atomic.Bool{}),
		workflow.Bind(twice, func(ctx workflow.Context, again bool) (string, error) {
			if again {
				return twice.ContinueAsNew(ctx, false)
			}
			return "done", nil
		}),
		workflow.Bind(fails, func(workflow.Context, workflow.None) (string, error) {
			return "", workflow.NewError("NoTea", "no tea left")
		}))...)
	do := func(code cli.Code, args ...string) string {
		t.Helper()
		got, out, errs := exits(t, append(args, "--url="+url)...)
		if got != code {
			t.Fatalf("weft %q: code %d, %s%s", args, got, out, errs)
		}
		return out
	}
	do(cli.Done, "start", "twice", "--id=t", "--input=true", "--wait")
	do(cli.Failed, "start", "fails", "--id=f", "--wait")
	do(cli.Done, "reset", "f", "--to=firstTask")
	do(cli.Done, "start", "cart", "--id=c", "-d", `{"owner":"ada"}`)
	do(cli.Done, "reset", "c", "--to=firstTask")
	do(cli.Done, "start", "cart", "--id=c", "-d", `{"owner":"ada"}`, "--conflict=terminateExisting")
	for id, want := range map[string][2]string{ // how the first run closed, and what its description calls the next one
		"t": {"continuedAsNew", "continued by"},
		"f": {"failed (NoTea)", "reset to"},
		"c": {"terminated (reset)", "reset to"},
	} {
		ids := strings.Fields(do(cli.Done, "runs", id, "-q"))
		lines := strings.Split(strings.TrimSpace(do(cli.Done, "runs", id)), "\n")
		if len(ids) < 2 || len(lines) != len(ids)+1 || !strings.HasPrefix(lines[0], "RUN") {
			t.Fatalf("the runs of %s are %q\n%q", id, ids, lines)
		}
		first, second, row := ids[len(ids)-1], ids[len(ids)-2], lines[len(lines)-1]
		if !strings.HasPrefix(row, first) || !strings.Contains(row, want[0]) || !strings.Contains(row, "  start  ") || !strings.HasSuffix(row, "Z  "+second) {
			t.Errorf("the first run of %s is %q, want %s, and then %s", id, row, want[0], second)
		}
		if out := do(cli.Done, "describe", id, "--run="+first); !hasField(out, want[1], second) {
			t.Errorf("run %s of %s is described as\n%s\nwant %s %s", first, id, out, want[1], second)
		}
	}
	ids := strings.Fields(do(cli.Done, "runs", "c", "-q", "--limit=2"))
	if out := do(cli.Done, "describe", "c", "--run="+ids[1]); len(ids) != 2 || !hasField(out, "replaced by", ids[0]) {
		t.Errorf("run %s is described as\n%s\nwant replaced by %s", ids[1], out, ids[0])
	}
	var described struct{ ResetToRunID, RunID string }
	ids = strings.Fields(do(cli.Done, "runs", "f", "-q"))
	if err := json.Unmarshal([]byte(do(cli.Done, "describe", "f", "--run="+ids[1], "-o", "json")), &described); err != nil || described.ResetToRunID != ids[0] || described.RunID != ids[1] {
		t.Errorf("%v, %+v, want %s", err, described, ids[0])
	}
	var listed []client.ChainedRun
	if err := json.Unmarshal([]byte(do(cli.Done, "runs", "f", "-o", "json")), &listed); err != nil || len(listed) != 2 || listed[0].StartedBy != client.StartedByReset || listed[1].CloseReason != "NoTea" {
		t.Errorf("%v, %+v", err, listed)
	}
	do(cli.NotFound, "runs", "nothing")
}

// hasField reports whether a page has a field with a value.
func hasField(page, name, value string) bool {
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok && strings.TrimSpace(rest) == value {
			return true
		}
	}
	return false
}
