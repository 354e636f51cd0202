package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/workflow"
)

// A stuck run says why, and a retry says whether it helped.
func TestStuck(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	url := work(t, "", steered(&broken)...)
	if code, _, errs := exits(t, "start", "fragile", "--id=f", "--url="+url); code != cli.Done {
		t.Fatal(code, errs)
	}
	code, _, errs := exits(t, "retry", "f", "--url="+url)
	if code != cli.Refused || !strings.Contains(errs, "it is broken") {
		t.Errorf("a retry of broken code: code %d, %s", code, errs)
	}
	code, out, errs := exits(t, "describe", "f", "--url="+url)
	for _, want := range []string{"stuck", "its workflow task has failed", "at first", "panic: it is broken", "Stack", "examples_test.go"} {
		if code != cli.Done || !strings.Contains(out, want) {
			t.Errorf("the description does not have %q: code %d\n%s%s", want, code, out, errs)
		}
	}
	broken.Store(false)
	if code, _, errs := exits(t, "retry", "f", "--url="+url); code != cli.Done && !strings.Contains(errs, "is not stuck") && !strings.Contains(errs, "has closed") { // it was retried meanwhile
		t.Errorf("a retry of code that is whole again: code %d, %s", code, errs)
	}
	if code, out, errs := exits(t, "result", "f", "--url="+url); code != cli.Done || out != "\"whole\"\n" {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
}

// Each kind of failure has its exit code.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	url := work(t, "", steered(&atomic.Bool{})...)
	for _, c := range []struct {
		args []string
		code cli.Code
		out  string
		errs string
	}{
		{[]string{"start", "cart", "--id=c", "-d", `{"owner":"ada"}`, "-o", "jsonl"}, cli.Done, `{"workflowId":"c","runId":"1-`, ""},
		{[]string{"start", "cart", "--id=c"}, cli.Refused, "", "is open"},
		{[]string{"start", "nothing"}, cli.Refused, "", `there is no workflow type "nothing"`},
		{[]string{"start", "cart", "--id=a b"}, cli.Refused, "", "workflow id"},
		{[]string{"start", "cart", "-d", "hello"}, cli.Usage, "", "no JSON"},
		{[]string{"start", "cart", "--id=empty", "-d", ""}, cli.Usage, "", "the input is empty: leave -d out to send none"},
		{[]string{"signal", "c", "note", "-d", ""}, cli.Usage, "", "the input is empty"},
		{[]string{"update", "c", "addItem", "--start=cart", "--start-input="}, cli.Usage, "", "the input is empty"},
		{[]string{"start", "cart", "--memo=x"}, cli.Usage, "", "give NAME=VALUE"},
		{[]string{"start", "cart", "--attribute==x"}, cli.Usage, "", "give NAME=VALUE"},
		{[]string{"start", "cart", "--attribute=A=[1]"}, cli.Usage, "", "a list has keywords"},
		{[]string{"start", "cart", "--reuse=never"}, cli.Usage, "", "see weft start --help"},
		{[]string{"start", "fragile", "--wait"}, cli.Done, `"whole"`, ""},
		{[]string{"update", "c", "addItem", "-d", `{"sku":"tea","quantity":1}`, "-o", "jsonl"}, cli.Done, `{"items":1,"cents":450}`, ""},
		{[]string{"update", "c", "addItem", "-d", `{"sku":"tea","quantity":100}`}, cli.Refused, "", "update rejected"},
		{[]string{"update", "c", "nothing"}, cli.Refused, "", "nothing"},
		{[]string{"update", "d", "addItem"}, cli.NotFound, "", "d"},
		{[]string{"update", "e", "addItem", "-d", `{"sku":"tea","quantity":1}`, "--start=cart", `--start-input={"owner":"eve"}`}, cli.Done, `"items": 1`, ""},
		{[]string{"update", "e", "addItem", `--start-input={"owner":"eve"}`}, cli.Usage, "", "needs --start"},
		{[]string{"update", "wait", "c", "nothing"}, cli.NotFound, "", "nothing"},
		{[]string{"update", "fail", "c", "nothing"}, cli.NotFound, "", `has accepted no update "nothing"`},
		{[]string{"signal", "g", "note", "-d", `"a"`, "--start=cart", "-o", "json"}, cli.Done, `"workflowId": "g"`, ""},
		{[]string{"signal", "h", "note", "-d", `"a"`}, cli.NotFound, "", "h"},
		{[]string{"query", "c", "cart", "-o", "jsonl"}, cli.Done, `"owner":"ada"`, ""},
		{[]string{"query", "c", "nothing"}, cli.NotFound, "", "no such query"},
		{[]string{"describe", "c", "-q"}, cli.Done, "c\n", ""},
		{[]string{"describe", "c", "-o", "json"}, cli.Done, `"status": "running"`, ""},
		{[]string{"describe", "h"}, cli.NotFound, "", "h"},
		{[]string{"reset", "c"}, cli.Usage, "", "--event"},
		{[]string{"reset", "c", "--to=lastTask", "--event=4"}, cli.Usage, "", "one of --event, --to and --build"},
		{[]string{"reset", "c", "--event=4", "--build=b"}, cli.Usage, "", "one of --event, --to and --build"},
		{[]string{"reset", "c", "--to=lastTask", "-q"}, cli.Done, "c\n", ""},
		{[]string{"reset", "c", "--event=4", "-q"}, cli.Done, "c\n", ""},
		{[]string{"reset", "c", "--build=nothing"}, cli.Refused, "", "nothing"},
		{[]string{"list", "--limit=0"}, cli.Usage, "", "give 1 or more"},
		{[]string{"batch", "list", "--limit=-1"}, cli.Usage, "", "give 1 or more"},
		{[]string{"schedule", "list", "--limit=0"}, cli.Usage, "", "give 1 or more"},
		{[]string{"move", "c", "--unpin"}, cli.Done, "The newest build runs c.", ""},
		{[]string{"move", "c", "--unpin", "--build=b"}, cli.Usage, "", "can't be used together"},
		{[]string{"activity", "retry", "c", "99"}, cli.NotFound, "", "99"},
		{[]string{"activity", "complete"}, cli.Usage, "", "--activity-token-file"},
		{[]string{"activity", "complete", "c", "5", "--activity-token=x"}, cli.Usage, "", "leave the workflow"},
		{[]string{"activity", "fail", "--activity-token=x"}, cli.Refused, "", "token"},
		{[]string{"terminate", "c", "--data=a", "--url=b"}, cli.Usage, "", "can't be used together"},
		{[]string{"terminate", "c"}, cli.Done, "The run of c is terminated.", ""},
		{[]string{"terminate", "c"}, cli.NotFound, "", "c"},
		{[]string{"result", "c"}, cli.Failed, "", "c did not complete"},
		{[]string{"watch", "c"}, cli.Failed, "WorkflowExecutionTerminated", "c did not complete"},
		{[]string{"delete", "c", "--run=1-0102030405060708"}, cli.NotFound, "", ""},
		{[]string{"delete", "c"}, cli.Usage, "", "--run"},
		{[]string{"dead", "redrive", "nothing"}, cli.NotFound, "", "nothing"},
		{[]string{"batch", "start", "kill", "WorkflowType = 'cart'"}, cli.Usage, "", "see weft batch start --help"},
		{[]string{"batch", "start", "cancel", "WorkflowType ="}, cli.Refused, "", "the filter cannot be read"},
		{[]string{"batch", "start", "cancel", "Nothing = 'x'"}, cli.Refused, "", "--allow-unknown"},
		{[]string{"batch", "start", "signal", "WorkflowType = 'cart'"}, cli.Refused, "", "give --signal"},
		{[]string{"batch", "start", "cancel", "WorkflowType = 'cart'", "--dry-run", "--id=count"}, cli.Done, "cart  running", ""},
		{[]string{"batch", "start", "cancel", "WorkflowType = 'cart'", "--id=count"}, cli.Refused, "", "there is a batch"},
		{[]string{"batch", "start", "delete", "WorkflowId = 'e'", "--id=no", "--watch"}, cli.Failed, "is open: terminate it", "could not act on 1 of 1 runs"},
		{[]string{"batch", "start", "signal", "WorkflowId = 'e'", "--signal=note", "-d", `"a"`, "--id=yes", "--watch", "-o", "jsonl"}, cli.Done, `"done":1`, ""},
		{[]string{"batch", "start", "retry", "WorkflowType = 'cart'", "--id=slow", "--rate=0.01"}, cli.Done, "Started the batch slow.", ""},
		{[]string{"batch", "rate", "slow", "0.02"}, cli.Done, "a rate of 0.02 runs a second", ""},
		{[]string{"batch", "rate", "slow", "5000"}, cli.Refused, "", "give 0.01 to 1000"},
		{[]string{"batch", "describe", "slow"}, cli.Done, "running", ""},
		{[]string{"batch", "watch", "slow"}, cli.TimedOut, "", "the end of batch slow"},
		{[]string{"batch", "stop", "slow", "--reason=enough", "-q"}, cli.Done, "slow\n", ""},
		{[]string{"batch", "watch", "slow"}, cli.Failed, "enough", "batch slow was stopped: enough"},
		{[]string{"batch", "stop", "slow"}, cli.NotFound, "", "it has ended"},
		{[]string{"batch", "list", "-q"}, cli.Done, "slow\nyes\nno\ncount\n", ""},
		{[]string{"batch", "list"}, cli.Done, "retry    stopped", ""},
		{[]string{"batch", "list"}, cli.Done, "completed (1 refused)", ""},
		{[]string{"batch", "describe", "none"}, cli.NotFound, "", "there is no batch"},
		{[]string{"schedule", "create", "s", "cart", "--every=soon"}, cli.Usage, "", "90m"},
		{[]string{"schedule", "create", "s", "cart"}, cli.Refused, "", ""},
		{[]string{"schedule", "create", "s", "cart", "--every=24h+6h", "--paused", "--note=closed", "--time-zone=Europe/Berlin", "--jitter=1m", "--memo=a=b", "--attribute=Region=eu"}, cli.Done, "created", ""},
		{[]string{"schedule", "describe", "s", "-o", "table"}, cli.Done, "24h + 6h", ""},
		{[]string{"schedule", "describe", "s", "-o", "table"}, cli.Done, "closed", ""},
		{[]string{"schedule", "create", "s", "cart", "--every=1h"}, cli.Refused, "", `there is a schedule "s" already: weft schedule update changes it`},
		{[]string{"schedule", "trigger", "nope"}, cli.NotFound, "", `there is no schedule "nope"`},
		{[]string{"schedule", "update", "s", "cart", "--cron=@hourly", "-o", "jsonl"}, cli.Done, `{"scheduleId":"s"}`, ""},
		{[]string{"schedule", "update", "t", "cart", "--cron=@hourly"}, cli.NotFound, "", ""},
	} {
		args := c.args
		if c.args[len(c.args)-1] != "--url=b" {
			args = append(args, "--url="+url)
		}
		wrong := func(more ...string) string {
			code, out, errs := exits(t, append(args, more...)...)
			if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || (code == cli.Done) != (errs == "") {
				return fmt.Sprintf("weft %q: code %d\n%s\n%s\nwant %d, %q, %q", c.args, code, out, errs, c.code, c.out, c.errs)
			}
			return ""
		}
		if c.code == cli.TimedOut {
			outOfTime(t, func(timeout string) string { return wrong("--timeout=" + timeout) })
		} else if found := wrong(); found != "" {
			t.Error(found)
		}
	}
}

