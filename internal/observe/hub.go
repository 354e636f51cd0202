package observe

import (
	"context"
	"sync"
	"time"
)

// Sink is told what has happened. It is called on the way of requests, by many goroutines: it is quick, and never fails.
type Sink interface {
	Observe(ctx context.Context, e Event)
}

// Tracer is a sink that also follows what takes time.
type Tracer interface {
	Sink
	// Request is called when a request has come, and the function that it returns when it has been answered.
	Request(ctx context.Context, r *Request) (context.Context, func())
	// Attempt is called before an attempt at an activity, and the function that it returns after it. The code of the
	// activity gets the context.
	Attempt(ctx context.Context, a *Attempt) (context.Context, func())
	// TraceParent is what a workflow that is started in this context keeps: a W3C traceparent header, or nothing.
	TraceParent(ctx context.Context) string
}

// Hub hands on what it is told. A nil hub drops it.
type Hub struct {
	sinks  []Sink
	tracer Tracer
}

// New returns a hub of these sinks, of which one may be a Tracer. It returns nil if there are none.
func New(sinks ...Sink) *Hub {
	h := &Hub{}
	for _, s := range sinks {
		if s == nil {
			continue
		}
		h.sinks = append(h.sinks, s)
		if t, ok := s.(Tracer); ok {
			h.tracer = t
		}
	}
	if h.sinks == nil {
		return nil
	}
	return h
}

// On reports whether anybody listens: where nobody does, events need not be made.
func (h *Hub) On() bool { return h != nil }

// Observe hands an event on.
func (h *Hub) Observe(ctx context.Context, e Event) {
	if h == nil {
		return
	}
	for _, s := range h.sinks {
		s.Observe(ctx, e)
	}
}

// Request is called when a request has come. What works on it gets the context. The function that comes with it is called
// when the request has been answered.
func (h *Hub) Request(ctx context.Context, r *Request) (context.Context, func()) {
	if h == nil {
		return ctx, func() {}
	}
	ctx, end := context.WithValue(ctx, requestKey{}, r), func() {}
	if h.tracer != nil {
		ctx, end = h.tracer.Request(ctx, r)
	}
	return ctx, func() {
		h.Observe(ctx, r)
		end()
	}
}

// Attempt is called before an attempt at an activity. The function that comes with the context is called when it is over,
// with its outcome and when that was.
func (h *Hub) Attempt(ctx context.Context, a *Attempt) (context.Context, func(o Outcome, failure string, ended time.Time)) {
	if h == nil {
		return ctx, func(Outcome, string, time.Time) {}
	}
	end := func() {}
	if h.tracer != nil {
		ctx, end = h.tracer.Attempt(ctx, a)
	}
	return ctx, func(o Outcome, failure string, ended time.Time) {
		a.Outcome, a.Failure, a.Ended = o, failure, ended
		h.Observe(ctx, a)
		end()
	}
}

// TraceParent returns what a workflow that is started in this context keeps of its trace, or "" if
// nobody traces.
func (h *Hub) TraceParent(ctx context.Context) string {
	if h == nil || h.tracer == nil {
		return ""
	}
	return h.tracer.TraceParent(ctx)
}

type requestKey struct{}

// RequestOf is the request that this context belongs to, or nil.
func RequestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// carried says which run a request was carried out on.
type carried struct {
	mu  sync.Mutex
	run *Run
}

// On notes the run that the request of this context was carried out on.
func On(ctx context.Context, run *Run) {
	if r := RequestOf(ctx); r != nil {
		r.carried.mu.Lock()
		defer r.carried.mu.Unlock()
		r.carried.run = run
	}
}

// Run returns the run that the request was carried out on, or nil if there was none.
func (r *Request) Run() *Run {
	r.carried.mu.Lock()
	defer r.carried.mu.Unlock()
	return r.carried.run
}
