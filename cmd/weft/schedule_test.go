package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
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
		{"backfill shows --from=24h --to=now", "", false},
		{"update shows tickets --cron=@daily --input=true", "input.schedule.action.input: want integer, got boolean", true},
		{"update shows tickts --cron=@daily --input=100", `there is no workflow type "tickts": give one of [`, true},
		{"create others tickets --cron=@daily --input=true", "action.input: want integer, got boolean", true},
		{"update shows tickets --cron=@daily --input=100", "", false},
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

// weft schedule list --details has what one looks for: whether a schedule is paused, what it starts
// and when, and how the last run ended. A schedule that does not answer says why.
func TestScheduleDetails(t *testing.T) {
	t.Parallel()
	api := work(t, "", steered(&atomic.Bool{})...)
	do := func(args ...string) string {
		t.Helper()
		code, out, errs := exits(t, append(args, "--url="+api)...)
		if code != cli.Done {
			t.Fatalf("weft %q: code %d, %s%s", args, code, out, errs)
		}
		return out
	}
	do("schedule", "create", "a", "fragile", "--cron=0 3 * * *", "--every=24h+90m", "--time-zone=Europe/Berlin")
	do("schedule", "create", "b", "cart", "-d", `{"owner":"ada"}`, "--every=1h", "--paused")
	do("schedule", "create", "c", "cart", "-d", `{"owner":"ada"}`, "--every=10s", "--end-at=2026-11-21T00:00:00Z")
	do("schedule", "create", "d", "cart", "-d", `{"owner":"ada"}`, "--every=1h")
	do("schedule", "trigger", "a")
	for !strings.Contains(do("schedule", "describe", "a", "-o", "table"), "completed") { // until its run has ended
	}
	out := do("schedule", "list", "-l")
	rows := map[string]string{}
	for line := range strings.Lines(out) {
		id, rest, _ := strings.Cut(line, " ")
		rows[id] = strings.Join(strings.Fields(rest), " ")
	}
	const at = `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`
	for id, want := range map[string]string{
		"SCHEDULE": "^STATE STARTS WHEN NEXT LAST STATUS$",
		"a":        `^active fragile 0 3 \* \* \*; every 24h \+ 1h30m \(Europe/Berlin\) ` + at + " " + at + " completed$",
		"b":        "^paused cart every 1h$",
		"c":        "^ended cart every 10s$",
	} {
		if !regexp.MustCompile(want).MatchString(rows[id]) {
			t.Errorf("%s is %q, want %s\n%s", id, rows[id], want, out)
		}
	}
	var all []struct {
		ScheduleID, CreatedAt, Problem string
		Started                        int
	}
	if err := json.Unmarshal([]byte(do("schedule", "list", "--details", "-o", "json")), &all); err != nil || len(all) != 4 || all[3].ScheduleID != "a" || all[3].Started != 1 || all[3].CreatedAt == "" {
		t.Errorf("%v, %+v", err, all)
	}
	do("pause", "weft.schedule:d", "--reason=month's end")
	if out := do("schedule", "list", "-l"); !regexp.MustCompile(`(?m)^d +paused \(its workflow\)  cart +every 1h *$`).MatchString(out) || strings.Count(out, "(its workflow)") != 1 {
		t.Errorf("a schedule whose workflow is paused:\n%s", out)
	}
	if out := do("schedule", "describe", "d", "-o", "table"); !strings.Contains(out, "it starts no runs: its workflow is paused since 20") || !strings.Contains(out, ": month's end") || !strings.Contains(out, "weft resume --url "+api+" weft.schedule:d\n") {
		t.Errorf("a schedule whose workflow is paused:\n%s", out)
	}
	if out := do("schedule", "describe", "d", "-o", "json"); !strings.Contains(out, `"reason": "month's end"`) {
		t.Errorf("a schedule whose workflow is paused:\n%s", out)
	}
	do("resume", "weft.schedule:d")
	if out := do("schedule", "list", "-l"); strings.Contains(out, "(its workflow)") {
		t.Errorf("after the pause:\n%s", out)
	}
	if out := do("schedule", "list", "-l", "-q"); out != "d\nc\nb\na\n" {
		t.Errorf("the ids are %q", out)
	}
}

// A schedule that was deleted meanwhile is left out, and one that does not answer says why. Any
// other error ends the command.
func TestScheduleDetailsOfFailures(t *testing.T) {
	t.Parallel()
	status := http.StatusConflict
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(status int, kind string) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"type":"urn:weft:problem:%s","title":"Refused","status":%d,"detail":"its code fails"}`, kind, status)
		}
		switch r.URL.Path {
		case "/v1/workflows":
			_, _ = io.WriteString(w, `{"workflows":[{"workflowId":"weft.schedule:gone","startedAt":"2026-11-21T08:00:00Z"},{"workflowId":"weft.schedule:stuck","startedAt":"2026-11-21T08:00:00Z"}]}`)
		case "/v1/schedules/gone":
			refuse(http.StatusNotFound, "not-found")
		default:
			refuse(status, "not-ready")
		}
	}))
	t.Cleanup(server.Close)
	code, out, errs := exits(t, "schedule", "list", "-l", "--url="+server.URL)
	if code != cli.Done || strings.Contains(out, "gone") || !strings.Contains(out, "stuck     not readable") || !strings.Contains(out, "its code fails") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	status = http.StatusForbidden
	if code, out, errs := exits(t, "schedule", "list", "-l", "--url="+server.URL); code != cli.Unreachable {
		t.Errorf("code %d, %s%s", code, out, errs)
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