// A redrive says about how many messages it moves, as far as the deployment counts them.
func TestRedriveCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ queues, started, text, json string }{
		{`[{"name":"workflow","dead":{"waiting":12,"inFlight":0,"delayed":0}},{"name":"timers","dead":{"waiting":3,"inFlight":0,"delayed":0}}]`, "true", "About 3 dead letters of timers go back to it.", `,"deadLetters":3`},
		{`[{"name":"timers","dead":{"waiting":1,"inFlight":1,"delayed":1}}]`, "true", "About 1 dead letter of timers goes back to it. About 2 that a handler has just received stay.", `,"deadLetters":1`},
		{`[{"name":"timers","dead":{"waiting":0,"inFlight":0,"delayed":0}}]`, "true", "No dead letters of timers were counted. Any that it has go back to it.", `,"deadLetters":0`},
		{`[{"name":"timers","problem":"not all of this queue can be read"}]`, "true", "The dead letters of timers go back to it, if there are any: they could not be counted.", ""},
		{"", "true", "The dead letters of timers go back to it, if there are any: they could not be counted.", ""},
		{`[{"name":"timers","dead":{"waiting":7,"inFlight":0,"delayed":0}}]`, "false", "The dead letters of timers are being moved already: about 7 are left.", `,"deadLetters":7`},
		{`[{"name":"timers"}]`, "false", "The dead letters of timers are being moved already.", ""},
	} {
		moved := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost && r.URL.Path == "/v1/queues/timers/redrive":
				moved++
				w.WriteHeader(http.StatusAccepted)
				_, _ = fmt.Fprintf(w, `{"started":%s}`, c.started)
			case c.queues == "":
				w.WriteHeader(http.StatusForbidden)
			default:
				_, _ = fmt.Fprintf(w, `{"queues":%s}`, c.queues)
			}
		}))
		t.Cleanup(server.Close)
		for form, want := range map[string]string{"table": c.text + "\n", "jsonl": `{"queue":"timers","started":` + c.started + c.json + "}\n"} {
			if out, err := commandWith(t, "", "dead", "redrive", "timers", "-o", form, "--url="+server.URL); err != nil || out != want {
				t.Errorf("%s, %v\n%swant\n%s", c.queues, err, out, want)
			}
		}
		if moved != 2 {
			t.Errorf("%s: the dead letters were moved %d times", c.queues, moved)
		}
	}
}

