package precheck_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/precheck"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/proof/kept"
	"github.com/seed-41655fb1/weft/workflow"
)

// registry returns the registry of a program.
func registry(t *testing.T, registrations ...workflow.Registration) *engine.Registry {
	t.Helper()
	types, err := program.Registry(registrations...)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// served has a program answer these lines, and returns its manifest and its answers.
func served(t *testing.T, p precheck.Program, lines ...string) (*precheck.Manifest, []precheck.Answer) {
	t.Helper()
	var out bytes.Buffer
	if err := p.Serve(t.Context(), strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(&out)
	said.Buffer(nil, 1<<20)
	said.Scan()
	m, err := precheck.ReadManifest(said.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var answers []precheck.Answer
	for said.Scan() {
		var a precheck.Answer
		if err := json.Unmarshal(said.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	return m, answers
}

// histories returns the kept histories, each in one line.
func histories(t *testing.T) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("../../proof/kept/testdata/*.json")
	if err != nil || len(files) < 18 {
		t.Fatalf("%d kept histories, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		var line bytes.Buffer
		if err == nil {
			err = json.Compact(&line, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line.String())
	}
	return lines
}

// A program goes on with the histories that it has recorded.
func TestKeptHistories(t *testing.T) {
	t.Parallel()
	lines := histories(t)
	m, answers := served(t, precheck.Program{Types: registry(t, kept.Registrations()...), Build: "b1"}, lines...)
	if m.Format != precheck.Format || m.Build != "b1" || m.Weft == "" || m.Wrong != "" || len(m.Contract.Workflows) < 10 || len(m.Activities) == 0 {
		t.Errorf("the manifest is %+v", m)
	}
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d histories", len(answers), len(lines))
	}
	for i, a := range answers {
		if !a.OK || a.Problem != "" || a.Missing != nil {
			t.Errorf("%+v to %.200s", a, lines[i])
		}
	}
}

// started is the history of a run with a pending activity, in one line.
const started = `{"workflowId":"w","runId":"1-0123456789abcdef","events":[` +
	`{"id":1,"type":"WorkflowExecutionStarted","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"workflowType":"order","input":"tea"}},` +
	`{"id":2,"type":"WorkflowTaskScheduled","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"kind":"normal","attempt":1}},` +
	`{"id":3,"type":"WorkflowTaskStarted","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"scheduledEventId":2}},` +
	`{"id":4,"type":"WorkflowTaskCompleted","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"build":"b"}},` +
	`{"id":5,"type":"ActivityTaskScheduled","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"activityType":"charge","input":"tea"}}]}`

var (
	order  = workflow.NewWorkflow[string, string]("order")
	charge = activity.New("charge", func(context.Context, string) (string, error) { return "", nil },
		activity.Options{StartToClose: 2 * time.Minute, TaskQueue: "slow"})
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	ship := activity.New("ship", func(context.Context, string) (string, error) { return "", nil })
	runs := func(code func(workflow.Context, string) (string, error), more ...workflow.Registration) []workflow.Registration {
		return append(more, workflow.Bind(order, code))
	}
	charges := func(ctx workflow.Context, item string) (string, error) { return charge.Run(ctx, item) }
	for name, c := range map[string]struct {
		program []workflow.Registration
		history string
		want    precheck.Answer
	}{
		"the same":   {runs(charges, charge), started, precheck.Answer{OK: true}},
		"no type":    {[]workflow.Registration{charge}, started, precheck.Answer{Problem: precheck.Unregistered, Kind: "unregistered", Text: `the program has no workflow type "order"`}},
		"no pending": {runs(charges), started, precheck.Answer{OK: true, Missing: []string{"charge"}}},
		"another activity": {
			runs(func(ctx workflow.Context, item string) (string, error) { return ship.Run(ctx, item) }, charge), started,
			precheck.Answer{
				Problem: precheck.Differs, Kind: "nonDeterminism", EventID: 5, Place: "precheck/serve_test.go:",
				Text: "workflow code is not deterministic: at event 5 history records ActivityTaskScheduled(charge), the code now issues ActivityTaskScheduled(ship)",
			},
		},
		"an error": {
			runs(func(workflow.Context, string) (string, error) { return "", errors.New("no\ntea") }, charge), started,
			precheck.Answer{
				Problem: precheck.Differs, Kind: "nonDeterminism", EventID: 5,
				Text: "workflow code is not deterministic: at event 5 history records ActivityTaskScheduled(charge), the code now issues WorkflowExecutionFailed",
			},
		},
		"a panic":       {runs(func(workflow.Context, string) (string, error) { panic("no\ntea") }, charge), started, precheck.Answer{Problem: precheck.Differs, Kind: "panic", Place: "precheck/serve_test.go:", Text: "panic: no"}},
		"a newer event": {runs(charges, charge), strings.Replace(started, "ActivityTaskScheduled", "ActivityTaskDreamt", 1), precheck.Answer{Problem: precheck.Unreadable, Text: `event type "ActivityTaskDreamt"`}},
		"no history":    {runs(charges, charge), `{}`, precheck.Answer{Problem: precheck.Unreadable, Text: "this is not the history of a run"}},
		"no JSON":       {runs(charges, charge), `nonsense`, precheck.Answer{Problem: precheck.Unreadable, Text: "invalid character"}},
	} {
		_, answers := served(t, precheck.Program{Types: registry(t, c.program...)}, c.history)
		if len(answers) != 1 {
			t.Fatalf("%s: %d answers", name, len(answers))
		}
		got := answers[0]
		if !strings.HasPrefix(got.Place, c.want.Place) || !strings.HasPrefix(got.Text, c.want.Text) && !strings.Contains(got.Text, c.want.Text) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if got.OK != c.want.OK || got.Problem != c.want.Problem || got.Kind != c.want.Kind || got.EventID != c.want.EventID || strings.Join(got.Missing, " ") != strings.Join(c.want.Missing, " ") || strings.Contains(got.Text, "\n") {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A program says which activities it has, and what is wrong with its registrations.
func TestManifest(t *testing.T) {
	t.Parallel()
	m, _ := served(t, precheck.Program{Types: registry(t, charge)})
	if len(m.Activities) != 1 || m.Activities[0].Name != "charge" || time.Duration(m.Activities[0].StartToClose) != 2*time.Minute || m.Activities[0].TaskQueue != "slow" || strings.Join(m.TaskQueues, " ") != "slow" {
		t.Errorf("%+v", m)
	}
	types, wrong := program.Registry(charge, charge)
	m, answers := served(t, precheck.Program{Types: types, Wrong: wrong}, started)
	if !strings.Contains(m.Wrong, "registered twice") || m.Contract != nil || answers != nil {
		t.Errorf("%+v, %v", m, answers)
	}
	for _, line := range []string{"", "Welcome", "{}", "[1]"} {
		if m, err := precheck.ReadManifest([]byte(line)); err == nil {
			t.Errorf("%q is the manifest %+v", line, m)
		}
	}
}

// Code that does not return is given up after ten seconds, and the program ends: what follows is
// for the next one.
func TestHangingCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang, began := make(chan struct{}), time.Now()
		_, answers := served(t, precheck.Program{Types: registry(t, charge, workflow.Bind(order, func(ctx workflow.Context, item string) (string, error) {
			<-hang //weftvet:ignore channel the test needs it
			return charge.Run(ctx, item)
		}))}, started, started)
		if len(answers) != 1 || answers[0].Problem != precheck.Hangs || !strings.Contains(answers[0].Text, "10s") || time.Since(began) != 10*time.Second {
			t.Errorf("%+v after %s", answers, time.Since(began))
		}
		close(hang)
	})
}

// broken fails all writes.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A program ends if nobody reads what it says.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	p := precheck.Program{Types: registry(t)}
	if err := p.Serve(t.Context(), strings.NewReader(started), broken{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// A check is wanted if the variable is 1, and never in a Lambda function.
func TestWanted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value, api string
		want       bool
	}{{"1", "", true}, {"", "", false}, {"0", "", false}, {"1", "127.0.0.1:9001", false}} {
		values := map[string]string{"WEFT_CHECK": c.value, "AWS_LAMBDA_RUNTIME_API": c.api}
		if got := precheck.Wanted(func(name string) string { return values[name] }); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
