package main

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// pauseFlags are those of a pause and of a resumption.
type pauseFlags struct {
	oneRun     `embed:""`
	Reason     string `help:"For those who read the history."`
	RequestID  string `placeholder:"ID" help:"Identifies the request when it is sent again."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

func (p pauseFlags) options() client.PauseOptions {
	return client.PauseOptions{Reason: p.Reason, RunID: p.RunID, RequestID: p.RequestID}
}

// pauseCommand pauses a run.
type pauseCommand struct {
	pauseFlags `embed:""`
}

// Run pauses the run. The pause is durable when the command ends.
func (c pauseCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the pause of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		if err := api.Pause(ctx, c.WorkflowID, c.options()); err != nil {
			return err
		}
		return done(s, c.Output, c.WorkflowID, c.RunID, "%s is paused. %s lets it continue.", c.WorkflowID, c.Command("resume", c.WorkflowID))
	})
}

// resumeCommand resumes a paused run.
type resumeCommand struct {
	pauseFlags `embed:""`
}

// Run resumes the run. Its code gets what has arrived since the pause. A run that is not paused is
// no error.
func (c resumeCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the resumption of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		switch err := api.Resume(ctx, c.WorkflowID, c.options()); {
		case errors.Is(err, client.ErrNothingToDo): // as a second pause is no error
			return done(s, c.Output, c.WorkflowID, c.RunID, "%s is not paused.", c.WorkflowID)
		case err != nil:
			return err
		}
		return done(s, c.Output, c.WorkflowID, c.RunID, "%s continues.", c.WorkflowID)
	})
}
