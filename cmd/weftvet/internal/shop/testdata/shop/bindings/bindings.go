// Package bindings has bindings that omit names, and bindings that name too many.
package bindings

import (
	"example.com/shop/bindings/cart"
	"example.com/shop/bindings/side"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	typ   = workflow.NewWorkflow[string, string]("shop")
	open  = workflow.NewSignal[string]("open")
	shut  = workflow.NewSignal[string]("shut")
	news  = workflow.NewTopic[string]("news")
	count = workflow.NewQuery[workflow.None, int]("count")
	sell  = workflow.NewUpdate[int, int]("sell")
	all   = []workflow.Signal[string]{open, shut}
	names = workflow.Names(open, shut)
)

var (
	_ = workflow.Bind(cart.Workflow, cart.Run)                                                                     // want `the workflow handles update "add" \(cart.go:\d+\), query "contents" \(cart.go:\d+\), signal "note" \(cart.go:\d+\), search attribute "Region" \(cart.go:\d+\), memo field "customer" \(cart.go:\d+\), which the binding omits: add workflow.Names\(cart.Add, cart.Contents, cart.Note, cart.Region, cart.Customer\) \[names\]`
	_ = workflow.Bind(cart.Workflow, cart.Run, workflow.BindOptions{Pinned: true})                                 // want `which the binding omits`
	_ = workflow.Bind(cart.Workflow, cart.Run, workflow.Names(cart.Note, cart.Region, cart.Customer))              // want `the workflow handles update "add" \(cart.go:\d+\), query "contents" \(cart.go:\d+\), which the binding omits: add workflow.Names\(cart.Add, cart.Contents\)`
	_ = workflow.Bind(cart.Workflow, cart.Run, workflow.BindOptions{Names: []workflow.Name{cart.Note, cart.Add}})  // want `query "contents"`
	_ = workflow.Bind(cart.Workflow, cart.Run, workflow.BindOptions{Dynamic: workflow.Signals | workflow.Updates}) // want `the workflow handles query "contents" \(cart.go:\d+\), search attribute`
	_ = workflow.Bind(cart.Workflow, cart.Run, cart.Names)
	_ = workflow.Bind(cart.Workflow, cart.Run, workflow.BindOptions{Names: cart.Names.Names, Pinned: true})
	_ = workflow.Bind(cart.Workflow, cart.Run, cart.Names, workflow.Names(open)) // want `the workflow does not handle signal "open": take it out of workflow.Names`
	_ = workflow.Bind(cart.Workflow, cart.Run, cart.Names, workflow.Names(news)) // an activity publishes to it
	_ = workflow.Bind(typ, run)                                                  // want `query "count" \(bindings.go:\d+\), query "audit" \(side.go:\d+\), signal "open" \(side.go:\d+\), which` `handles signal "hidden" \(side.go:\d+\), which the binding omits and cannot name from here`
	_ = workflow.Bind(typ, each)                                                 // want `signal "open" \(bindings.go:\d+\), signal "shut" \(bindings.go:\d+\), which`
	_ = workflow.Bind(typ, each, names)
	_ = workflow.Bind(typ, each, names, workflow.BindOptions{Dynamic: workflow.Queries})
	_ = workflow.Bind(cart.Workflow, cart.Run, cart.Names, names) // other bindings may need these
	_ = workflow.Bind(typ, any)                                   // want `signal "open" .*, signal "shut"`
	_ = workflow.Bind(typ, fresh)                                 // want `signal "fresh"`
	_ = workflow.Bind(typ, late)                                  // want `update "sell"`
	_ = workflow.Bind(typ, opaque(nil), names)                    // it may receive them
	_ = workflow.Bind(typ, parent)                                // the attribute is the child's
	_ = workflow.Bind(typ, (&teller{shut}).run)                   // the engine finds it
	_ = workflow.Bind(typ, teller{in: open}.run)                  // the engine finds it
	_ = workflow.Bind(typ, run)                                   //weftvet:ignore names the test is about what the engine says
)

// These wrap all workflows.
var (
	counts = workflow.Interceptor{Run: func(ctx workflow.Context, next func(workflow.Context) error) error {
		count.Handle(ctx, func(workflow.None) (int, error) { return 1, nil })
		return next(ctx)
	}}
	_ = []workflow.Registration{
		workflow.Intercept(counts),                            // want `the interceptor handles query "count" \(bindings.go:\d+\), which the binding omits: add workflow.Names\(count\)`
		workflow.Intercept(sells()),                           // want `the interceptor handles update "sell"`
		workflow.Intercept(counts).With(workflow.Names(shut)), // want `query "count"`
		workflow.Intercept(counts).With(workflow.Names(count)),
		workflow.Intercept(counts).With(names).With(workflow.Names(count)),
	}
	later = workflow.Intercept(counts) // missed
)

