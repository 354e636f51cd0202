package weftotel

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// IDs returns the generator of span ids. The ids of runs and of their tasks are derived from the
// log, so that each function knows the parent spans of others. Other ids are random. A trace id
// begins with the time in seconds, as AWS X-Ray demands.
func IDs() sdktrace.IDGenerator { return ids{} }

type ids struct{}

type idsKey struct{}

// given are the ids for the next span. A zero trace id is not given.
type given struct {
	trace trace.TraceID
	span  trace.SpanID
}

// withIDs returns a context for starting one span. Do not pass it on: each span that begins with it
// has these ids.
func withIDs(ctx context.Context, g given) context.Context {
	return context.WithValue(ctx, idsKey{}, g)
}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if g, ok := ctx.Value(idsKey{}).(given); ok && g.trace.IsValid() {
		return g.trace, g.span
	}
	var t trace.TraceID
	binary.BigEndian.PutUint32(t[:], uint32(time.Now().Unix()))
	binary.BigEndian.PutUint32(t[4:], rand.Uint32())
	binary.BigEndian.PutUint64(t[8:], rand.Uint64()|1) // never zero
	return t, randomSpan()
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if g, ok := ctx.Value(idsKey{}).(given); ok && g.span.IsValid() {
		return g.span
	}
	return randomSpan()
}

func randomSpan() (id trace.SpanID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
