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

func runSteps(ctx workflow.Context, n int) (sum int, err error) {
	for range n {
		r, err := step.Run(ctx, sum)
		if err != nil {
			return 0, err
		}
		sum += r
	}
	return sum, nil
}

func runParallel(ctx workflow.Context, n int) (sum int, err error) {
	futures := make([]workflow.Future[int], n)
	for i := range futures {
		futures[i] = step.Start(ctx, i)
	}
	for _, f := range futures {
		r, err := f.Get(ctx)
		if err != nil {
			return 0, err
		}
		sum += r
	}
	return sum, nil
}

func runCounter(ctx workflow.Context, most int) (int, error) {
	sum := 0
	Add.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
		sum += n
		return sum, nil
	}, workflow.Validate(func(n int) error {
		if n < 1 || n > most {
			return fmt.Errorf("%d is not between 1 and %d", n, most)
		}
		return nil
	}))
	return sum, workflow.Await(ctx, func() bool { return sum < 0 })
}

// Registrations returns the registrations of the programs.
func Registrations() []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(Steps, runSteps), workflow.Bind(Parallel, runParallel), workflow.Bind(Counter, runCounter), step,
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