func sells() workflow.Interceptor {
	return workflow.Interceptor{Update: func(ctx workflow.Context, name string, next func(workflow.Context) error) error {
		sell.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil })
		return next(ctx)
	}}
}

func run(ctx workflow.Context, in string) (string, error) {
	side.Watch(ctx)
	side.Hide(ctx)
	count.Handle(ctx, func(workflow.None) (int, error) { return 1, nil })
	return side.Last(ctx, open), nil
}

func each(ctx workflow.Context, in string) (string, error) {
	for _, s := range all {
		_, _ = s.Receive(ctx)
	}
	return in, nil
}

func any(ctx workflow.Context, in string) (string, error) {
	side.Any(ctx, open, shut)
	return in, nil
}

func fresh(ctx workflow.Context, in string) (string, error) {
	signal := workflow.NewSignal[string]("fresh")
	return signal.Receive(ctx)
}

// late handles an update later, in a coroutine.
func late(ctx workflow.Context, in string) (string, error) {
	handle := func(ctx workflow.Context, update workflow.Update[int, int]) {
		update.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil })
	}
	workflow.Go(ctx, func(ctx workflow.Context) { handle(ctx, sell) })
	return in, nil
}

func opaque(code func(workflow.Context)) func(workflow.Context, string) (string, error) {
	return func(ctx workflow.Context, in string) (string, error) {
		code(ctx)
		return in, nil
	}
}

func parent(ctx workflow.Context, in string) (string, error) {
	return cart.Workflow.RunChild(ctx, in, workflow.ChildOptions{SearchAttributes: []workflow.SearchAttribute{cart.Region.Set(in)}})
}

type teller struct{ in workflow.Signal[string] }

func (t teller) run(ctx workflow.Context, in string) (string, error) { return t.in.Receive(ctx) }

// These handle names that they compute.
var (
	_ = workflow.Bind(typ, computes) // want `the workflow handles names that it computes \(bindings.go:\d+, bindings.go:\d+\), which the binding does not allow: add workflow.BindOptions{Dynamic: workflow.Queries . workflow.Signals}`
	_ = workflow.Bind(typ, computes, workflow.BindOptions{Dynamic: workflow.Queries | workflow.Signals})
	_ = workflow.Bind(typ, both, workflow.Names(open)) // want `handles names that it computes` `handles update "sell"`
	_ = workflow.Dynamic(func(ctx workflow.Context, _ string, in workflow.Raw) (workflow.Raw, error) {
		_, value, err := workflow.ReceiveSignals(ctx)
		return value, err
	})
)

func computes(ctx workflow.Context, in string) (string, error) {
	workflow.HandleQueries(ctx, func(name string, in workflow.Raw) (workflow.Raw, error) { return in, nil })
	name, _, err := workflow.ReceiveSignals(ctx)
	return name, err
}

func both(ctx workflow.Context, in string) (string, error) {
	_, _ = late(ctx, in)
	_, _ = open.Receive(ctx)
	return computes(ctx, in)
}

// with binds code that it gets.
func with(code func(workflow.Context, string) (string, error)) workflow.Registration {
	return workflow.Bind(typ, code) // want `update "inside" .*, signal "open" .*, which the binding omits: add workflow.Names\(sell, workflow.NewUpdate\[int, int\]\("inside"\), open, shut\)` `handles update inside .* cannot name from here`
}

func withs(name string) {
	inside := workflow.NewUpdate[int, int](name)
	named := workflow.NewUpdate[int, int]("inside")
	with(late)
	with(each)
	with(func(ctx workflow.Context, in string) (string, error) {
		inside.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil })
		named.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil })
		return in, nil
	})
}

// register binds functions with declarations of its own.
func register(t teller, given workflow.Signal[string]) []workflow.Registration {
	update := workflow.NewUpdate[int, int]("own")
	code := func(ctx workflow.Context, in string) (string, error) { return given.Receive(ctx) }
	bound := []workflow.Registration{
		workflow.Bind(typ, t.run), // want `signal t.in \(bindings.go:\d+\), which the binding omits: add workflow.Names\(t.in\)`
		workflow.Bind(typ, code),  // want `signal given`
		workflow.Bind(typ, func(ctx workflow.Context, in string) (string, error) { // want `update "own"`
			update.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil })
			return in, nil
		}),
	}
	for _, test := range []struct {
		code   func(workflow.Context, string) (string, error)
		signal workflow.Signal[string]
	}{{each, open}} {
		bound = append(bound, workflow.Bind(typ, test.code))                                             // want `signal "open" .*, signal "shut"`
		bound = append(bound, workflow.Bind(typ, func(ctx workflow.Context, in string) (string, error) { // want `handles signal test.signal`
			return test.signal.Receive(ctx)
		}))
	}
	return bound
}
