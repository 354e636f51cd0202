package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// updateCommand sends updates, and waits for them.
type updateCommand struct {
	Send updateSend `cmd:"" default:"withargs" help:"Send an update, and print its result: weft update cart-42 addItem -f sku=tea -f quantity=2."`
	Wait updateWait `cmd:"" help:"Wait for the result of an update that was accepted."`
	Fail updateFail `cmd:"" help:"Fail an accepted update, and stop its handler; the run continues: weft update fail cart-42 add-7."`
}

type updateSend struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow. One that is called wait or fail needs the word send before it."`
	Name       string `arg:"" lookup:"updates" help:"Name of the update."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	ID         string `name:"id" placeholder:"UPDATE-ID" help:"Identifies the update when it is sent again; without it, each is another."`
	NoWait     bool   `help:"Do not wait for the result: print the update's id when it is accepted."`
	cli.Input  `embed:""`
	withStart
	cli.Remote `embed:"" set:"timeout=-1ns"`
	cli.Output `embed:""`
}

// oneUpdate is what an accepted update prints as JSON.
type oneUpdate struct {
	UpdateID   string `json:"updateId"`
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId,omitempty"`
}

// timeoutHelp implements mayWait.
func (*updateSend) timeoutHelp() string { return "without it, for ever, and 30s with --no-wait." }

// AfterApply sets the time-out.
func (c *updateSend) AfterApply() error {
	c.MayWait(!c.NoWait)
	return nil
}

// Run sends the update. A validator's refusal is an error: nothing was written.
func (c updateSend) Run(ctx context.Context, s *cli.Session) error {
	input, err := c.Read(s)
	if err != nil {
		return err
	}
	start, err := c.start(s)
	if err != nil {
		return err
	}
	if c.ID == "" {
		c.ID = uuid.NewString()
	}
	return c.Call(ctx, s, "the update "+c.Name, func(ctx context.Context, api *client.Client) error {
		input, err := fill(ctx, api, c.Input, input, target{c.WorkflowID, c.RunID, c.Start}.shape(kindUpdate, c.Name))
		if err != nil {
			return err
		}
		sent := sentUpdate{c.Remote, c.Output, oneUpdate{c.ID, c.WorkflowID, c.RunID}, c.Name}
		o := client.UpdateOptions{ID: c.ID, RunID: c.RunID, Start: start}
		sent.explain(ctx, api)
		if c.NoWait {
			u, err := api.Update(ctx, c.WorkflowID, c.Name, input, o)
			if err != nil {
				return sent.failed(ctx, s, err)
			}
			return c.One(s, u.ID, oneUpdate{u.ID, u.WorkflowID, string(u.RunID)}, func() error {
				return cli.Line(s, "Accepted. %s waits for its result.", cli.Clean(c.Command("update wait", u.WorkflowID, u.ID)))
			})
		}
		result, err := api.Call(ctx, c.WorkflowID, c.Name, input, o)
		if err != nil {
			return sent.failed(ctx, s, err)
		}
		return c.Payload(s, result)
	})
}

// sentUpdate is an update that a command waits for.
type sentUpdate struct {
	remote cli.Remote
	output cli.Output
	oneUpdate
	what string // its name, or its id
}

// wait returns the command that waits for the update.
func (u sentUpdate) wait() string {
	if u.RunID != "" {
		return u.remote.Command("update wait --run "+observe.Quoted(u.RunID), u.WorkflowID, u.UpdateID)
	}
	return u.remote.Command("update wait", u.WorkflowID, u.UpdateID)
}

// explain lets a time-out say what the update waits for, and how its caller gets back to it.
func (u sentUpdate) explain(ctx context.Context, api *client.Client) {
	cli.GoOn(ctx, "if the run has accepted it, "+u.wait()+" waits for its result")
	onTimeout(ctx, api, u.WorkflowID, u.RunID, func(d *client.Description, waits *client.Waits, problem error) string {
		if !slices.ContainsFunc(d.UpdatesInFlight, func(f client.UpdateInFlight) bool { return f.UpdateID == u.UpdateID }) {
			return "the run, which has not accepted it as far as is known, is " + stateText(d, waits, problem) + "; its id is " + u.UpdateID + ", and " + u.wait() + " waits for it once it is accepted"
		}
		text := "the run has accepted it"
		switch {
		case d.Paused != nil || d.StuckTask != nil && !d.StuckTask.Speculative:
			text += ", and is " + stateText(d, waits, problem)
		default:
			if waited := waitsOfUpdate(waits, u.UpdateID); waited != "" {
				text += ", and it waits for " + waited
			}
		}
		return text + "; " + u.wait() + " waits for its result"
	})
}

