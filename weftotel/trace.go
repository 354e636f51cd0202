package weftotel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/tracelog"
)

// scope is the instrumentation scope of all spans and metrics.
const scope = "github.com/seed-41655fb1/weft"

// telemetry exports the events that it observes. Either of tracer and instruments may be nil.
type telemetry struct {
	providers   Providers
	propagator  propagation.TextMapPropagator
	tracer      trace.Tracer
	instruments *instruments
}

// Flush implements observe.Telemetry.
func (t *telemetry) Flush(ctx context.Context) (err error) {
	if t.providers.Spans != nil {
		err = t.providers.Spans.ForceFlush(ctx)
	}
	if t.providers.Metrics != nil {
		err = errors.Join(err, t.providers.Metrics.ForceFlush(ctx))
	}
	return err
}

// Close implements observe.Telemetry.
func (t *telemetry) Close(ctx context.Context) (err error) {
	if t.providers.Spans != nil {
		err = t.providers.Spans.Shutdown(ctx)
	}
	if t.providers.Metrics != nil {
		err = errors.Join(err, t.providers.Metrics.Shutdown(ctx))
	}
	return err
}

// Observe implements observe.Sink.
func (t *telemetry) Observe(ctx context.Context, e observe.Event) {
	if t.instruments != nil {
		t.instruments.observe(ctx, e)
	}
	if t.tracer == nil {
		return
	}
	switch e := e.(type) {
	case *observe.Task:
		t.task(ctx, e)
	case *observe.Update:
		t.emit(&e.Run, past{
			name: "update " + e.Name, began: e.Began, ended: e.Ended, cause: ctx, attributes: []attribute.KeyValue{
				attribute.String("weft.update.id", e.UpdateID), attribute.String("weft.update.name", e.Name), outcome(e.Outcome),
			},
		})
	case *observe.Timer:
		t.emit(&e.Run, past{
			name: "timer", parent: observe.TaskSpan(e.Commit), began: e.Began, ended: e.Ended,
			attributes: []attribute.KeyValue{attribute.Int64("weft.timer.event_id", e.EventID)},
		})
	case *observe.Reset:
		t.emit(&e.Run, past{
			name: "reset", id: observe.TaskSpan(e.Commit), began: e.At, ended: e.At, cause: ctx,
			attributes: []attribute.KeyValue{attribute.String("weft.reset.from", string(e.From))},
		})
	case *observe.Closed:
		t.closed(e)
	}
}

func (t *telemetry) task(ctx context.Context, e *observe.Task) {
	failed := ""
	attributes := []attribute.KeyValue{
		attribute.String("weft.task.kind", e.Kind.String()), attribute.String("weft.task.trigger", e.Trigger), attribute.Int("weft.task.attempt", e.Attempt),
		attribute.Int64("weft.task.events", e.Events), outcome(e.Outcome),
	}
	if e.Failure != "" {
		failed = "the workflow's code failed: " + e.Failure
		attributes = append(attributes, semconv.ErrorTypeKey.String(e.Failure))
	}
	t.emit(&e.Run, past{
		name: "task " + e.Trigger, id: observe.TaskSpan(e.Commit), began: e.Began, ended: e.Ended, cause: ctx, attributes: attributes, failed: failed,
	})
}

// closed emits the span of a run, which is the parent of its other spans.
func (t *telemetry) closed(e *observe.Closed) {
	failed := ""
	if e.Status == history.Failed || e.Status == history.TimedOut {
		failed = "the workflow ended as " + e.Status.String()
	}
	t.emit(&e.Run, past{
		name: "workflow " + e.Type, id: e.Span(), root: true, began: e.Began, ended: e.Ended, failed: failed,
		attributes: []attribute.KeyValue{attribute.String("weft.status", e.Status.String()), attribute.Int64("weft.events", e.Events)},
	})
}

// past is a finished span.
type past struct {
	name string
	// id is the span's id; zero is a random one.
	id observe.SpanID
	// parent is the span's parent; zero is the run's span. root is set for the run's span itself.
	parent       observe.SpanID
	root         bool
	began, ended time.Time
	// cause is a context with the span that caused this one, if that is not its parent; nil is
	// none.
	cause      context.Context
	attributes []attribute.KeyValue
	// failed says why the span is an error; empty if it is not.
	failed string
}

