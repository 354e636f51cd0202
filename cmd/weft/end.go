package main

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// cancelCommand asks a run to end.
type cancelCommand struct {
	oneRun     `embed:""`
	Reason     string `help:"For those who read the history."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run requests the cancellation. It is durable when the command ends; the run's code decides when
// the run does.
func (c cancelCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the cancellation of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		if err := api.Cancel(ctx, c.WorkflowID, c.RunID, c.Reason); err != nil {
			return err
		}
		return done(s, c.Output, c.WorkflowID, c.RunID, "The cancellation of %s is requested.", c.WorkflowID)
	})
}

// terminate ends a run at once.
type terminate struct {
	oneRun `embed:""`
	Reason string `help:"For those who read the history."`
	Data   string `group:"Without a server" xor:"where,stack" placeholder:"DIR" help:"A data directory that no server runs on: the run is terminated in it. For a run whose code keeps the server from running."`
	keyFile
	settings.Compression
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run terminates the run.
func (t terminate) Run(ctx context.Context, s *cli.Session) error {
	if t.Data != "" {
		return t.offline(ctx, s)
	}
	return t.Call(ctx, s, "the end of "+t.WorkflowID, func(ctx context.Context, c *client.Client) error {
		if err := c.Terminate(ctx, t.WorkflowID, t.RunID, t.Reason); err != nil {
			return err
		}
		return done(s, t.Output, t.WorkflowID, t.RunID, "The run of %s is terminated.", t.WorkflowID)
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
	return done(s, t.Output, t.WorkflowID, t.RunID, "The run of %s is terminated. Parents and children are informed when a server starts on %s.", t.WorkflowID, t.Data)
}

// resetCommand starts a run that continues from an earlier task.
type resetCommand struct {
	oneRun     `embed:""`
	Event      int64    `placeholder:"ID" help:"An event of the workflow task that is to run anew."`
	To         string   `enum:",firstTask,lastTask" default:"" placeholder:"TASK" help:"The task: firstTask or lastTask."`
	Build      string   `placeholder:"ID" help:"The first task that ran under this build."`
	Exclude    []string `enum:"updates,signals" placeholder:"WHAT" help:"Leave out what came after the task: updates, signals, or both. The new run gets the others."`
	Reason     string   `help:"For those who read the history."`
	RequestID  string   `placeholder:"ID" help:"Identifies the reset when it is sent again."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run resets the run, and prints the id of the new one.
func (c resetCommand) Run(ctx context.Context, s *cli.Session) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.Call(ctx, s, "the reset of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		var runID history.RunID
		runID, err := api.Reset(ctx, c.WorkflowID, client.ResetOptions{
			EventID: c.Event, To: c.To, Build: c.Build, Exclude: c.Exclude, Reason: c.Reason, RunID: c.RunID, RequestID: c.RequestID,
		})
		if err != nil {
			return err
		}
		return done(s, c.Output, c.WorkflowID, string(runID), "Reset %s. Its new run is %s", c.WorkflowID, string(runID))
	})
}

// check refuses a command that does not have exactly one task. Kong's xor cannot: it counts the
// empty default of --to.
func (c resetCommand) check() error {
	given := 0
	for _, is := range []bool{c.Event != 0, c.To != "", c.Build != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return cli.Errorf(cli.Usage, "give the task to go back to: one of --event, --to and --build")
	}
	return nil
}

// deleteCommand deletes a closed run.
type deleteCommand struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	RunID      string `name:"run" required:"" placeholder:"RUN-ID" help:"Id of the run, which has closed two hours ago or earlier."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run deletes the run.
func (c deleteCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the deletion of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		if err := api.Delete(ctx, c.WorkflowID, c.RunID); err != nil {
			return err
		}
		return done(s, c.Output, c.WorkflowID, c.RunID, "The run %s of %s is deleted.", c.RunID, c.WorkflowID)
	})
}

// moveCommand assigns a run to another build.
type moveCommand struct {
	oneRun     `embed:""`
	Build      string `xor:"build" placeholder:"ID" help:"The build that runs it from then on; without it, the one that serves the request."`
	Unpin      bool   `xor:"build" help:"Let the newest build run it from then on, whichever that is."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// oneMoved is what a move prints as JSON.
type oneMoved struct {
	WorkflowID string `json:"workflowId"`
	Build      string `json:"build,omitempty"`
}

// Run moves the run.
func (c moveCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the move of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		build, err := api.Move(ctx, c.WorkflowID, client.MoveOptions{Build: c.Build, Unpin: c.Unpin, RunID: c.RunID})
		if err != nil {
			return err
		}
		return c.One(s, c.WorkflowID, oneMoved{c.WorkflowID, build}, func() error {
			if build == "" {
				return cli.Line(s, "The newest build runs %s.", cli.Clean(c.WorkflowID))
			}
			return cli.Line(s, "%s is pinned to build %s, which runs it from now on. %s undoes it.", cli.Clean(c.WorkflowID), cli.Clean(build), cli.Clean(c.Command("move --unpin", c.WorkflowID)))
		})
	})
}
