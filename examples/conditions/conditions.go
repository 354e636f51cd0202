// Package conditions shows a workflow that waits until a condition is true, for whatever reason.
// Await waits without a limit, AwaitFor waits for a time, and AwaitHandlers waits for the handlers
// that still run. Look at Run: it names no events, only the conditions.
package conditions

import (
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is a dinner, with what guests can do.
var (
	Workflow = workflow.NewWorkflow[Plan, Dinner]("conditions")
	Accept   = workflow.NewUpdate[string, int]("conditions.accept")
	Eat      = workflow.NewUpdate[string, string]("conditions.eat")
)

// Plan is what the host wants.
type Plan struct {
	// Guests is how many guests the table needs.
	Guests int `json:"guests"`
	// Wait is how long the soup waits for the first guest to sit down.
	Wait time.Duration `json:"wait"`
}

// Dinner is the outcome of the dinner.
type Dinner struct {
	Guests []string `json:"guests"`
	Cold   bool     `json:"cold"` // whether the soup was cold
}

// eating is how long a guest eats.
const eating = time.Hour

// Run is a dinner. It begins when enough guests have accepted, and ends when those who eat have
// finished.
func Run(ctx workflow.Context, plan Plan) (d Dinner, err error) {
	seated := 0
	Accept.Handle(ctx, func(_ workflow.Context, name string) (int, error) {
		d.Guests = append(d.Guests, name)
		return len(d.Guests), nil
	})
	Eat.Handle(ctx, func(ctx workflow.Context, name string) (string, error) {
		seated++
		return name + " has dined", workflow.Sleep(ctx, eating)
	})
	if err := workflow.Await(ctx, func() bool { return len(d.Guests) >= plan.Guests }); err != nil {
		return d, err
	}
	inTime, err := workflow.AwaitFor(ctx, plan.Wait, func() bool { return seated > 0 })
	if err != nil {
		return d, err
	}
	d.Cold = !inTime
	err = workflow.AwaitHandlers(ctx) // without this, the updates of those who eat would fail
	return d, err
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Accept, Eat))}
}
