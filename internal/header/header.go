// Package header carries the header of a workflow through a context.Context, from the code that
// starts a workflow to the code of its activities.
package header

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/payload"
)

type key struct{}

// carried is the header of a context, and the error if a field is invalid.
type carried struct {
	header history.Header
	err    error
}

// With returns a context whose header has a field. If the field is invalid, From returns the error.
func With(ctx context.Context, name string, value any) context.Context {
	h, err := From(ctx)
	if err != nil {
		return ctx
	}
	p, err := payload.Encode(value)
	if err != nil {
		return context.WithValue(ctx, key{}, carried{h, fmt.Errorf("header field %q: %w", name, err)})
	}
	h = h.With(name, p)
	return context.WithValue(ctx, key{}, carried{h, engine.CheckHeader(h)})
}

// Into returns a context with a header.
func Into(ctx context.Context, h history.Header) context.Context {
	return context.WithValue(ctx, key{}, carried{h, nil})
}

// From returns the header of a context.
func From(ctx context.Context) (history.Header, error) {
	c, _ := ctx.Value(key{}).(carried)
	return c.header, c.err
}

// Get decodes a field of a header. ok is false if there is none, or if it is not a T.
func Get[T any](h history.Header, name string) (v T, ok bool) {
	p, found := h.Get(name)
	if !found {
		return v, false
	}
	v, err := payload.Decode[T](p)
	return v, err == nil
}
