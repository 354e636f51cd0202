package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/client"
)

// historyCommand prints the history of a run.
type historyCommand struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	URL        string `default:"http://127.0.0.1:8080" env:"WEFT_URL" help:"Address of the API."`
	Token      string `env:"WEFT_TOKEN" help:"Bearer token, where the API asks for one."`
}

// Run prints it as JSON, for a file that weftest.Replay takes.
func (h historyCommand) Run(ctx context.Context, k *kong.Kong) error {
	var o client.Options
	if h.Token != "" {
		o.Header = map[string][]string{"Authorization": {"Bearer " + h.Token}}
	}
	all, err := client.New(h.URL, o).History(ctx, h.WorkflowID, h.RunID)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintln(k.Stdout, string(text))
	}
	return err
}
