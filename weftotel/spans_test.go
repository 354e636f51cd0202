package weftotel_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/weftotel"
)

// collector keeps the spans that a deployment exports.
type collector struct {
	*tracetest.InMemoryExporter
	hub *observe.Hub
}

func collect(t *testing.T, options ...sdktrace.TracerProviderOption) *collector {
	t.Helper()
	c := &collector{InMemoryExporter: tracetest.NewInMemoryExporter()}
	options = append(options, sdktrace.WithSyncer(c), sdktrace.WithIDGenerator(weftotel.IDs()))
	telemetry, err := weftotel.Providers{Spans: sdktrace.NewTracerProvider(options...)}.Open(t.Context(), observe.Settings{Namespace: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c.hub = observe.New(telemetry)
	return c
}

// of returns the spans of a trace, in the order in which they began.
func (c *collector) of(id trace.TraceID) (spans []tracetest.SpanStub) {
	for _, s := range c.GetSpans() {
		if s.SpanContext.TraceID() == id {
			spans = append(spans, s)
		}
	}
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(a.Name, b.Name))
	})
	return spans
}

// traces returns the ids of all traces, in the order in which their first span ended.
func (c *collector) traces() (ids []trace.TraceID) {
	for _, s := range c.GetSpans() {
		if id := s.SpanContext.TraceID(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// tree returns a trace as text: each span under its parent, with its seconds and some of its
// attributes. It fails the test if two spans have one id, or if a parent is missing; only a request
// may have a caller's span as its parent.
func tree(t *testing.T, spans []tracetest.SpanStub) string {
	t.Helper()
	known := map[trace.SpanID]bool{}
	for _, s := range spans {
		if known[s.SpanContext.SpanID()] {
			t.Errorf("there are two spans %s", s.SpanContext.SpanID())
		}
		known[s.SpanContext.SpanID()] = true
	}
	var b strings.Builder
	var show func(parent trace.SpanID, depth int)
	show = func(parent trace.SpanID, depth int) {
		for _, s := range spans {
			top := depth == 0 && !known[s.Parent.SpanID()]
			if top && s.Parent.IsValid() && s.SpanKind != trace.SpanKindServer {
				t.Errorf("the span %s belongs to one that is not there", s.Name)
			}
			if top || depth > 0 && s.Parent.SpanID() == parent {
				fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", depth), line(s))
				show(s.SpanContext.SpanID(), depth+1)
			}
		}
	}
	show(trace.SpanID{}, 0)
	return b.String()
}

var printed = []attribute.Key{
	"weft.task.kind", "weft.task.attempt", "weft.task.events", "weft.activity.attempt", "weft.status", "http.response.status_code", "weft.outcome", "error.type",
}

func line(s tracetest.SpanStub) string {
	text := s.Name
	for _, key := range printed {
		if v := value(s, key); v != "" {
			text += " " + string(key[strings.LastIndex(string(key), ".")+1:]) + "=" + v
		}
	}
	if d := s.EndTime.Sub(s.StartTime).Round(time.Second); d > 0 {
		text += fmt.Sprintf(" (%v)", d)
	}
	return text
}

func value(s tracetest.SpanStub, key attribute.Key) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// named returns the first span with a name.
func named(t *testing.T, spans []tracetest.SpanStub, name string) tracetest.SpanStub {
	t.Helper()
	for _, s := range spans {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no span %q among\n%s", name, tree(t, spans))
	panic("not reached")
}

// links reports whether one span links to another.
func links(from, to tracetest.SpanStub) bool {
	return slices.ContainsFunc(from.Links, func(l sdktrace.Link) bool {
		return l.SpanContext.TraceID() == to.SpanContext.TraceID() && l.SpanContext.SpanID() == to.SpanContext.SpanID()
	})
}

func wantTree(t *testing.T, spans []tracetest.SpanStub, want string) {
	t.Helper()
	if got := tree(t, spans); got != strings.TrimLeft(want, "\n") {
		t.Errorf("the trace is\n%swant%s", got, want)
	}
}

// collectInto returns the hub of another process, whose spans go to the same collector.
func collectInto(t *testing.T, c *collector, options ...sdktrace.TracerProviderOption) *observe.Hub {
	t.Helper()
	other := collect(t, append(options, sdktrace.WithSyncer(c))...)
	return other.hub
}
