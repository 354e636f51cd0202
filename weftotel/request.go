package weftotel

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// operation is a request in progress. Its span is in the caller's trace. Without a caller's trace,
// only a start has a span, which begins the workflow's trace.
type operation struct {
	*observe.Request
	span trace.Span // nil if there is none
}

type operationKey struct{}

// header reads the headers of a request.
type header struct{ *observe.Request }

// Get implements propagation.TextMapCarrier.
func (h header) Get(name string) string { return h.Header(name) }

// Set implements propagation.TextMapCarrier. It writes nothing into a request.
func (header) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (header) Keys() []string { return nil }

// Request implements observe.Tracer.
func (t *telemetry) Request(ctx context.Context, r *observe.Request) (context.Context, func()) {
	if t.tracer == nil {
		return ctx, func() {}
	}
	o := &operation{Request: r}
	ctx = context.WithValue(ctx, operationKey{}, o)
	caller := t.propagator.Extract(context.Background(), header{r})
	if trace.SpanContextFromContext(caller).IsValid() {
		o.span = t.serve(caller, r)
		ctx = under(ctx, o.span)
	}
	return ctx, func() { t.served(o) }
}

// serve begins the span of a request.
func (t *telemetry) serve(ctx context.Context, r *observe.Request) trace.Span {
	_, span := t.tracer.Start(ctx, r.Method+" "+r.Route, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.Began),
		trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(r.Route)))
	return span
}

// TraceParent implements observe.Tracer: a workflow that this request starts belongs to the
// request's span.
func (t *telemetry) TraceParent(ctx context.Context) string {
	o, _ := ctx.Value(operationKey{}).(*operation)
	if o == nil {
		return ""
	}
	if o.span == nil {
		o.span = t.serve(context.Background(), o.Request)
	}
	return traceParent(o.span.SpanContext())
}

// served ends the span of a request.
func (t *telemetry) served(o *operation) {
	run := o.Run()
	if o.span != nil {
		o.span.SetAttributes(semconv.HTTPResponseStatusCode(o.Status), attribute.Int64("weft.cost.writes", o.Cost.Writes),
			attribute.Int64("weft.cost.reads", o.Cost.Reads), attribute.Int64("weft.cost.messages", o.Cost.Messages))
		if run != nil {
			o.span.SetAttributes(about(run)...)
			if at := trace.SpanContextFromContext(t.within(run, observe.SpanID{})); at.TraceID() != o.span.SpanContext().TraceID() {
				o.span.AddLink(trace.Link{SpanContext: at})
			}
		}
		if o.Status >= http.StatusInternalServerError {
			o.span.SetStatus(codes.Error, http.StatusText(o.Status))
		}
		o.span.End(trace.WithTimestamp(o.Ended))
	}
	// The request is in the run's own trace too, unless that has it already as the update or the
	// start.
	if o.InTrace && run != nil {
		t.operation(o, run)
	}
}

func (t *telemetry) operation(o *operation, run *observe.Run) {
	name := o.Operation
	if o.Name != "" {
		name += " " + o.Name
	}
	p := past{name: name, began: o.Began, ended: o.Ended, attributes: []attribute.KeyValue{semconv.HTTPResponseStatusCode(o.Status)}}
	if o.span != nil {
		p.cause = trace.ContextWithSpan(context.Background(), o.span)
	}
	if o.Status >= http.StatusInternalServerError {
		p.failed = http.StatusText(o.Status)
	}
	t.emit(run, p)
}
