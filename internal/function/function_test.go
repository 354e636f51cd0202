package function

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// object is a part of an event.
type object = map[string]any

// recorded reads an event as AWS documents it.
func recorded(t testing.TB, name string) object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	e := object{}
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return e
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// function is the function of a role in a process.
func function(t testing.TB, role Role, p *testbed.Process, o Options) *Function {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet()
	}
	f, err := New(role, p.Process, o)
	if err != nil {
		t.Fatal(err)
	}
	f.api = apitest.Handler(t, f.api)
	return f
}

// invoke lets a function answer an event, and decodes the answer.
func invoke[T any](ctx context.Context, t *testing.T, f *Function, event object) (answer T) {
	t.Helper()
	text, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Invoke(ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return answer
}

// process is a deployment with one process that knows these workflows and activities.
func process(t testing.TB, registrations ...workflow.Registration) (*testbed.Deployment, *testbed.Process) {
	t.Helper()
	d := testbed.New(t)
	return d, d.Idle(executor.Options{}, registrations...)
}

// Each role refuses other roles' events, with an error that says what to look at.
func TestForeignEvents(t *testing.T) {
	t.Parallel()
	_, p := process(t)
	foreign := map[Role]string{API: "sqs-fifo.json", Workflow: "http-api.json", Activity: "rest.json", Dead: "schedule.json"}
	for role, name := range foreign {
		text, err := json.Marshal(recorded(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range []string{string(text), "{}", "[]", "null", `""`, `{"Records":[]}`, `{"Records":[{"eventSource":"aws:s3"}]}`} {
			if out, err := function(t, role, p, Options{}).Invoke(t.Context(), []byte(event)); err == nil {
				t.Errorf("%s answered %s to %s", role, out, event)
			}
		}
	}
	if _, err := New("web", p.Process, Options{}); err == nil || !strings.Contains(err.Error(), "WEFT_ROLE") {
		t.Errorf("an unknown role: %v", err)
	}
}

// Every event is answered with JSON or refused: nothing panics, and no message that was not handled
// counts as done.
func FuzzEvents(f *testing.F) {
	roles := map[string]Role{
		"http-api.json": API, "function-url.json": API, "rest.json": API, "sqs-fifo.json": Workflow, "sqs-standard.json": Activity, "schedule.json": Timer,
	}
	_, p := process(f, cart.Registrations()...)
	functions := map[Role]*Function{}
	for name, role := range roles {
		event, err := json.Marshal(recorded(f, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(event)
		functions[role] = function(f, role, p, Options{})
	}
	functions[Dead] = function(f, Dead, p, Options{})
	streams := streamingFunction(f, p, Options{})
	f.Fuzz(func(t *testing.T, event []byte) {
		for role, f := range functions {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			out, err := f.Invoke(ctx, event)
			cancel()
			var answer struct{ BatchItemFailures []object }
			if err == nil && json.Unmarshal(out, &answer) != nil {
				t.Errorf("%s answers %s", role, out)
			}
			if unread := role == Workflow || role == Activity; unread && err == nil && len(answer.BatchItemFailures) == 0 {
				t.Errorf("%s has handled %s", role, event)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a, err := streams.Stream(ctx, event)
		if err != nil {
			return
		}
		out, readErr := io.ReadAll(a)
		if closeErr := a.Close(); readErr != nil || closeErr != nil || !json.Valid(out) && !bytes.Contains(out, make([]byte, 8)) {
			t.Errorf("a URL that streams answers %q, %v, %v", out, readErr, closeErr)
		}
	})
}
