// Package attributes has what the rule attribute finds, and what it does not.
package attributes

import "github.com/seed-41655fb1/weft/workflow"

const reason = "closeReason"

var (
	stuck  = workflow.NewAttribute[bool]("Stuck")  // want `the search attribute Stuck is never found: filters have Stuck for what every run has: give it another name \[attribute\]`
	closed = workflow.NewAttribute[string](reason) // want `the search attribute closeReason is never found: filters have CloseReason`
	region = workflow.NewAttribute[string]("Region")
	old    = workflow.NewAttribute[bool]("Paused") //weftvet:ignore attribute open runs have it
)

func run(ctx workflow.Context, name string) error {
	local := workflow.NewAttribute[string]("FAILURETYPE") // want `is never found`
	computed := workflow.NewAttribute[string](name)       // missed
	workflow.UpsertSearchAttributes(ctx, stuck.Set(true), closed.Set("x"), region.Set("eu"), old.Set(true), local.Set("x"), computed.Set("x"))
	return nil
}
