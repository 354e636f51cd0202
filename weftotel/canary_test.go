package weftotel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/awspath"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/weftotel"
	"github.com/seed-41655fb1/weft/workflow"
)

// canary is in everything that users give to Weft, and must be in nothing that Weft logs or
// exports.
const canary = "canary-5b1e"

// everything holds all that a deployment logs and exports: its log, at level debug, its metrics and
// its spans.
type everything struct {
	mu    sync.Mutex
	text  bytes.Buffer
	spans *tracetest.InMemoryExporter
	lines *emf.Recorder
	hub   *observe.Hub
	log   *slog.Logger
}

func hear(t *testing.T) *everything {
	t.Helper()
	e := &everything{spans: tracetest.NewInMemoryExporter()}
	e.lines = emf.New(e, "test", emf.Options{All: true})
	e.log = slog.New(observe.Handler(slog.NewJSONHandler(e, &slog.HandlerOptions{Level: slog.LevelDebug}), nil))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(e.spans), sdktrace.WithIDGenerator(weftotel.IDs()))
	telemetry, err := weftotel.Providers{Spans: provider}.Open(t.Context(), observe.Settings{Namespace: "test"})
	if err != nil {
		t.Fatal(err)
	}
	e.hub = observe.New(observe.Log(e.log), e.lines, telemetry)
	return e
}

// Write implements io.Writer.
func (e *everything) Write(text []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.Write(text)
}

