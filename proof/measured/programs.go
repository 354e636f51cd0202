package measured

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/workflow"
)

// The programs.
var (
	// Steps runs n activities, one after the other, and returns how many it ran.
	Steps = workflow.NewWorkflow[int, int]("steps")
	// Parallel does the same with all activities at once.
	Parallel = workflow.NewWorkflow[int, int]("parallel")
	// Counter sums up its updates until the sum is negative, which it never is.
	Counter = workflow.NewWorkflow[int, int]("counter")
	// Add adds to a counter. It refuses a number that is less than one or greater than the
	// counter's input.
	Add = workflow.NewUpdate[int, int]("add")

	step = activity.New("step", func(context.Context, int) (int, error) { return 1, nil })
)

// InTurn runs n activities, one after the other. It passes each result to got.
func InTurn[T any](n int, run func() (T, error), got func(T)) error {
	for range n {
		r, err := run()
		if err != nil {
			return err
		}
		got(r)
	}
	return nil
}

// AtOnce starts n activities, and then waits for each. It passes each result to got.
func AtOnce[T any](ctx workflow.Context, n int, start func(i int) workflow.Future[T], got func(T)) error {
	futures := make([]workflow.Future[T], n)
	for i := range futures {
		futures[i] = start(i)
	}
	for _, f := range futures {
		r, err := f.Get(ctx)
		if err != nil {
			return err
		}
		got(r)
	}
	return nil
}

// HandleAdd sums up the updates of a counter, each of which is at most most.
func HandleAdd(ctx workflow.Context, most int, sum *int) {
	Add.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
		*sum += n
		return *sum, nil
	}, workflow.Validate(func(n int) error {
		if n < 1 || n > most {
			return fmt.Errorf("%d is not between 1 and %d", n, most)
		}
		return nil
	}))
}

func runSteps(ctx workflow.Context, n int) (sum int, err error) {
	err = InTurn(n, func() (int, error) { return step.Run(ctx, sum) }, func(r int) { sum += r })
	return sum, err
}

func runParallel(ctx workflow.Context, n int) (sum int, err error) {
	err = AtOnce(ctx, n, func(i int) workflow.Future[int] { return step.Start(ctx, i) }, func(r int) { sum += r })
	return sum, err
}

func runCounter(ctx workflow.Context, most int) (int, error) {
	sum := 0
	HandleAdd(ctx, most, &sum)
	return sum, workflow.Await(ctx, func() bool { return sum < 0 })
}

// Registrations returns the registrations of the programs.
func Registrations() []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(Steps, runSteps), workflow.Bind(Parallel, runParallel), workflow.Bind(Counter, runCounter, workflow.Names(Add)), step,
	}
}

// Registry returns a registry of the programs.
func Registry() *engine.Registry {
	r, err := program.Registry(Registrations()...)
	if err != nil {
		panic(err)
	}
	return r
}
