package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/alecthomas/kong"
)

// historyCommand prints the history of a run.
type historyCommand struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	remote     `embed:""`
}

// Run prints it as JSON, for a file that weftest.Replay takes.
func (h historyCommand) Run(ctx context.Context, k *kong.Kong) error {
	all, err := h.client().History(ctx, h.WorkflowID, h.RunID)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintln(k.Stdout, string(text))
	}
	return err
}
