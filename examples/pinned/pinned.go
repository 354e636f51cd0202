// Package pinned shows runs that stay on the build that started them, however the code changes
// meanwhile: look at Registrations. Before and Run do different things in a different order. They
// need no calls of Patched, as [github.com/seed-41655fb1/weft/examples/patches] does. An operator
// can move a run to the newer code, if that code can continue the run: see the test.
package pinned

import (
	"context"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow audits an account. Each version of the code has its own steps. Sign lets it end.
var (
	Workflow = workflow.NewWorkflow[string, []string]("pinned")
	Sign     = workflow.NewSignal[string]("pinned.sign")
)

// The steps.
var (
	Count = activity.New("pinned.count", func(_ context.Context, account string) (string, error) { return "counted " + account + "'s money", nil })
	Read  = activity.New("pinned.read", func(_ context.Context, account string) (string, error) { return "read " + account + "'s letters", nil })
	Limit = activity.New("pinned.limit", func(_ context.Context, account string) (string, error) { return "limited " + account + "'s cards", nil })
)

// Before is the first version of the code.
func Before(ctx workflow.Context, account string) ([]string, error) { return audit(ctx, account, Read) }

// Run is today's code, which does other things.
func Run(ctx workflow.Context, account string) ([]string, error) {
	return audit(ctx, account, Limit, Count)
}

// audit counts, waits for the signature, and runs the other steps.
func audit(ctx workflow.Context, account string, rest ...activity.Activity[string, string]) (done []string, err error) {
	for i, step := range append([]activity.Activity[string, string]{Count}, rest...) {
		if i == 1 {
			name, err := Sign.Receive(ctx)
			if err != nil {
				return done, err
			}
			done = append(done, "signed by "+name)
		}
		text, err := step.Run(ctx, account)
		if err != nil {
			return done, err
		}
		done = append(done, text)
	}
	return done, nil
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration { return With(Run) }

// With registers another version of the code.
func With(run func(workflow.Context, string) ([]string, error)) []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, run, workflow.BindOptions{Pinned: true}, workflow.Names(Sign)), Count, Read, Limit}
}