// failed returns the error of an update with the type of its failure, and says if an operator has
// caused it. If the time is over and the command prints JSON, it prints how the update is named.
func (u sentUpdate) failed(ctx context.Context, s *cli.Session, err error) error {
	var failed *failure.Error
	var rejected *client.Rejected
	switch {
	case ctx.Err() != nil && cli.Connected(ctx) && u.output.IsJSON(s) && !u.output.Quiet:
		return cmp.Or(u.output.One(s, u.UpdateID, u.oneUpdate, nil), err)
	case ctx.Err() != nil:
		return err
	}
	err = unhappy(s, u.output, outcome{WorkflowID: u.WorkflowID, RunID: u.RunID, UpdateID: u.UpdateID, Stage: "completed"}, err)
	switch {
	case errors.As(err, &rejected) && rejected.Failure != nil:
		return suggest(cli.Errorf(cli.Refused, "%s: %w", typed("update rejected", err), rejected.Failure.Err()), u.what, rejected)
	case errors.As(err, &failed) && failed.Type == operatorFailed:
		return cli.Errorf(cli.Failed, "update %s was failed by an operator: %w", cli.Clean(u.what), err)
	case failed != nil && failed.Type != "" && cli.CodeOf(err) == cli.Failed:
		return cli.Errorf(cli.Failed, "%s: %w", typed("update "+cli.Clean(u.what)+" failed", err), err)
	}
	return err
}

// oneUpdateOf names an update.
type oneUpdateOf struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	UpdateID   string `arg:"" name:"update-id" help:"Id of the update: one that weft update printed, or stuckTask.updateId in the description of the run."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
}

type updateWait struct {
	oneUpdateOf `embed:""`
	cli.Remote  `embed:"" set:"timeout=0s"`
	cli.Output  `embed:""`
}

// Run waits for the update's result, and prints it.
func (c updateWait) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the result of update "+c.UpdateID, func(ctx context.Context, api *client.Client) error {
		sent := sentUpdate{c.Remote, c.Output, oneUpdate{c.UpdateID, c.WorkflowID, c.RunID}, c.UpdateID}
		sent.explain(ctx, api)
		result, err := api.Handle(c.WorkflowID, c.RunID, c.UpdateID).Wait(ctx)
		if err != nil {
			return sent.failed(ctx, s, err)
		}
		return c.Payload(s, result)
	})
}

// operatorFailed is the type of the failure of an update that an operator has failed.
const operatorFailed = "UpdateFailedByOperator"

type updateFail struct {
	oneUpdateOf `embed:""`
	Reason      string `help:"For the caller of the update, and for those who read the history."`
	cli.Remote  `embed:""`
	cli.Output  `embed:""`
}

// Run fails the update. An update that has completed keeps its outcome, and is no error.
func (c updateFail) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the failure of update "+c.UpdateID, func(ctx context.Context, api *client.Client) error {
		if err := api.FailUpdate(ctx, c.WorkflowID, c.RunID, c.UpdateID, c.Reason); err != nil {
			return err
		}
		text := "The update %s of %s has failed, unless it had completed."
		_, err := api.Handle(c.WorkflowID, c.RunID, c.UpdateID).Wait(ctx)
		var failed *failure.Error
		switch byHand := errors.As(err, &failed) && failed.Type == operatorFailed; {
		case byHand:
			text = "The update %s of %s has failed."
		case err == nil || cli.CodeOf(err) == cli.Failed:
			text = "The update %s of %s had completed before: it keeps its outcome."
		}
		return done(s, c.Output, c.WorkflowID, c.RunID, text, c.UpdateID, c.WorkflowID)
	})
}
