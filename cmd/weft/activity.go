package main

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// activityCommand is about activities that have not ended.
type activityCommand struct {
	Retry    activityRetry    `cmd:"" help:"Begin the next attempt now at an activity that waits for it: weft activity retry order-7 9."`
	Complete activityComplete `cmd:"" help:"End an activity with a result: weft activity complete order-7 9 -d '\"paid by hand\"' --reason \"the bank was down\"."`
	Fail     activityFail     `cmd:"" help:"End an activity with an error."`
}

type activityRetry struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	Event      int64  `arg:"" help:"The event that scheduled the activity, as weft describe prints it."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run begins the next attempt.
func (c activityRetry) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the retry of the activity", func(ctx context.Context, api *client.Client) error {
		if err := api.RetryActivity(ctx, c.WorkflowID, c.RunID, c.Event); err != nil {
			return err
		}
		return done(s, c.Output, c.WorkflowID, c.RunID, "The next attempt at the activity of event %d begins.", c.Event)
	})
}

// oneActivity names an activity: by its event, or by the token of an attempt that goes on outside.
type oneActivity struct {
	WorkflowID string `arg:"" optional:"" name:"workflow-id" help:"Id of the workflow."`
	Event      int64  `arg:"" optional:"" help:"The event that scheduled the activity, as weft describe prints it."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	Reason     string `help:"Why it is ended by hand, for those who read the history."`

	ActivityToken     string `group:"By token" xor:"attempt" placeholder:"TOKEN" help:"Instead of the workflow: the token that the activity got from activity.Token. Other users of this machine see it: prefer --activity-token-file."`
	ActivityTokenFile string `group:"By token" xor:"attempt" placeholder:"FILE" help:"A file with that token; - is standard input."`
}

// attempt returns the token of an attempt, or an empty one if the activity is named by its event.
func (a oneActivity) attempt(s *cli.Session) (token string, err error) {
	switch byToken := a.ActivityToken != "" || a.ActivityTokenFile != ""; {
	case byToken && (a.WorkflowID != "" || a.RunID != "" || a.Reason != ""):
		return "", cli.Errorf(cli.Usage, "a token names the attempt: leave the workflow, --run and --reason out")
	case !byToken && a.Event == 0:
		return "", cli.Errorf(cli.Usage, "give the workflow and the event that scheduled the activity, or --activity-token-file")
	case a.ActivityToken != "":
		return a.ActivityToken, nil
	case byToken:
		return cli.ReadToken(s, a.ActivityTokenFile)
	}
	return "", nil
}

// pinned returns the run to end the activity of: the API takes no request without one, because the
// latest run could be another one by the time it arrives.
func (a oneActivity) pinned(ctx context.Context, api *client.Client) (string, error) {
	if a.RunID != "" {
		return a.RunID, nil
	}
	d, err := api.Describe(ctx, a.WorkflowID, "")
	if err != nil {
		return "", err
	}
	return string(d.RunID), nil
}

// ended prints that an activity has ended by hand.
func (a oneActivity) ended(s *cli.Session, o cli.Output, mayRun bool) error {
	value := struct {
		oneStarted
		MayRun bool `json:"mayRun"`
	}{oneStarted{a.WorkflowID, a.RunID}, mayRun}
	return o.One(s, a.WorkflowID, value, func() error {
		hint := ""
		if mayRun {
			hint = " An attempt may have been in progress: its result is dropped, and it may still have its effect."
		}
		return cli.Line(s, "The activity of event %d of %s has ended.%s", a.Event, cli.Clean(a.WorkflowID), hint)
	})
}

type activityComplete struct {
	oneActivity `embed:""`
	cli.Input   `embed:""`
	cli.Remote  `embed:""`
	cli.Output  `embed:""`
}

// Run completes the activity. The result is durable when the command ends.
func (c activityComplete) Run(ctx context.Context, s *cli.Session) error {
	token, err := c.attempt(s)
	if err != nil {
		return err
	}
	result, err := c.Read(s)
	if err != nil {
		return err
	}
	return c.Call(ctx, s, "the end of the activity", func(ctx context.Context, api *client.Client) error {
		result, err := fill(ctx, api, c.Input, result, c.shapeOfResult)
		if err != nil {
			return err
		}
		if token != "" {
			if err := api.CompleteActivity(ctx, token, result); err != nil {
				return err
			}
			return done(s, c.Output, "", "", "The attempt has completed.")
		}
		if c.RunID, err = c.pinned(ctx, api); err != nil {
			return err
		}
		mayRun, err := api.CompleteByHand(ctx, c.WorkflowID, c.RunID, c.Event, result, c.Reason)
		if err != nil {
			return err
		}
		return c.ended(s, c.Output, mayRun)
	})
}

type activityFail struct {
	oneActivity `embed:""`
	Type        string `placeholder:"NAME" help:"Type of the error, for code that compares it."`
	Message     string `placeholder:"TEXT" help:"Text of the error."`
	Final       bool   `group:"By token" help:"Let no other attempt follow, whatever the retry policy says. An activity that is named by its event has no other attempt anyway."`
	cli.Remote  `embed:""`
	cli.Output  `embed:""`
}

// err returns the failure as an error.
func (c activityFail) err() error {
	e := failure.New(c.Type, c.Message)
	if c.Final {
		return e.Final()
	}
	return e
}

// Run fails the activity. The failure is durable when the command ends.
func (c activityFail) Run(ctx context.Context, s *cli.Session) error {
	token, err := c.attempt(s)
	if err != nil {
		return err
	}
	return c.Call(ctx, s, "the end of the activity", func(ctx context.Context, api *client.Client) error {
		if token != "" {
			if err := api.FailActivity(ctx, token, c.err()); err != nil {
				return err
			}
			return done(s, c.Output, "", "", "The attempt has failed.")
		}
		if c.RunID, err = c.pinned(ctx, api); err != nil {
			return err
		}
		mayRun, err := api.FailByHand(ctx, c.WorkflowID, c.RunID, c.Event, c.err(), c.Reason)
		if err != nil {
			return err
		}
		return c.ended(s, c.Output, mayRun)
	})
}

// retryCommand retries the task of a stuck run.
type retryCommand struct {
	oneRun     `embed:""`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run retries the task. If it fails again, that is an error, and nothing has changed.
func (c retryCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the retry of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		if err := api.Retry(ctx, c.WorkflowID, c.RunID); err != nil {
			return err
		}
		return done(s, c.Output, c.WorkflowID, c.RunID, "The task of %s has succeeded: it is no longer stuck.", c.WorkflowID)
	})
}
