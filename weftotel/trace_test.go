package weftotel_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/tracelog"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/awspath"
)

// onAWSPath returns a deployment of functions and queues, on a clock of its own.
func onAWSPath(t *testing.T, c *collector) testbed.Testbed {
	t.Helper()
	return awspath.Testbeds(awspath.Memory, awspath.Ears{Observe: c.hub})(t, nil)
}

func post(bed testbed.Testbed, process int, target, body string) {
	bed.Do(process, testbed.Request{Method: http.MethodPost, Target: "/v1/workflows" + target, Body: body})
}

// A workflow's activities, timer, updates, signal and query, in two processes, through functions
// and queues, are one trace.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	c := collect(t)
	bed := onAWSPath(t, c)
	defer bed.Close()
	post(bed, 1, "", `{"workflowId":"a","type":"counter"}`)
	post(bed, 2, "/a/updates/add", `{"input":7}`)
	post(bed, 2, "/a/updates/add", `{"input":-1}`)
	post(bed, 1, "/a/updates/do", `{"waitFor":"accepted","input":{"name":"x","for":"10s"}}`)
	bed.Sleep(time.Minute)
	post(bed, 2, "/a/updates/do", `{"waitFor":"accepted","input":{"name":"y","for":"10s","fails":1}}`)
	bed.Sleep(time.Minute)
	post(bed, 1, "/a/updates/do", `{"waitFor":"accepted","input":{"name":"z","fails":-1}}`)
	post(bed, 1, "/a/updates/nap", `{"waitFor":"accepted","input":"1h"}`)
	bed.Sleep(2 * time.Hour)
	post(bed, 2, "/a/queries/sum", "")
	post(bed, 1, "/a/signals/poke", `{"input":"done"}`)
	if ids := c.traces(); len(ids) != 1 {
		t.Errorf("there are %d traces, want 1", len(ids))
	}
	wantTree(t, c.of(c.traces()[0]), `
POST /v1/workflows status_code=201
  workflow counter status=completed (2h2m0s)
    task start kind=normal attempt=1 events=4 outcome=committed
    task update kind=speculative attempt=1 events=5 outcome=committed
    task update kind=speculative attempt=1 events=0 outcome=discarded
    task update kind=speculative attempt=1 events=5 outcome=lost
    update add outcome=accepted
    update add outcome=rejected
    update do outcome=accepted
    task update kind=speculative attempt=1 events=5 outcome=committed
      activity work attempt=1 outcome=completed (10s)
    task activity kind=normal attempt=1 events=5 outcome=committed
    task update kind=speculative attempt=1 events=5 outcome=lost
    update do outcome=accepted
    task update kind=speculative attempt=1 events=5 outcome=committed
      activity work attempt=1 outcome=failed type=application (10s)
      activity work attempt=2 outcome=completed (10s)
    task activity kind=normal attempt=1 events=5 outcome=committed
    task activity kind=normal attempt=1 events=5 outcome=committed
    task update kind=speculative attempt=1 events=5 outcome=committed
      activity work attempt=1 outcome=failed type=application
    task update kind=speculative attempt=1 events=5 outcome=committed
      timer (1h0m0s)
    update do outcome=accepted
    update nap outcome=accepted
    task timer kind=normal attempt=1 events=5 outcome=committed
    query sum status_code=200
    signal poke status_code=202
    task signal kind=normal attempt=1 events=5 outcome=committed
`)
	all := c.of(c.traces()[0])
	if attempt, task := named(t, all, "activity work"), named(t, all, "task activity"); !links(task, attempt) {
		t.Error("the task that took an activity's result does not link to the attempt that had it")
	}
}

// A process that dies, a redelivered message, and a continued run do not break the trace.
func TestTraceContinues(t *testing.T) {
	t.Parallel()
	c := collect(t)
	bed := onAWSPath(t, c)
	defer bed.Close()
	post(bed, 1, "", `{"workflowId":"a","type":"counter"}`)
	post(bed, 2, "/a/updates/do", `{"waitFor":"accepted","input":{"name":"x","for":"1m"}}`)
	bed.Hook(1, testbed.OnPut, false, testbed.Faults["die"]()) // when the activity has run
	bed.Sleep(24 * time.Hour)
	post(bed, 1, "/a/signals/poke", `{"input":"again"}`)
	post(bed, 2, "/a/signals/poke", `{"input":"done"}`)
	if ids := c.traces(); len(ids) != 1 {
		t.Errorf("there are %d traces, want 1", len(ids))
	}
	got := tree(t, c.of(c.traces()[0]))
	for _, want := range []string{
		"\n  workflow counter status=continuedAsNew", "\n  workflow counter status=completed",
		// The attempts are not limited: the retry after a crash has the same number.
		"      activity work attempt=1 outcome=completed (1m0s)\n      activity work attempt=1 outcome=completed (1m0s)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the trace is\n%sand has no%s", got, want)
		}
	}
}

