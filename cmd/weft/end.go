package main

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// terminate ends a run at once.
type terminate struct {
	oneRun `embed:""`
	Reason string `help:"For those who read the history."`
	Data   string `group:"Without a server" xor:"where" placeholder:"DIR" help:"A data directory that no server runs on: the run is terminated in it. For a run whose code keeps the server from running."`
	keyFile
	settings.Compression
	cli.Remote `embed:""`
}

// Run terminates the run, and prints that it has.
func (t terminate) Run(ctx context.Context, s *cli.Session) error {
	if t.Data != "" {
		return t.offline(ctx, s)
	}
	return t.Call(ctx, s, "the end of "+t.WorkflowID, func(ctx context.Context, c *client.Client) error {
		if err := c.Terminate(ctx, t.WorkflowID, t.RunID, t.Reason); err != nil {
			return err
		}
		return cli.Line(s, "The run of %s is terminated.", t.WorkflowID)
	})
}

// offline terminates the run in a data directory.
func (t terminate) offline(ctx context.Context, s *cli.Session) error {
	log, _, err := local.Logger(s.Err, s.Getenv)
	if err != nil {
		return err
	}
	keys, err := t.keys()
	if err != nil {
		return err
	}
	err = local.Terminate(ctx, t.WorkflowID, t.RunID, t.Reason, local.Options{Dir: t.Data, Keys: keys, Compress: settings.Compresses(t.Compression, false), LargePayloads: true, Log: log})
	if err != nil {
		return err
	}
	return cli.Line(s, "The run of %s is terminated. Parents and children are informed when a server starts on %s.", t.WorkflowID, t.Data)
}
