// Package readonlys has what the rule readonly finds, and what it does not; and what the other rules say in code that may only look.
package readonlys

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"example.com/shop/readonlys/limits"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	add    = workflow.NewUpdate[int, int]("add")
	total  = workflow.NewQuery[workflow.None, int]("total")
	charge = activity.New("charge", func(context.Context, int) (int, error) { return 0, nil })

	errFull = errors.New("full")
)

func handle(ctx workflow.Context, n int) (int, error) { return n, workflow.Sleep(ctx, time.Second) }

type cart struct {
	ctx    workflow.Context
	items  []int
	asked  int
	by     map[int]int
	steps  interface{ do(workflow.Context) }
	random *rand.Rand
}

func run(ctx workflow.Context, in int) (int, error) {
	c, sum := &cart{ctx: ctx, random: workflow.Random(ctx)}, 0
	_, cancel := workflow.WithCancel(ctx)
	add.Handle(ctx, handle, workflow.Validate(func(n int) error {
		if workflow.Now(ctx).IsZero() { // want `a validator calls workflow.Now: it may only look \[readonly\]`
			cancel() // want `a validator cancels a Context: it may only look`
		}
		_, err := charge.Run(ctx, n)         // want `calls activity.Activity.Run`
		_ = time.Now()                       // want `a validator calls time.Now: it may only look at the workflow's variables \[time\]`
		_, _ = http.Get("http://x")          // want `a validator calls http.Get: it may only look at the workflow's variables \[io\]`
		c.steps.do(ctx)                      // want `a validator hands its Context to c.steps.do`
		_ = c.random.IntN(6)                 // want `a validator draws a random number`
		sum += n                             // want `a validator changes sum: it may only look \[readonly\]`
		c.items = append(c.items, n)         // want `a validator changes c.items`
		c.by[n] = n                          // want `changes c.by\[n\]`
		delete(c.by, n)                      // want `changes c.by`
		slices.Sort(c.items)                 // want `changes c.items`
		c.note()                             // want `changes c \(by cart.note\)`
		c.wait()                             // want `a validator calls cart.wait, which calls workflow.Sleep \(readonlys.go:\d+\): it may only look`
		return errors.Join(err, c.canAdd(n)) // reported there
	}))
	add.Handle(ctx, handle, workflow.Validate(c.canAdd))
	add.Handle(ctx, handle, workflow.HandlerOptions[int]{Abandon: true, Validate: c.canTake})
	add.Handle(ctx, handle, workflow.HandlerOptions[int]{Validate: func(n int) error {
		sum += n // want `a validator changes sum`
		return nil
	}}, workflow.HandlerOptions[int]{limits.Check, false}) // want `workflow code calls limits.Check, which calls time.Now`
	total.Handle(ctx, c.total)
	total.Handle(ctx, answer[workflow.None](ctx))
	total.Handle(ctx, func(workflow.None) (int, error) {
		c.asked++ // want `a query handler changes c.asked`
		return sum, nil
	})
	done := func() bool { sum++; return sum > 3 } // want `a condition changes sum`
	if err := workflow.Await(ctx, done); err != nil {
		return 0, err
	}
	_, err := workflow.AwaitFor(ctx, time.Second, func() bool { return workflow.Random(ctx) == nil }) // want `a condition calls workflow.Random`
	err = workflow.Select(ctx, workflow.OnCondition(func() bool {
		ok, _, _ := signal.TryReceive(ctx) // want `a condition calls workflow.Signal.TryReceive`
		return ok == 0
	}))
	add.Handle(ctx, handle, workflow.Validate(limits.Check), workflow.Validate(limits.Wait(ctx))) // want `workflow code calls limits.Check, which calls time.Now`
	n := workflow.SideEffect(ctx, func() int {
		sum++                              // want `a side effect changes sum`
		_ = workflow.Sleep(ctx, time.Hour) // want `a side effect calls workflow.Sleep`
		return rand.IntN(6)
	})
	_ = workflow.SideEffect(ctx, rand.Int) + workflow.SideEffect(ctx, roll)
	_ = workflow.SideEffect(ctx, c.slow) // want `a side effect calls cart.slow, which calls cart.wait, which calls workflow.Sleep`
	return n, err
}

var signal = workflow.NewSignal[int]("signal")

func (c *cart) canAdd(n int) error {
	c.asked++ // want `a validator changes c.asked`
	if len(c.items) > n {
		time.Sleep(time.Second)                   // want `a validator calls time.Sleep: it may only look at the workflow's variables`
		return workflow.Sleep(c.ctx, time.Second) // want `a validator calls workflow.Sleep`
	}
	return errFull
}

func (c *cart) canTake(int) error {
	c.asked++ // want `a validator changes c.asked`
	return nil
}

func (c *cart) total(workflow.None) (int, error) {
	slices.Reverse(c.items) // want `a query handler changes c.items`
	return len(c.items), nil
}

func (c *cart) note() { c.asked++ }

func (c *cart) wait() { _ = workflow.Sleep(c.ctx, time.Second) }

func (c *cart) slow() int { c.wait(); return 1 }

func roll() int { return rand.IntN(6) }

func answer[In any](ctx workflow.Context) func(In) (int, error) {
	return func(In) (int, error) {
		return 0, workflow.Sleep(ctx, time.Second) // want `a query handler calls workflow.Sleep`
	}
}

func fine(ctx workflow.Context, in int) (int, error) {
	c := &cart{}
	result := charge.Start(ctx, in)
	add.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
		c.items = append(c.items, n)
		c.note()
		return charge.Run(ctx, n)
	}, workflow.Validate(func(n int) error {
		most, sorted := 9, slices.Clone(c.items)
		slices.Sort(sorted)
		for i := range sorted {
			most += sorted[i]
		}
		if n > most || result.Ready() || workflow.InfoOf(ctx).HistoryLength > 100 || ctx.Err() != nil {
			workflow.Logger(ctx).Warn("full")
			return errFull
		}
		return c.look()
	}))
	err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) && idle(ctx) })
	return 0, err
}

// look changes a copy.
func (c cart) look() error {
	c.asked++
	return nil
}

func idle(ctx workflow.Context) bool { return workflow.InfoOf(ctx).HistoryLength > 3 }