// A reset run continues in the same trace. The activities that it runs again belong to the reset.
func TestTraceOfAReset(t *testing.T) {
	t.Parallel()
	c := collect(t)
	bed := onAWSPath(t, c)
	defer bed.Close()
	post(bed, 1, "", `{"workflowId":"a","type":"counter"}`)
	post(bed, 2, "/a/updates/do", `{"waitFor":"accepted","input":{"name":"x","for":"1m"}}`)
	post(bed, 2, "/a/updates/add", `{"input":1}`)
	post(bed, 1, "/a/reset", `{"to":"lastTask","exclude":["updates"]}`)
	bed.Sleep(time.Hour)
	post(bed, 2, "/a/signals/poke", `{"input":"done"}`)
	if ids := c.traces(); len(ids) != 1 {
		t.Errorf("there are %d traces, want 1", len(ids))
	}
	got := tree(t, c.of(c.traces()[0]))
	for _, want := range []string{"\n  workflow counter status=terminated", "\n  workflow counter status=completed", "\n    reset\n      activity work"} {
		if !strings.Contains(got, want) {
			t.Errorf("the trace is\n%sand has no%s", got, want)
		}
	}
}

// asked sends a request with a caller's trace context, and returns that context.
func asked(t *testing.T, p *testbed.Process, flags, target, body string) trace.SpanContext {
	t.Helper()
	caller := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0: 1, 15: byte(len(target))}, SpanID: trace.SpanID{7: byte(1 + len(body))}, Remote: true,
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/workflows"+target, strings.NewReader(body))
	r.Header.Set("Traceparent", "00-"+caller.TraceID().String()+"-"+caller.SpanID().String()+"-"+flags)
	testbed.Ask(t, p.Handler, r)
	return caller
}

// A workflow that is started within a trace is part of that trace. An update from another trace has
// a span there, which links to the workflow, and one in the workflow, which links back.
func TestCallersTraces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := collect(t)
		p := testbed.New(t).Start(executor.Options{Observe: c.hub}, testbed.Workload("build-1")...)
		starter := asked(t, p, "01", "", `{"workflowId":"a","type":"counter"}`)
		updater := asked(t, p, "01", "/a/updates/add", `{"input":7}`)
		asked(t, p, "01", "/a/signals/poke", `{"input":"done"}`)
		wantTree(t, c.of(starter.TraceID()), `
POST /v1/workflows status_code=201
  workflow counter status=completed
    signal poke status_code=202
    task signal kind=normal attempt=1 events=5 outcome=committed
    task start kind=normal attempt=1 events=4 outcome=committed
    task update kind=speculative attempt=1 events=5 outcome=committed
    update add outcome=accepted
`)
		mine, theirs := c.of(starter.TraceID()), c.of(updater.TraceID())
		wantTree(t, theirs, `
POST /v1/workflows/{id}/updates/{name} status_code=200
`)
		request, run := theirs[0], named(t, mine, "workflow counter")
		if named(t, mine, "POST /v1/workflows").Parent.SpanID() != starter.SpanID() || request.Parent.SpanID() != updater.SpanID() {
			t.Error("a request's span does not belong to the caller's")
		}
		if !links(request, run) || !links(named(t, mine, "update add"), request) || !links(named(t, mine, "task update"), request) {
			t.Error("the update's spans in two traces do not link to each other")
		}
		if value(request, "weft.workflow.id") != "a" || value(request, "weft.cost.writes") != "1" {
			t.Errorf("the request's attributes are %v", request.Attributes)
		}
	})
}

