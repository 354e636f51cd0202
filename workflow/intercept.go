package workflow

import (
	"errors"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/header"
	"github.com/seed-41655fb1/weft/internal/options"
)

// Interceptor wraps the code of all workflows of a program. A nil field does nothing. Its functions
// are workflow code: they run again whenever the workflow is rebuilt from its history, and have to
// do the same each time. They log with Logger, which is silent then.
type Interceptor struct {
	// Run is called in place of a workflow's function, and calls next, once. What it returns is how
	// the workflow ends. A continue-as-new is an error that it has to return.
	Run func(ctx Context, next func(Context) error) error
	// Update is called in place of the handler of an accepted update, and calls next, once.
	Update func(ctx Context, name string, next func(Context) error) error
	// Start is called when the workflow starts an activity or a child. It must not start any: that
	// would call it again, without end.
	Start func(ctx Context, s *Starting)
}

// Starting is an activity or a child that a workflow starts.
type Starting struct {
	// Type is the name of the activity, or the workflow type of the child.
	Type string
	// Child is set for a child.
	Child  bool
	header history.Header
}

// SetHeader sets a field of the header of this activity or child, and of no other.
func (s *Starting) SetHeader(name string, value any) { s.header = with(s.header, name, value) }

// Intercept wraps all workflows of the registry in interceptors, wherever in it they are
// registered. The first is the outermost: its Run and Update begin first and end last, its Start is
// called first. They wrap the runs that a schedule starts, and not the schedule.
//
//	weft.Register(workflow.Intercept(tenants), workflow.Bind(cart.Workflow, cart.Run), cart.Charge)
func Intercept(interceptors ...Interceptor) Interception {
	return registration(interceptors, nil)
}

// Interception is a registration of interceptors. Intercept returns one.
type Interception struct {
	part
	interceptors []Interceptor
	names        []Name
}

// part makes an Interception a Registration.
type part = bridge.Part

// With returns the registration with names that the interceptors handle: signals, queries and
// updates. They count for each workflow of the registry, besides those that its binding names.
//
//	weft.Register(workflow.Intercept(status).With(workflow.Names(Status)), workflow.Bind(cart.Workflow, cart.Run))
//
// Registering it fails if the options have anything but names.
func (i Interception) With(sets ...BindOptions) Interception {
	o := options.Of(sets)
	if o.Pinned || o.Lenient || o.Dynamic != 0 {
		i.part = bridge.PartOf(func(*engine.Registry) error {
			return errors.New("interceptors take names and no other options of a binding: give Pinned, Dynamic and Lenient to each Bind")
		})
		return i
	}
	return registration(i.interceptors, slices.Concat(i.names, o.Names))
}

// registration returns the registration of interceptors and of the names that they handle.
func registration(interceptors []Interceptor, names []Name) Interception {
	return Interception{interceptors: interceptors, names: names, part: bridge.PartOf(func(r *engine.Registry) error {
		for _, n := range names {
			d, err := declaredBy(n)
			if err == nil {
				err = r.NameForAll(d)
			}
			if err != nil {
				return err
			}
		}
		for _, i := range interceptors {
			r.AroundWorkflows(i)
		}
		return nil
	})}
}

// around calls run within the interceptors' functions that pick returns.
func (ctx Context) around(pick func(Interceptor, func(Context) error) func(Context) error, run func(Context) error) error {
	all := ctx.instance().Interceptors()
	for n := len(all) - 1; n >= 0; n-- {
		if i, ok := all[n].(Interceptor); ok {
			run = pick(i, run)
		}
	}
	return run(ctx)
}

// aroundRun calls a workflow's function within the interceptors.
func (ctx Context) aroundRun(run func(Context) error) error {
	return ctx.around(func(i Interceptor, next func(Context) error) func(Context) error {
		if i.Run == nil {
			return next
		}
		return func(ctx Context) error { return i.Run(ctx, next) }
	}, run)
}

// aroundUpdate calls an update's handler within the interceptors.
func (ctx Context) aroundUpdate(name string, run func(Context) error) error {
	return ctx.around(func(i Interceptor, next func(Context) error) func(Context) error {
		if i.Update == nil {
			return next
		}
		return func(ctx Context) error { return i.Update(ctx, name, next) }
	}, run)
}

// starting returns the header of an activity or a child that the workflow starts.
func (ctx Context) starting(name string, child bool) history.Header {
	if ctx.within {
		panic(misuse("an interceptor's Start may not start %q, nor any other activity or child: do it in its Run", name))
	}
	all := ctx.instance().Interceptors()
	if len(all) == 0 {
		return ctx.instance().Header()
	}
	inner := ctx
	inner.within = true
	s := &Starting{Type: name, Child: child, header: ctx.instance().Header()}
	for _, around := range all {
		if i, ok := around.(Interceptor); ok && i.Start != nil {
			i.Start(inner, s)
		}
	}
	return s.header
}

// Header returns a field of the header that the workflow was started with: by the client
// (client.WithHeader), or by its parent. The header travels on to activities, to children and to
// the runs that follow this one. ok is false if there is no such field, or if it is no T.
func Header[T any](ctx Context, name string) (v T, ok bool) {
	return header.Get[T](ctx.instance().Header(), name)
}

// SetHeader sets a field of the workflow's header, for what it starts from now on. A header has at
// most 4 KiB, names and values together. A larger one fails the task.
func SetHeader(ctx Context, name string, value any) {
	if err := ctx.instance().SetHeader(with(ctx.instance().Header(), name, value)); err != nil {
		panic(&failure.OtherError{Kind: failure.KindMisuse, Message: err.Error()})
	}
}

// with returns a header with one more field. It panics if the field is invalid, which is the code's
// mistake.
func with(h history.Header, name string, value any) history.Header {
	h = h.With(name, mustEncode(value))
	if err := engine.CheckHeader(h); err != nil {
		panic(&failure.OtherError{Kind: failure.KindMisuse, Message: err.Error()})
	}
	return h
}
