// Package conditions shows a workflow that waits until something is true, whatever made it true:
// Await without a limit, AwaitFor for a time, and AwaitHandlers for the handlers that still run.
// Look at Run: it names no events, only the conditions.
package conditions

import (
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is a dinner, and what guests can do about it.
var (
	Workflow = workflow.NewWorkflow[Plan, Dinner]("conditions")
	Accept   = workflow.NewUpdate[string, int]("conditions.accept")
	Eat      = workflow.NewUpdate[string, string]("conditions.eat")
)

// Plan is what the host has in mind.
type Plan struct {
	// Guests are as many as the table needs.
	Guests int `json:"guests"`
	// Wait is how long the soup waits for the first of them to sit down.
	Wait time.Duration `json:"wait"`
}

// Dinner is how it went.
type Dinner struct {
	Guests []string `json:"guests"`
	Cold   bool     `json:"cold"` // the soup
}

// eating is how long a guest eats.
const eating = time.Hour

// Run is a dinner: it begins when enough guests have accepted, and ends when those who eat have finished.
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
	err = workflow.AwaitHandlers(ctx) // without it, the updates of those who eat would fail
	return d, err
}

// Registrations is all that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run)}
}
