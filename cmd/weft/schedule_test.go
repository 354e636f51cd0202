package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/tickets"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/workflow"
)

// The commands of weft schedule change a schedule as they say.
func TestSchedule(t *testing.T) {
	t.Parallel()
	api := serve(t)
	_, err := tickets.Workflow.Schedule(t.Context(), client.New(api), "shows", 100, workflow.ScheduleOptions{Cron: []string{"0 20 * * *"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		fails      bool
	}{
		{"list", "shows     20", false},
		{"pause shows --note=closed", "", false},
		{"describe shows", `"note": "closed"`, false},
		{"unpause shows", "", false},
		{"trigger shows --overlap=allowAll", "", false},
		{"trigger shows --overlap=never", "there is no overlapPolicy", true},
		{"backfill shows --from=2026-11-20T00:00:00Z --to=2026-11-20T23:00:00Z", "", false},
		{"describe shows", `"started": 1`, false},
		{"delete shows", "", false},
		{"pause shows", "there is no schedule", true},
	} {
		out, err := command(t, "schedule "+c.args+" --url="+api)
		if err != nil {
			out += strings.ToLower(err.Error())
		}
		if c.fails != (err != nil) || !strings.Contains(strings.ToLower(out), strings.ToLower(c.want)) {
			t.Errorf("weft schedule %s: %v\n%s\nwant %q", c.args, err, out, c.want)
		}
	}
}

// command runs a command of weft, and returns what the command prints.
func command(t *testing.T, line string) (string, error) {
	t.Helper()
	return commandWith(t, "", strings.Fields(line)...)
}

// commandWith runs a command of weft with standard input, in an empty environment.
func commandWith(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	s := &cli.Session{In: strings.NewReader(stdin), Out: &out, Err: io.Discard, Getenv: func(string) string { return "" }}
	err := execute(t.Context(), s, args)
	return out.String(), err
}
