package activity

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/header"
	"github.com/seed-41655fb1/weft/workflow"
)

// Interceptor wraps each attempt at the activities of a program. It calls next, or returns an error
// without calling it, which fails the attempt. InfoOf and Header identify the attempt and its
// workflow.
type Interceptor func(ctx context.Context, next func(context.Context) error) error

// Intercept wraps all activities of the registry in interceptors, wherever in it they are
// registered. The first is the outermost.
//
//	weft.Register(activity.Intercept(timed), cart.Charge)
func Intercept(interceptors ...Interceptor) workflow.Registration {
	return bridge.PartOf(func(r *engine.Registry) error {
		for _, i := range interceptors {
			r.AroundActivities(i.around)
		}
		return nil
	})
}

// around calls next within the interceptor.
func (i Interceptor) around(next engine.ActivityCode) engine.ActivityCode {
	return func(ctx context.Context, input history.Payload) (result history.Payload, err error) {
		err = i(ctx, func(ctx context.Context) (err error) {
			result, err = next(ctx, input)
			return err
		})
		return result, err
	}
}

// Header returns a field of the header of the attempt's workflow. ok is false if there is no such
// field, or if it is no T. Workflows that the activity starts with this context have the header,
// too.
func Header[T any](ctx context.Context, name string) (v T, ok bool) {
	h, err := header.From(ctx)
	if err != nil {
		return v, false
	}
	return header.Get[T](h, name)
}
