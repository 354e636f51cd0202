// Package tracelog carries the ids of a trace and a span through a context, and puts them into log
// lines. It imports no exporter and no meter, so that package activity, which authors import, does
// not depend on them.
package tracelog

import (
	"context"
	"log/slog"
)

type key struct{}

type ids struct{ trace, span string }

// With returns a context of work that is part of a span. Lines that are logged with it name both
// ids.
func With(ctx context.Context, traceID, spanID string) context.Context {
	return context.WithValue(ctx, key{}, ids{traceID, spanID})
}

// Of returns the ids that With put into a context; they are empty if there are none.
func Of(ctx context.Context) (traceID, spanID string) {
	s, _ := ctx.Value(key{}).(ids)
	return s.trace, s.span
}

// Within returns a handler whose lines belong to the span of ctx, unless a line's own context has a
// span.
func Within(ctx context.Context, inner slog.Handler) slog.Handler { return &within{inner, ctx} }

type within struct {
	slog.Handler
	ctx context.Context
}

// Handle implements slog.Handler.
func (h *within) Handle(ctx context.Context, r slog.Record) error {
	if trace, _ := Of(ctx); trace == "" {
		ctx = h.ctx
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *within) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &within{h.Handler.WithAttrs(attrs), h.ctx}
}

// WithGroup implements slog.Handler.
func (h *within) WithGroup(name string) slog.Handler {
	return &within{h.Handler.WithGroup(name), h.ctx}
}
