package weftest_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the history in testdata")

var registrations = []workflow.Registration{workflow.Bind(Order, order, workflow.Names(Rename, Item, Approve)), Charge, Ship}

// exported returns the history of an order, as JSON.
func exported(t *testing.T) (text []byte) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, env := t.Context(), newEnv(t)
		run := start(t, env)
		if _, err := Rename.Call(ctx, env.Client(), "order-1", "coffee"); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(ctx); err != nil {
			t.Fatal(err)
		}
		weftest.Replay(t, registrations, weftest.Latest(env.Client(), "order-1"))
		h, err := env.Client().History(ctx, "order-1", "")
		if err == nil {
			text, err = json.MarshalIndent(h, "", "  ")
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return text
}

func TestReplay(t *testing.T) {
	t.Parallel()
	text := exported(t)
	file := filepath.Join(t.TempDir(), "order.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	weftest.Replay(t, registrations, weftest.JSON(text), weftest.Files(file))
}

// replayed returns what a replay reports.
func replayed(t *testing.T, registrations []workflow.Registration, sources ...weftest.Source) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		weftest.Replay(r, registrations, sources...)
	}()
	<-done
	if !r.failed {
		t.Error("the replay did not fail")
	}
	return r.said.String()
}

func TestReplayOfOtherCode(t *testing.T) {
	t.Parallel()
	text := exported(t)
	Pay := activity.New("pay", charge)
	for name, test := range map[string]struct {
		code func(workflow.Context, string) (string, error)
		want []string
	}{
		"another activity": {func(ctx workflow.Context, item string) (string, error) {
			_, err := Pay.Run(ctx, item)
			return "", err
		}, []string{
			"batch 0: workflow code is not deterministic: at event 5 history records ActivityTaskScheduled(charge), the code now issues ActivityTaskScheduled(pay)\n\tat ",
			"replay_test.go:", ", in weftest_test.TestReplayOfOtherCode.func1\n", "workflow.Patched",
		}},
		"a side effect": {func(ctx workflow.Context, _ string) (string, error) {
			return "", errors.New(workflow.SideEffect(ctx, func() string { return "no tea" }))
		}, []string{
			"at event 5 history records no further side effect in this task, the code now runs one\n\tat ",
			"replay_test.go:", ", in weftest_test.TestReplayOfOtherCode.func2\n",
		}},
		"nothing": {func(workflow.Context, string) (string, error) { return "", nil }, []string{"at event 5 history records ActivityTaskScheduled(charge), the code now issues WorkflowExecutionCompleted"}},
		"a panic": {func(workflow.Context, string) (string, error) { panic("no tea") }, []string{"panic: no tea\ngoroutine ", "replay_test.go:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := replayed(t, []workflow.Registration{workflow.Bind(Order, test.code)}, weftest.JSON(text))
			expect(t, said, test.want...)
		})
	}
}

func TestReplayOfWhatIsNoHistory(t *testing.T) {
	t.Parallel()
	good := string(exported(t))
	cut := func(from, to string) string {
		before, rest, found := strings.Cut(good, from)
		if !found {
			t.Fatalf("%q is missing in\n%s", from, good)
		}
		return before + to + rest
	}
	for name, test := range map[string]struct{ text, want string }{
		"nothing":           {"", "it is empty"},
		"no JSON":           {"runs:", "invalid character"},
		"another object":    {`{"type":"urn:weft:problem:notFound"}`, "it has no workflowId and runId"},
		"no events":         {`{"workflowId":"a","runId":"1-0123456789abcdef","events":[]}`, "it does not begin with WorkflowExecutionStarted"},
		"an event missing":  {cut(`"id": 2,`, `"id": 3,`), "event 3 follows event 1"},
		"a newer event":     {cut(`"WorkflowTaskScheduled"`, `"WorkflowTaskDreamt"`), `event type "WorkflowTaskDreamt"`},
		"no batch":          {cut(`"batch": 0,`, ``), "event 1 has no batch"},
		"a strange batch":   {cut(`"batch": 0,`, `"batch": 9,`), "this is not the history of a run"},
		"no run id":         {cut(`"runId": "1-`, `"runId": "x-`), `its runId is "x-`},
		"more pages":        {cut(`"events"`, `"nextPageToken": "x/1001", "events"`), "weft history exports all of them"},
		"two runs":          {good + cut(`"runId": "1-`, `"runId": "2-`), "give each its own file"},
		"the same twice":    {good + good, "event 1 has batch 0, and the one before it"},
		"another type":      {cut(`"workflowType": "order"`, `"workflowType": "offer"`), `workflow type "offer" is not registered; there are ["order"]`},
		"attributes a text": {cut(`"attributes": {`, `"attributes": "",  "x": {`), "the attributes of a WorkflowExecutionStarted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, replayed(t, registrations, weftest.JSON([]byte(test.text))), test.want)
		})
	}
	expect(t, replayed(t, registrations, weftest.Files("testdata/none/*.json")), "no file matches testdata/none/*.json")
	expect(t, replayed(t, registrations), "there is nothing to replay")
}

// For any file, the importer returns an error that says what is wrong, or the replayed code ends.
func FuzzReplay(f *testing.F) {
	recorded := `{"workflowId":"w","runId":"1-0123456789abcdef","events":[` +
		`{"id":1,"type":"WorkflowExecutionStarted","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"workflowType":"order","input":"tea"}},` +
		`{"id":2,"type":"WorkflowTaskScheduled","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"kind":"normal","attempt":1}},` +
		`{"id":3,"type":"WorkflowTaskStarted","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"scheduledEventId":2}},` +
		`{"id":4,"type":"WorkflowTaskCompleted","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"build":"b"}},` +
		`{"id":5,"type":"ActivityTaskScheduled","time":"2000-01-01T00:00:00Z","batch":0,"attributes":{"activityType":"charge","input":"tea"}},` +
		`{"id":6,"type":"ActivityTaskFailed","time":"2000-01-01T00:00:01Z","batch":1,"attributes":{"scheduledEventId":5,"failure":{"kind":"application"}}}]}`
	f.Add([]byte(recorded))
	for n := range 256 {
		kind := history.Type(n).String()
		if strings.HasPrefix(kind, "Type(") {
			continue // there is no such type
		}
		f.Add([]byte(strings.Replace(recorded, "ActivityTaskFailed", kind, 1)))
		f.Add([]byte(strings.Replace(recorded, "ActivityTaskScheduled", kind, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &recorder{TB: t}
		weftest.Replay(r, registrations, weftest.JSON(text))
		if r.failed && len(r.said.String()) < len("weftest.Replay: ") {
			t.Error("the error does not say what is wrong")
		}
	})
}

// The history of an earlier build replays. A program's own tests need this one line, too.
func TestReplayOfAFile(t *testing.T) {
	t.Parallel()
	const file = "testdata/order.json"
	if *rewrite {
		if err := os.WriteFile(file, append(exported(t), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	weftest.Replay(t, registrations, weftest.Files(file))
}
