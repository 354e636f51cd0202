// Package roles has what is workflow code, and what is not.
package roles

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	typ    = workflow.NewWorkflow[int, int]("typ")
	signal = workflow.NewSignal[int]("signal")
	update = workflow.NewUpdate[int, int]("update")
	work   = activity.New("work", doWork)
	inline = activity.New("inline", func(ctx context.Context, n int) (int, error) {
		time.Sleep(time.Second)
		return n, nil
	})
)

func doWork(ctx context.Context, n int) (int, error) {
	time.Sleep(time.Second)
	return n, nil
}

// Literals of variables without a name.
var (
	_ = func() time.Time { return time.Now() }
	_ = func(ctx workflow.Context) time.Time { return time.Now() } // want `calls time.Now`
)

// An alias of the Context, a literal that is bound, and a generic function.
type alias = workflow.Context

func aliased(ctx alias) { _ = time.Now() } // want `calls time.Now`

func generic[T any](ctx workflow.Context, v T) T {
	_ = time.Now() // want `calls time.Now`
	return v
}

func registrations() []workflow.Registration {
	at := time.Now() // a registration is no workflow code
	return []workflow.Registration{
		work, inline,
		workflow.Bind(typ, func(ctx workflow.Context, n int) (int, error) {
			_ = time.Since(at) // want `calls time.Since`
			return generic(ctx, n), nil
		}),
	}
}

type state struct {
	ctx workflow.Context
	at  time.Time
}

// It takes no Context, and uses one.
func (s *state) stored() error {
	s.at = time.Now() // want `calls time.Now`
	return workflow.Sleep(s.ctx, time.Second)
}

// It has nothing to do with one, and is called by who has.
func (s *state) touch() { s.at = time.Now() }

func run(ctx workflow.Context, n int) (int, error) {
	s := &state{ctx: ctx}
	s.touch() // want `workflow code calls state.touch, which calls time.Now \(roles.go:\d+\)`
	if err := s.stored(); err != nil {
		return 0, err
	}
	update.Handle(ctx, s.update)
	err := workflow.Select(ctx,
		workflow.OnSignal(signal, func(int) { s.at = time.Now() }), // want `calls time.Now`
		workflow.OnTimeout(time.Hour, s.touch))                     // want `calls state.touch`
	if err != nil {
		return 0, err
	}
	makes()
	call := func(ctx context.Context) { time.Sleep(time.Second) } // for an activity, wherever it goes
	_ = call
	defer func() { _ = time.Now() }() // want `calls time.Now`
	deep()                            // want `workflow code calls deep, which calls deeper, which calls deepest, which calls time.Now`
	even(n)                           // want `workflow code calls even, which calls odd, which calls time.Sleep`
	return activity.New("made", func(ctx context.Context, n int) (int, error) {
		time.Sleep(time.Second)
		return n, nil
	}).Run(ctx, n)
}

func (s *state) update(ctx workflow.Context, n int) (int, error) {
	s.at = time.Now() // want `calls time.Now`
	return n, nil
}

// What it makes is workflow code, and reported there.
func makes() func(workflow.Context) {
	return func(ctx workflow.Context) {
		_ = time.Now() // want `calls time.Now`
	}
}

func deep()    { deeper() }
func deeper()  { deepest() }
func deepest() { _ = time.Now() }

func even(n int) bool { return n == 0 || odd(n-1) }

func odd(n int) bool {
	time.Sleep(1)
	return n != 0 && even(n-1)
}

// What is called through an interface, or a variable that holds a function, is not followed.
type clock interface{ Now() time.Time }

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func dynamic(ctx workflow.Context, c clock, f func() time.Time) (time.Time, time.Time) {
	return c.Now(), f()
}
