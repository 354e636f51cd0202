package workflow

import (
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/header"
)

// Interceptor stands around the code of all workflows of a program. Fields that are nil are left out. What it does is
// workflow code: it runs again whenever the workflow is rebuilt from its history, and has to do the same each time. What
// it tells people goes through Logger, which is silent then.
type Interceptor struct {
	// Run is called in the place of a workflow's function, and calls next, once. What it returns is how the workflow ends; a
	// continue-as-new is an error that it has to pass on.
	Run func(ctx Context, next func(Context) error) error
	// Update is called in the place of the handler of an update that was accepted, and calls next, once.
	Update func(ctx Context, name string, next func(Context) error) error
	// Start is called when the workflow starts an activity or a child. It starts none itself: that would call it again, without end.
	Start func(ctx Context, s *Starting)
}

// Starting is an activity or a child that a workflow starts.
type Starting struct {
	// Type is the name of the activity, or the workflow type of the child.
	Type string
	// Child says that it is a child.
	Child  bool
	header history.Header
}

// SetHeader sets a field of the header that goes along with it, and with nothing else.
func (s *Starting) SetHeader(name string, value any) { s.header = with(s.header, name, value) }

// Intercept has interceptors stand around all workflows of the registry, wherever in it they are registered. The first is
// the outermost: its Run and Update begin first and end last, its Start is called first. They stand around the runs that a
// schedule starts, and not around the schedule.
//
//	weft.Register(workflow.Intercept(tenants), workflow.Bind(cart.Workflow, cart.Run), cart.Charge)
func Intercept(interceptors ...Interceptor) Registration {
	return bridge.PartOf(func(r *engine.Registry) error {
		for _, i := range interceptors {
			r.AroundWorkflows(i)
		}
		return nil
	})
}

// around calls run with all that stands around it.
func (ctx Context) around(pick func(Interceptor, func(Context) error) func(Context) error, run func(Context) error) error {
	all := ctx.instance().Interceptors()
	for n := len(all) - 1; n >= 0; n-- {
		if i, ok := all[n].(Interceptor); ok {
			run = pick(i, run)
		}
	}
	return run(ctx)
}

// aroundRun calls a workflow's function with all that stands around it.
func (ctx Context) aroundRun(run func(Context) error) error {
	return ctx.around(func(i Interceptor, next func(Context) error) func(Context) error {
		if i.Run == nil {
			return next
		}
		return func(ctx Context) error { return i.Run(ctx, next) }
	}, run)
}

// aroundUpdate calls an update's handler with all that stands around it.
func (ctx Context) aroundUpdate(name string, run func(Context) error) error {
	return ctx.around(func(i Interceptor, next func(Context) error) func(Context) error {
		if i.Update == nil {
			return next
		}
		return func(ctx Context) error { return i.Update(ctx, name, next) }
	}, run)
}

// starting is the header that goes along with what the workflow starts.
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

// Header is a field of the header that the workflow was started with: by the client (client.WithHeader), or by its parent.
// It travels on to activities, to children and to the runs that follow this one. ok is false where there is no such field,
// or where it is no T.
func Header[T any](ctx Context, name string) (v T, ok bool) {
	return header.Get[T](ctx.instance().Header(), name)
}

// SetHeader sets a field of the workflow's header, for what it starts from now on. A header has at most 4 KiB, names and
// values together; one that is larger fails the task.
func SetHeader(ctx Context, name string, value any) {
	if err := ctx.instance().SetHeader(with(ctx.instance().Header(), name, value)); err != nil {
		panic(&failure.OtherError{Kind: failure.KindMisuse, Message: err.Error()})
	}
}

// with is a header with a field more. A field that cannot be is the code's mistake.
func with(h history.Header, name string, value any) history.Header {
	h = h.With(name, mustEncode(value))
	if err := engine.CheckHeader(h); err != nil {
		panic(&failure.OtherError{Kind: failure.KindMisuse, Message: err.Error()})
	}
	return h
}
