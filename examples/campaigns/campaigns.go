// Package campaigns shows what callers can do to runs from outside: start a run later and limit its
// time, reset it to before a mistake, terminate it, and delete it. The workflow is a campaign that
// collects pledges, and it needs no code for these operations. Look at Announce, Undo and Forget.
package campaigns

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is a campaign. Its input is the goal, and its result is the sum of the pledges.
var (
	Workflow = workflow.NewWorkflow[int, int]("campaigns")
	Pledge   = workflow.NewUpdate[int, int]("campaigns.pledge")
	Standing = workflow.NewQuery[workflow.None, State]("campaigns.standing")
)

// State is the state of a campaign.
type State struct {
	Opened time.Time `json:"opened"`
	Total  int       `json:"total"`
}

// Run takes pledges until the goal is reached.
func Run(ctx workflow.Context, goal int) (int, error) {
	s := State{Opened: workflow.Now(ctx)}
	Standing.Handle(ctx, func(workflow.None) (State, error) { return s, nil })
	Pledge.Handle(ctx, func(_ workflow.Context, amount int) (int, error) {
		s.Total += amount
		return s.Total, nil
	})
	err := workflow.Await(ctx, func() bool { return s.Total >= goal })
	return s.Total, err
}

// Announce starts a campaign that opens after some time, and then stays open for at most a month.
// An earlier pledge opens it.
func Announce(ctx context.Context, c *client.Client, id string, goal int, opens time.Duration) (workflow.Run[int], error) {
	return Workflow.Start(ctx, c, id, goal, workflow.StartOptions{StartDelay: opens, RunTimeout: 30 * 24 * time.Hour})
}

// Undo resets the campaign to before the last pledge, which was a mistake. The run is terminated,
// even if that pledge has reached the goal. Another run continues from there.
func Undo(ctx context.Context, run workflow.Run[int]) (workflow.Run[int], error) {
	return run.Reset(ctx, workflow.ResetOptions{To: "lastTask", Exclude: []string{"updates"}, Reason: "a pledge by mistake"})
}

// Forget deletes a campaign that closed at least two hours ago.
func Forget(ctx context.Context, run workflow.Run[int]) error { return run.Delete(ctx) }

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Pledge, Standing))}
}
