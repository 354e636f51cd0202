package main

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// withStart is the run that a signal or an update starts if no run is open.
type withStart struct {
	Start      string  `placeholder:"TYPE" lookup:"types" help:"Start a run of this type if none is open."`
	StartInput *string `placeholder:"JSON|@FILE" help:"The input of that run."`
}

// start returns the run to start, or nil if none is to be.
func (w withStart) start(s *cli.Session) (*client.Start, error) {
	input, err := cli.Input{Input: w.StartInput}.Read(s)
	switch {
	case err != nil:
		return nil, err
	case w.Start == "" && input != nil:
		return nil, cli.Errorf(cli.Usage, "--start-input needs --start, the type of the run")
	case w.Start == "":
		return nil, nil
	}
	return &client.Start{Type: w.Start, Input: history.Payload(input)}, nil
}

// signalCommand sends a signal.
type signalCommand struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	Name       string `arg:"" lookup:"signals" help:"Name of the signal."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	RequestID  string `placeholder:"ID" help:"Identifies the signal when it is sent again; without it, each is another."`
	cli.Input  `embed:""`
	withStart
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run sends the signal. It is durable when the command ends.
func (c signalCommand) Run(ctx context.Context, s *cli.Session) error {
	input, err := c.Read(s)
	if err != nil {
		return err
	}
	start, err := c.start(s)
	if err != nil {
		return err
	}
	return c.Call(ctx, s, "the signal "+c.Name, func(ctx context.Context, api *client.Client) error {
		input, err := fill(ctx, api, c.Input, input, target{c.WorkflowID, c.RunID, c.Start}.shape(kindSignal, c.Name))
		if err != nil {
			return err
		}
		if err := api.Signal(ctx, c.WorkflowID, c.Name, input, client.SignalOptions{RequestID: c.RequestID, RunID: c.RunID, Start: start}); err != nil {
			err = unhappy(s, c.Output, outcome{}, err)
			if c.Start != "" { // the unknown name may be the type
				return err
			}
			return suggest(err, c.Name, nil)
		}
		return done(s, c.Output, c.WorkflowID, c.RunID, "The signal %s is recorded for %s.", c.Name, c.WorkflowID)
	})
}

// done prints what a command has done to a run.
func done(s *cli.Session, o cli.Output, id, runID, format string, args ...any) error {
	return o.One(s, id, oneStarted{id, runID}, func() error {
		for i := range args {
			if text, ok := args[i].(string); ok {
				args[i] = cli.Clean(text)
			}
		}
		return cli.Line(s, format, args...)
	})
}

// queryCommand sends a query.
type queryCommand struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	Name       string `arg:"" lookup:"queries" help:"Name of the query."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	cli.Input  `embed:""`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run prints the answer.
func (c queryCommand) Run(ctx context.Context, s *cli.Session) error {
	input, err := c.Read(s)
	if err != nil {
		return err
	}
	return c.Call(ctx, s, "the answer to the query "+c.Name, func(ctx context.Context, api *client.Client) error {
		input, err := fill(ctx, api, c.Input, input, target{c.WorkflowID, c.RunID, ""}.shape(kindQuery, c.Name))
		if err != nil {
			return err
		}
		answer, err := api.Query(ctx, c.WorkflowID, c.RunID, c.Name, input)
		if err != nil {
			return suggest(unhappy(s, c.Output, outcome{}, err), c.Name, nil)
		}
		return c.Payload(s, answer)
	})
}
