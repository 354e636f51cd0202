// Package continued shows a workflow that never ends: a meter that is read for years. Its history
// would grow without end. So the workflow continues in a new run when the engine suggests it, with
// its state as the new run's input. Look at what it waits for before that: an update in flight
// would fail with the run.
package continued

import (
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is a meter, with its update, its query and its signal.
var (
	Workflow = workflow.NewWorkflow[State, State]("continued")
	Reading  = workflow.NewUpdate[int, int]("continued.reading")
	Current  = workflow.NewQuery[workflow.None, State]("continued.current")
	Scrap    = workflow.NewSignal[workflow.None]("continued.scrap")
)

// State is what a meter passes from run to run.
type State struct {
	Total    int `json:"total"`
	Readings int `json:"readings"`
	// Runs is the number of earlier runs.
	Runs int `json:"runs"`
	// RunLength is how many readings a run takes; 0 leaves that to the engine.
	RunLength int `json:"runLength"`
}

// Run takes readings until the meter is scrapped.
func Run(ctx workflow.Context, s State) (State, error) {
	scrapped, taken := false, 0
	Current.Handle(ctx, func(workflow.None) (State, error) { return s, nil })
	Reading.Handle(ctx, func(ctx workflow.Context, units int) (int, error) {
		s.Total += units
		s.Readings++
		taken++
		return s.Total, nil
	})
	long := func() bool {
		return s.RunLength > 0 && taken >= s.RunLength || workflow.InfoOf(ctx).SuggestContinueAsNew
	}
	err := workflow.Select(ctx,
		workflow.OnCondition(long),
		workflow.OnSignal(Scrap, func(workflow.None) { scrapped = true }))
	if err == nil {
		err = workflow.AwaitHandlers(ctx)
	}
	if err != nil || scrapped {
		return s, err
	}
	s.Runs++
	return Workflow.ContinueAsNew(ctx, s)
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Reading, Current, Scrap))}
}