// Whether a workflow is traced is decided once, by its starter, or by the id of its trace: no
// function keeps half of a trace.
func TestSamplingIsConsistent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := collect(t)
		p := testbed.New(t).Start(executor.Options{Observe: c.hub}, testbed.Workload("build-1")...)
		asked(t, p, "00", "", `{"workflowId":"a","type":"counter"}`)
		p.Do(http.MethodPost, "/v1/workflows/a/updates/do", `{"input":{"name":"x"}}`)
		asked(t, p, "00", "/a/signals/poke", `{"input":"done"}`)
		if n := len(c.GetSpans()); n > 0 {
			t.Errorf("%d spans of a workflow whose starter does not keep its trace", n)
		}
	})
	for name, traced := range map[string]bool{"started with tracing": true, "started without": false} {
		synctest.Test(t, func(t *testing.T) {
			d, half := testbed.New(t), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.5)))
			c := collect(t, half)
			starter := executor.Options{Observe: c.hub}
			if !traced {
				starter.Observe = nil
			}
			first, second := d.Idle(starter, testbed.Workload("build-1")...), d.Start(executor.Options{Observe: collectInto(t, c, half)}, testbed.Workload("build-1")...)
			const workflows = 60
			for i := range workflows {
				id := "w" + strings.Repeat("x", i)
				first.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"`+id+`","type":"counter"}`)
				second.Do(http.MethodPost, "/v1/workflows/"+id+"/updates/do", `{"input":{"name":"x"}}`)
				second.Do(http.MethodPost, "/v1/workflows/"+id+"/signals/poke", `{"input":"done"}`)
			}
			kept, want := len(c.traces()), 7
			if traced {
				want = 9 // the request that started it, and its task
			}
			for _, id := range c.traces() {
				if spans := c.of(id); len(spans) != want {
					t.Errorf("%s: a trace has %d spans, want %d:\n%s", name, len(spans), want, tree(t, spans))
				}
			}
			if kept < workflows/10 || kept > workflows*9/10 {
				t.Errorf("%s: %d of %d traces are kept, of which half should be", name, kept, workflows)
			}
		})
	}
}

// A workflow that was started without tracing has a trace as well, the same in each process, and
// across a continued run.
func TestTraceWithoutStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, c := testbed.New(t), collect(t)
		d.Idle(executor.Options{}, testbed.Workload("build-1")...).Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"counter"}`)
		for _, text := range []string{"again", "again", "done"} {
			p := d.Start(executor.Options{Observe: collectInto(t, c)}, testbed.Workload("build-1")...)
			p.Do(http.MethodPost, "/v1/workflows/a/signals/poke", `{"input":"`+text+`"}`)
			p.Stop()
		}
		if ids := c.traces(); len(ids) != 1 {
			t.Fatalf("there are %d traces, want 1", len(ids))
		}
		got := tree(t, c.of(c.traces()[0]))
		if n := strings.Count(got, "workflow counter"); n != 3 || strings.Count(got, "\n  task") != 5 {
			t.Errorf("the trace has %d runs:\n%s", n, got)
		}
	})
}

// An activity's own spans are part of the trace, and it can read its trace id.
func TestSpansOfActivities(t *testing.T) {
	t.Parallel()
	c := collect(t)
	a := &observe.Attempt{Run: observe.Run{WorkflowID: "a", RunID: "1-0102030405060708"}, ActivityType: "charge"}
	ctx, ended := c.hub.Attempt(t.Context(), a)
	_, own := trace.SpanFromContext(ctx).TracerProvider().Tracer("shop").Start(ctx, "card")
	_, sibling := trace.SpanFromContext(ctx).TracerProvider().Tracer("shop").Start(ctx, "receipt")
	own.End()
	sibling.End()
	ended(observe.Completed, "", time.Now())
	attempt := named(t, c.GetSpans(), "activity charge")
	ids := map[trace.SpanID]bool{attempt.SpanContext.SpanID(): true}
	for _, name := range []string{"card", "receipt"} {
		span := named(t, c.GetSpans(), name)
		id := span.SpanContext.SpanID()
		if ids[id] {
			t.Errorf("the span %s has the id of another", name)
		}
		ids[id] = true
		if span.Parent.SpanID() != attempt.SpanContext.SpanID() {
			t.Errorf("the span %s does not belong to the attempt", name)
		}
	}
	if traceID, spanID := tracelog.Of(ctx); traceID != attempt.SpanContext.TraceID().String() || spanID != attempt.SpanContext.SpanID().String() {
		t.Errorf("the log names the span %s of %s", spanID, traceID)
	}
	if value(attempt, attribute.Key("weft.run.id")) != "1-0102030405060708" {
		t.Errorf("the attempt's attributes are %v", attempt.Attributes)
	}
}