// checkLacks fails the test if one of the texts was exported, or one of the parts was not.
func (e *everything) checkLacks(t *testing.T, parts []string, texts ...string) {
	t.Helper()
	if err := e.lines.Flush(); err != nil {
		t.Error(err)
	}
	spans, err := json.MarshalIndent(e.spans.GetSpans(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	all := e.text.String() + string(spans)
	for _, part := range append(parts, `"msg":"workflow task failed"`, `"msg":"activity attempt"`, `"_aws"`, `"Name": "task update"`) {
		if !strings.Contains(all, part) {
			t.Errorf("nothing has reported %s", part)
		}
	}
	for _, text := range texts {
		for line := range strings.Lines(all) {
			if strings.Contains(line, text) {
				t.Errorf("%q is exported: %s", text, line)
				break
			}
		}
	}
}

// panicky panics when it is decoded.
type panicky struct{}

// UnmarshalJSON panics with its input.
func (*panicky) UnmarshalJSON(text []byte) error { panic(string(text)) }

var (
	secretive = workflow.NewWorkflow[string, string]("secretive")
	fragile   = workflow.NewWorkflow[panicky, string]("fragile")
	tell      = workflow.NewUpdate[string, string]("tell")
	explode   = workflow.NewUpdate[string, string]("explode")
	poison    = workflow.NewUpdate[panicky, string]("poison")
	say       = workflow.NewSignal[string]("say")
	repeat    = workflow.NewQuery[string, string]("repeat")
	keep      = activity.New("keep", keeping, activity.Options{StartToClose: time.Minute, Retry: activity.Retry{MaxAttempts: 2}})
	refusal   = workflow.NewError("refused", canary+" is refused")
)

func keeping(ctx context.Context, text string) (string, error) {
	activity.Logger(ctx).Info("keeping")
	switch {
	case strings.HasSuffix(text, "fail"):
		return "", fmt.Errorf("cannot keep %s", text)
	case strings.HasSuffix(text, "panic"):
		panic(text)
	case strings.HasSuffix(text, "slow"):
		<-ctx.Done()
		return "", fmt.Errorf("too slow for %s: %w", text, ctx.Err())
	case strings.HasSuffix(text, "deaf"):
		time.Sleep(time.Hour) // it ignores ctx
	case strings.HasSuffix(text, "large"):
		return strings.Repeat(text, 100_000), nil
	}
	return text, nil
}

// secrets is a workflow with a confidential state. The build decides whether it fails.
func secrets(build string) func(workflow.Context, string) (string, error) {
	return func(ctx workflow.Context, text string) (string, error) {
		tell.Handle(ctx, func(ctx workflow.Context, text string) (string, error) {
			kept, err := keep.Run(ctx, text)
			if err != nil {
				return "", workflow.NewError("lost", "lost "+text)
			}
			return kept, nil
		}, workflow.Validate(func(text string) error {
			switch {
			case strings.HasSuffix(text, "refuse"):
				return refusal
			case strings.HasSuffix(text, "startle"):
				panic(text)
			}
			return nil
		}))
		explode.Handle(ctx, func(_ workflow.Context, text string) (string, error) { panic(text) })
		poison.Handle(ctx, func(workflow.Context, panicky) (string, error) { return text, nil })
		repeat.Handle(ctx, func(in string) (string, error) {
			switch {
			case strings.HasSuffix(in, "fail"):
				return "", errors.New(in)
			case strings.HasSuffix(in, "panic"):
				panic(in)
			}
			return text + in, nil
		})
		for {
			said, err := say.Receive(ctx)
			switch {
			case err != nil:
				return "", workflow.NewError("ended", canary)
			case strings.HasSuffix(said, "again"):
				return secretive.ContinueAsNew(ctx, said)
			case strings.HasSuffix(said, "end"):
				return said, nil
			case strings.HasSuffix(said, "wait"):
				if err := workflow.Sleep(ctx, time.Hour); err != nil {
					return "", err
				}
			case strings.HasSuffix(said, "panic") && build == "build-1":
				panic(said)
			case strings.HasSuffix(said, "differ") && build == "build-1":
				_, _ = keep.Run(ctx, said) // build-2 does not: its histories differ
			}
		}
	}
}

// User data is in no log line, no metric and no span, whatever happens to it.
func TestNoPayloadIsTold(t *testing.T) {
	t.Parallel()
	all := tellSecrets(t, false)
	all.checkLacks(t, []string{
		"a message will be redelivered", "a message cannot be read", "a dead letter that cannot be read was deleted",
		"an activity does not heed the end of its context", `"failure":"nonDeterminism"`,
		`"msg":"activity attempt failed"`, `the validator of update \"tell\" panicked`, `the handler of query \"repeat\" panicked`,
	}, canary)
}

// With the texts of failures, user data is in the text of a failure, and nowhere else.
func TestTextsAreTold(t *testing.T) {
	t.Parallel()
	all := tellSecrets(t, true)
	lines := all.text.String()
	all.text.Reset()
	told := map[string]bool{}
	for line := range strings.Lines(lines) {
		var of map[string]any
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Fatal(err)
		}
		if text, _ := of["error"].(string); strings.Contains(text, canary) && of["see"] != nil {
			told[fmt.Sprint(of["msg"], " ", of["kind"])] = true
			delete(of, "error")
		}
		rest, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		all.text.Write(append(rest, '\n'))
	}
	for _, want := range []string{
		"workflow task failed panic", "activity attempt failed panic", "activity attempt failed application",
		`the validator of update "tell" panicked panic`, `the handler of query "repeat" panicked panic`,
	} {
		if !told[want] {
			t.Errorf("no line has the text of %q; those that have one: %v", want, told)
		}
	}
	all.checkLacks(t, nil, canary)
}

// tellSecrets returns what a deployment tells, in which everything fails that can.
func tellSecrets(t *testing.T, texts bool) (all *everything) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		all = hear(t)
		d := testbed.New(t)
		hooks := d.Hook()
		start := func(build string) *testbed.Process {
			return d.Start(executor.Options{Build: build, Observe: all.hub, Logger: all.log, LogTexts: texts},
				workflow.Bind(secretive, secrets(build), workflow.Names(tell, explode, poison, repeat, say)), workflow.Bind(fragile, func(workflow.Context, panicky) (string, error) { return "", nil }), keep)
		}
		p := start("build-1")
		post := func(target, body string) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/workflows"+target, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+canary)
			r.Header.Set("Traceparent", "00-"+callerTrace+"-b7ad6b7169203331-01")
			testbed.Ask(t, p.Handler, r)
		}
		input := func(text string) string { return fmt.Sprintf(`{"input":%q}`, canary+" "+text) }
		for _, id := range []string{"a", "b", "c", "d"} {
			post("", fmt.Sprintf(`{"workflowId":%q,"type":"secretive","input":%q}`, id, canary))
		}
		post("", fmt.Sprintf(`{"type":"fragile","input":%q}`, canary))
		post("", fmt.Sprintf(`{"type":"secretive","input":{"x":%q}}`, canary))
		post("", fmt.Sprintf(`{"type":"secretive",%q:1}`, canary))
		post("", canary)
		for _, text := range []string{"", "refuse", "fail", "panic", "slow", "large", "deaf"} {
			post("/a/updates/tell", input(text))
		}
		post("/a/updates/poison", input(""))
		post("/a/updates/explode", input(""))
		post("/a/updates/tell", `{"input":[`+canary)
		post("/a/queries/repeat", input(""))
		post("/a/queries/repeat", input("fail"))
		post("/a/queries/repeat", input("panic"))
		post("/a/updates/tell", input("startle"))
		post("/a/signals/say", input("wait"))
		post("/b/signals/say", input("panic"))
		post("/b/updates/tell", input(""))
		post("/c/signals/say", input("differ"))
		post("/d/cancel", fmt.Sprintf(`{"reason":%q}`, canary))
		post("/a/signals/say", input("again"))
		// Messages that nobody can decode, and a store that refuses writes when a timer fires.
		for _, body := range []string{canary, "\x01\x78\x20" + canary, "\x01\xa2\x02\x6b" + canary} {
			if err := d.Queue.Send(t.Context(), queue.Timers, queue.Message{Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
		}
		hooks.Always(testbed.OnPut, testbed.Faults["throttle"]())
		time.Sleep(time.Hour + time.Minute)
		hooks.Always(testbed.OnPut, nil)
		time.Sleep(24 * time.Hour)
		post("/a/terminate", fmt.Sprintf(`{"reason":%q}`, canary))
		p.Stop()
		p = start("build-2")
		post("/c/signals/say", input(""))
		time.Sleep(time.Hour)
		post("/b/signals/say", input("end"))
		p.Stop()
	})
	return all
}

// The same holds of all scripts of the executor, played through the functions.
func TestNoPayloadOfTheScriptsIsExported(t *testing.T) {
	t.Parallel()
	all := hear(t)
	for _, path := range testbed.Scripts(t, filepath.Join("..", "internal", "executor", "testdata")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		marked := strings.ReplaceAll(string(text), `"name":"`, `"name":"`+canary)
		script := testbed.NewScript(t, awspath.Testbeds(awspath.Memory, awspath.Ears{Observe: all.hub, Log: all.log.Handler()}))
		datadriven.RunTestFromString(t, marked, func(_ *testing.T, d *datadriven.TestData) string {
			script.Play(d.Cmd, testbed.ArgsOf(d.CmdArgs), d.Input)
			return d.Expected
		})
		script.Close()
	}
	// The texts of the workload's errors and panics, and its results.
	all.checkLacks(t, []string{"a run closed while update handlers ran"}, canary, "the number is negative", "more than the limit", "this handler always fails", "the job is broken",
		"cannot take this", "cannot end", "boom\\n", "did x", "slept")
}
