package main

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// updateCommand is for operators. Updates are sent by the programs whose workflows handle them.
type updateCommand struct {
	Fail updateFail `cmd:"" help:"Fail an accepted update, and stop its handler; the run continues."`
}

type updateFail struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	UpdateID   string `arg:"" name:"update-id" help:"Id of the update: stuckTask.updateId in the description of the run."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	Reason     string `help:"For the caller of the update, and for those who read the history."`
	cli.Remote `embed:""`
}

// Run fails the update. An update that has completed keeps its outcome, and is no error.
func (f updateFail) Run(ctx context.Context, s *cli.Session) error {
	return f.Call(ctx, s, "the failure of update "+f.UpdateID, func(ctx context.Context, c *client.Client) error {
		return c.FailUpdate(ctx, f.WorkflowID, f.RunID, f.UpdateID, f.Reason)
	})
}
