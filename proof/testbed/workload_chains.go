package testbed

import (
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// flaky fails in the first attempts of a run, and then returns the result of the earlier run plus
// one.
var (
	flaky = workflow.NewWorkflow[trial, int]("flaky")
	see   = workflow.NewUpdate[workflow.None, seen]("see")
	look  = workflow.NewQuery[workflow.None, seen]("look")
)

// trial says what a flaky run does.
type trial struct {
	// Fails is how many attempts fail. Final makes the error end the attempts.
	Fails int  `json:"fails,omitempty"`
	Final bool `json:"final,omitempty"`
	// Nap is how long an attempt takes, as "1m".
	Nap string `json:"nap,omitempty"`
	// Laps is how often it continues as new.
	Laps int `json:"laps,omitempty"`
	// Stubborn makes it ignore its cancellation.
	Stubborn bool `json:"stubborn,omitempty"`
}

// seen is what a flaky run can read of its chain.
type seen struct {
	Attempt int    `json:"attempt"`
	Last    int    `json:"last"`
	Failure string `json:"failure,omitempty"`
	Pokes   int    `json:"pokes,omitempty"`
	Cron    string `json:"cron,omitempty"`
}

func runFlaky(ctx workflow.Context, t trial) (int, error) {
	last, _ := workflow.LastResult[int](ctx)
	saw := seen{Attempt: workflow.InfoOf(ctx).Attempt, Last: last, Cron: workflow.InfoOf(ctx).Cron}
	if err := workflow.LastFailure(ctx); err != nil {
		saw.Failure = err.Error()
	}
	see.Handle(ctx, func(workflow.Context, workflow.None) (seen, error) { return saw, nil })
	look.Handle(ctx, func(workflow.None) (seen, error) { return saw, nil })
	for ok := true; ok; {
		var err error
		if _, ok, err = Poke.TryReceive(ctx); err != nil {
			return 0, err
		} else if ok {
			saw.Pokes++
		}
	}
	if nap, _ := time.ParseDuration(t.Nap); nap > 0 { // no duration means 0
		if t.Stubborn {
			ctx = workflow.Disconnected(ctx)
		}
		if err := workflow.Sleep(ctx, nap); err != nil {
			return 0, err
		}
	}
	switch err := workflow.NewError("sour", fmt.Sprintf("attempt %d failed", saw.Attempt)); {
	case saw.Attempt <= t.Fails && t.Final:
		return 0, err.Final()
	case saw.Attempt <= t.Fails:
		return 0, err
	case t.Laps > 0:
		t.Laps--
		return flaky.ContinueAsNew(ctx, t)
	}
	return last + 1, nil
}
