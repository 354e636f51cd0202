package main

import "context"

// updateCommand is for operators. Updates are sent by the programs whose workflows handle them.
type updateCommand struct {
	Fail updateFail `cmd:"" help:"Fail an accepted update, and stop its handler; the run continues."`
}

type updateFail struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	UpdateID   string `arg:"" name:"update-id" help:"Id of the update: stuckTask.updateId in the description of the run."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	Reason     string `help:"For the caller of the update, and for those who read the history."`
	remote     `embed:""`
}

// Run fails the update. An update that has completed keeps its outcome, and is no error.
func (f updateFail) Run(ctx context.Context) error {
	return f.client().FailUpdate(ctx, f.WorkflowID, f.RunID, f.UpdateID, f.Reason)
}