// A deployment that is too busy to count dead letters redrives them.
func TestRedriveOfABusyDeployment(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method)
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, `{"started":true}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	out, err := commandWith(t, "", "dead", "redrive", "timers", "--url="+server.URL)
	if err != nil || out != "The dead letters of timers go back to it, if there are any: they could not be counted.\n" || len(asked) != 2 {
		t.Errorf("%v, %v\n%s", asked, err, out)
	}
}

// watch follows a run to the one that continues it, and prints each event once.
func TestWatch(t *testing.T) {
	t.Parallel()
	twice := workflow.NewWorkflow[bool, string]("twice")
	url := work(t, "", workflow.Bind(twice, func(ctx workflow.Context, again bool) (string, error) {
		if again {
			return twice.ContinueAsNew(ctx, false)
		}
		return "done", nil
	}))
	if _, err := twice.Start(t.Context(), client.New(url), "t", true); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, "watch t --run= -o jsonl --url="+url)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for line := range strings.Lines(out) {
		var e struct{ Type string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		types = append(types, e.Type)
	}
	if got := strings.Join(types, " "); !strings.HasSuffix(got, "WorkflowExecutionCompleted") || strings.Count(got, "WorkflowExecutionStarted") > 2 {
		t.Errorf("the events are %s", got)
	}
}

// An attempt that goes on outside is ended by its token, which is in a file or on standard input.
func TestActivityByToken(t *testing.T) {
	t.Parallel()
	tokens := make(chan string, 2)
	outside := activity.New("outside", func(ctx context.Context, _ workflow.None) (string, error) {
		token, err := activity.Token(ctx)
		if err != nil {
			return "", err
		}
		tokens <- token
		return "", activity.ErrPending
	}, activity.Options{Retry: activity.Retry{InitialInterval: time.Millisecond}})
	waits := workflow.NewWorkflow[workflow.None, string]("waits")
	url := work(t, "", workflow.Bind(waits, func(ctx workflow.Context, in workflow.None) (string, error) { return outside.Run(ctx, in) }), outside)
	if _, err := waits.Start(t.Context(), client.New(url), "w", workflow.None{}); err != nil {
		t.Fatal(err)
	}
	if _, err := commandWith(t, <-tokens+"\n", "activity", "fail", "--activity-token-file=-", "--type=late", "--message=too late", "--url="+url); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(<-tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := commandWith(t, `"from outside"`, "activity", "complete", "--activity-token-file="+file, "-d", "-", "--url="+url); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "result w --url="+url); err != nil || out != "\"from outside\"\n" {
		t.Errorf("%s, %v", out, err)
	}
}

// A search attribute has the type that its text suggests, or the one that is given.
func TestAttributes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for text, want := range map[string]history.AttributeValue{
		"eu": history.NewAttributeValue("eu"), "": history.NewAttributeValue(""), `"42"`: history.NewAttributeValue("42"), "42": history.NewAttributeValue(int64(42)),
		"-1.5": history.NewAttributeValue(-1.5), "1e3": history.NewAttributeValue(1000.0), "true": history.NewAttributeValue(true), "2026-11-21T08:00:00Z": history.NewAttributeValue(at),
		`["a","b"]`: history.NewAttributeValue([]string{"a", "b"}), `{"keyword":"42"}`: history.NewAttributeValue("42"), "1 2": history.NewAttributeValue("1 2"),
	} {
		got, err := attributeOf(text)
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if err != nil || string(a) != string(b) {
			t.Errorf("%s is %s, %v; want %s", text, a, err, b)
		}
	}
	for _, text := range []string{`{"number":1}`, "null", "[]", "1e999"} {
		if got, err := attributeOf(text); err == nil {
			t.Errorf("%s is %+v", text, got)
		}
	}
	attributes := client.SearchAttributes{}.With("A", history.NewAttributeValue([]string{"a", "b"})).With("B", history.NewAttributeValue(at)).With("C", history.NewAttributeValue(0.5)).With("D", history.NewAttributeValue(true))
	if got := attributesText(attributes); got != "A=(a, b), B=2026-11-21T08:00:00Z, C=0.5, D=true" {
		t.Error(got)
	}
	if got := string(jsonOrText("a b")) + string(jsonOrText("[1]")); got != `"a b"[1]` {
		t.Error(got)
	}
}
