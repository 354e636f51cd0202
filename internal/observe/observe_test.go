package observe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/tracelog"
)

const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// The document has a row for each metric, with its names, its unit and what it counts.
func TestDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range observe.Metrics {
		unit := map[observe.Unit]string{observe.Count: "count", observe.Milliseconds: "ms", observe.Seconds: "s"}[m.Unit]
		if row := fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", m.Name, m.OTel, unit, m.Text); !strings.Contains(string(text), row) {
			t.Errorf("docs/observability.md lacks %s", row)
		}
	}
}

// The ids of a run's spans follow from what is in the log.
func TestIdentity(t *testing.T) {
	t.Parallel()
	r := observe.Run{WorkflowID: "a", RunID: "2-0102030405060708", FirstRunID: "1-1112131415161718", TraceParent: traceParent}
	id, start, flags, kept := r.Trace()
	if id.String() != "0af7651916cd43dd8448eb211c80319c" || start.String() != "b7ad6b7169203331" || flags != 1 || !kept {
		t.Errorf("the trace is %s, %s, %d, %v", id, start, flags, kept)
	}
	if r.Span().String() != "0102030405060708" {
		t.Errorf("the span is %s", r.Span())
	}
	commit := history.CommitID{1, 2, 3, 4, 5, 6, 7, 8, 9}
	ctx := observe.InTask(context.Background(), &r, commit)
	if traceID, spanID := tracelog.Of(ctx); traceID != id.String() || spanID != "0102030405060708" {
		t.Errorf("the task's span is %s of %s", spanID, traceID)
	}
	for _, wrong := range []string{
		"", "00", "01" + traceParent[2:], traceParent[:54], traceParent + "0", strings.Replace(traceParent, "b7ad6b7169203331", "0000000000000000", 1),
		strings.Replace(traceParent, "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32), 1), strings.Replace(traceParent, "b7", "g7", 1),
	} {
		r.TraceParent = wrong
		made, _, _, kept := r.Trace()
		if kept || made == id || made == (observe.TraceID{}) {
			t.Errorf("%q is taken for a trace context: %s", wrong, made)
		}
		next := observe.Run{WorkflowID: "a", RunID: "3-2122232425262728", FirstRunID: r.FirstRunID}
		if other, _, _, _ := next.Trace(); other != made {
			t.Error("the next run of a chain has another trace")
		}
		if ctx := observe.InTask(context.Background(), &r, commit); ctx != context.Background() {
			t.Error("the log names a trace that does not exist")
		}
	}
}

func TestNilHub(t *testing.T) {
	t.Parallel()
	hub := observe.New(nil, observe.Log(slog.New(slog.DiscardHandler)))
	if hub.On() {
		t.Error("the hub has a sink")
	}
	hub.Observe(t.Context(), &observe.Hung{})
	ctx, ended := hub.Request(t.Context(), &observe.Request{})
	ended()
	if ctx != t.Context() || hub.TraceParent(ctx) != "" {
		t.Error("a request is followed")
	}
	observe.On(ctx, &observe.Run{})
}

type secret struct{}

func (secret) Error() string { return "a secret" }

type discreet struct{}

func (discreet) LogValue() slog.Value { return slog.StringValue("what may be logged") }

// The value of a panic may hold data of users.
func TestPanics(t *testing.T) {
	t.Parallel()
	var index []int
	var caught any
	func() {
		defer func() { caught = recover() }()
		_ = index[len(index)]
	}()
	for value, want := range map[any]string{
		"a secret": "a value of type string", secret{}: "a value of type observe_test.secret", discreet{}: "what may be logged",
		caught: "runtime error: index out of range [0] with length 0",
	} {
		if got := observe.Panic(value); got != want {
			t.Errorf("%T is logged as %q, want %q", value, got, want)
		}
	}
	if got := observe.Panic(errors.New("a secret")); strings.Contains(got, "secret") {
		t.Errorf("an error is logged as %q", got)
	}
}

// A line names the span of its own context, or else the span of its handler.
func TestSpanOfALine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	base := observe.Handler(slog.NewTextHandler(&out, nil), nil)
	outer, inner := tracelog.With(t.Context(), "t1", "s1"), tracelog.With(t.Context(), "t1", "s2")
	log := slog.New(tracelog.Within(outer, base)).With("k", "v").WithGroup("g")
	log.Info("one")
	log.InfoContext(inner, "two")
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[0], "span_id=s1") || !strings.Contains(lines[1], "span_id=s2") || !strings.Contains(lines[1], "k=v") {
		t.Errorf("the log is\n%s", out.String())
	}
}

// Whatever happens to the runs of the probe adds to health metrics only.
func TestMetricsOfTheProbe(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]bool{"order": true, history.ProbeWorkflow: false} {
		others, health := 0, 0
		r := observe.Run{Type: typ}
		for _, e := range []observe.Event{
			&observe.Task{Run: r, Failure: "panic", Stuck: true}, &observe.Update{Run: r, Outcome: observe.Accepted}, &observe.Attempt{Run: r, Outcome: observe.Failed}, &observe.Unhandled{Run: r}, &observe.Held{Run: r},
		} {
			observe.Measure(e, func(m *observe.Metric, _ float64) {
				if m.Health {
					health++
				} else {
					others++
				}
			})
		}
		if health != 4 || (others > 0) != want {
			t.Errorf("%s: %d health metrics, %d others", typ, health, others)
		}
	}
}
