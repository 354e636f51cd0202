package observe

import (
	"context"
	"sync"
	"time"
)

// Sink gets the events. It is called while requests are served, by many goroutines: it must be
// fast, and cannot fail.
type Sink interface {
	Observe(ctx context.Context, e Event)
}

// Tracer is a sink that also follows requests and attempts from beginning to end.
type Tracer interface {
	Sink
	// Request is called when a request arrives. The function that it returns is called after the
	// answer.
	Request(ctx context.Context, r *Request) (context.Context, func())
	// Attempt is called before an attempt at an activity. The function that it returns is called
	// after the attempt. The code of the activity gets the context.
	Attempt(ctx context.Context, a *Attempt) (context.Context, func())
	// TraceParent returns what a workflow that is started in this context stores: a W3C traceparent
	// header, or nothing.
	TraceParent(ctx context.Context) string
}

// Hub passes events on to its sinks. A nil hub drops them.
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

// On reports whether the hub has sinks. If it has none, callers need not create events.
func (h *Hub) On() bool { return h != nil }

// Observe passes an event on.
func (h *Hub) Observe(ctx context.Context, e Event) {
	if h == nil {
		return
	}
	for _, s := range h.sinks {
		s.Observe(ctx, e)
	}
}

// Request is called when a request arrives. Whatever serves the request gets the context. The
// returned function is called after the answer.
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

// Attempt is called before an attempt at an activity. The returned function is called when the
// attempt is over, with its outcome and the time.
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

// TraceParent returns what a workflow that is started in this context stores of its trace, or "" if
// the hub has no Tracer.
func (h *Hub) TraceParent(ctx context.Context) string {
	if h == nil || h.tracer == nil {
		return ""
	}
	return h.tracer.TraceParent(ctx)
}

type requestKey struct{}

// RequestOf returns the request that this context belongs to, or nil.
func RequestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// carried says which run a request was carried out on, and how long it waited on purpose.
type carried struct {
	mu   sync.Mutex
	run  *Run
	wait time.Duration
}

// Waited records that the request of this context has waited on purpose: for news that its caller
// wants, and not for a store, a lock or code.
func Waited(ctx context.Context, d time.Duration) {
	if r := RequestOf(ctx); r != nil {
		r.carried.mu.Lock()
		defer r.carried.mu.Unlock()
		r.carried.wait += d
	}
}

func (r *Request) waited() time.Duration {
	r.carried.mu.Lock()
	defer r.carried.mu.Unlock()
	return r.carried.wait
}

// On records the run that the request of this context was carried out on.
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