// emit emits a span of a run's trace.
func (t *telemetry) emit(r *observe.Run, p past) {
	options := []trace.SpanStartOption{trace.WithTimestamp(p.began), trace.WithAttributes(append(about(r), p.attributes...)...)}
	if p.cause != nil {
		if cause := trace.SpanContextFromContext(p.cause); cause.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: cause}))
		}
	}
	ctx, g := t.within(r, p.parent), given{span: trace.SpanID(p.id)}
	if p.root {
		ctx, g = t.root(r)
	}
	_, span := t.tracer.Start(withIDs(ctx, g), p.name, options...)
	if p.failed != "" {
		span.SetStatus(codes.Error, p.failed)
	}
	span.End(trace.WithTimestamp(p.ended))
}

// within returns a context in the trace of a run: in the span parent, or, if that is zero, in the
// run's own span.
func (t *telemetry) within(r *observe.Run, parent observe.SpanID) context.Context {
	if parent == (observe.SpanID{}) {
		parent = r.Span()
	}
	id, _, flags, kept := r.Trace()
	if !kept {
		// No starter has decided whether this trace is kept. The sampler decides by the trace's id,
		// in each function alike. The span is never ended, and so never exported.
		ctx, g := t.root(r)
		_, undecided := t.tracer.Start(withIDs(ctx, g), "workflow "+r.Type)
		flags = byte(undecided.SpanContext().TraceFlags())
	}
	return remote(id, parent, flags)
}

// root returns a context for starting a run's own span, and its ids. The parent is the span in
// which the workflow was started, if there is one.
func (t *telemetry) root(r *observe.Run) (context.Context, given) {
	id, start, flags, kept := r.Trace()
	g := given{trace: trace.TraceID(id), span: trace.SpanID(r.Span())}
	if !kept {
		return context.Background(), g
	}
	return remote(id, start, flags), g
}

func remote(id observe.TraceID, span observe.SpanID, flags byte) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), spanContext(id, span, flags))
}

func spanContext(id observe.TraceID, span observe.SpanID, flags byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(id), SpanID: trace.SpanID(span), TraceFlags: trace.TraceFlags(flags), Remote: true,
	})
}

// about returns the attributes that all spans of a run have.
func about(r *observe.Run) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("weft.workflow.id", r.WorkflowID), attribute.String("weft.workflow.type", r.Type), attribute.String("weft.run.id", string(r.RunID)),
	}
}

func outcome(o observe.Outcome) attribute.KeyValue {
	return attribute.String("weft.outcome", string(o))
}

// Attempt implements observe.Tracer.
func (t *telemetry) Attempt(ctx context.Context, a *observe.Attempt) (context.Context, func()) {
	if t.tracer == nil {
		return ctx, func() {}
	}
	attributes := append(about(&a.Run), attribute.String("weft.activity.type", a.ActivityType), attribute.Int64("weft.activity.event_id", a.EventID),
		attribute.Int("weft.activity.attempt", a.Number))
	_, span := t.tracer.Start(t.within(&a.Run, observe.TaskSpan(a.Commit)), "activity "+a.ActivityType,
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(a.Began), trace.WithAttributes(attributes...))
	return under(ctx, span), func() {
		span.SetAttributes(outcome(a.Outcome))
		if a.Failure != "" {
			span.SetAttributes(semconv.ErrorTypeKey.String(a.Failure))
			span.SetStatus(codes.Error, "the attempt failed: "+a.Failure)
		}
		span.End(trace.WithTimestamp(a.Ended))
	}
}

// under returns a context in a span. What is logged with it names the span.
func under(ctx context.Context, span trace.Span) context.Context {
	sc := span.SpanContext()
	return tracelog.With(trace.ContextWithSpan(ctx, span), sc.TraceID().String(), sc.SpanID().String())
}

// traceParent returns a span context as a traceparent header of version 00.
func traceParent(sc trace.SpanContext) string {
	return fmt.Sprintf("00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags())
}
