package main

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// updateCommand sends updates, and waits for them.
type updateCommand struct {
	Send updateSend `cmd:"" default:"withargs" help:"Send an update, and print its result: weft update cart-42 addItem -d '{\"sku\":\"tea\",\"quantity\":2}'."`
	Wait updateWait `cmd:"" help:"Wait for the result of an update that was accepted."`
	Fail updateFail `cmd:"" help:"Fail an accepted update, and stop its handler; the run continues: weft update fail cart-42 add-7."`
}

type updateSend struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow. One that is called wait or fail needs the word send before it."`
	Name       string `arg:"" help:"Name of the update."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
	ID         string `name:"id" placeholder:"UPDATE-ID" help:"Identifies the update when it is sent again; without it, each is another."`
	NoWait     bool   `help:"Do not wait for the result: print the update's id when it is accepted."`
	cli.Input  `embed:""`
	withStart
	cli.Remote `embed:"" set:"timeout=0s"`
	cli.Output `embed:""`
}

// oneUpdate is what an accepted update prints as JSON.
type oneUpdate struct {
	UpdateID   string `json:"updateId"`
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId"`
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
	return c.Call(ctx, s, "the update "+c.Name, func(ctx context.Context, api *client.Client) error {
		o := client.UpdateOptions{ID: c.ID, RunID: c.RunID, Start: start}
		if c.NoWait {
			u, err := api.Update(ctx, c.WorkflowID, c.Name, history.Payload(input), o)
			if err != nil {
				return err
			}
			return c.One(s, u.ID, oneUpdate{u.ID, u.WorkflowID, string(u.RunID)}, func() error {
				return cli.Line(s, "Accepted. weft update wait %s %s waits for its result.", cli.Clean(u.WorkflowID), cli.Clean(u.ID))
			})
		}
		explainWait(ctx, api, c.WorkflowID, c.RunID)
		result, err := api.Call(ctx, c.WorkflowID, c.Name, history.Payload(input), o)
		if err != nil {
			return ofUpdate(c.Name, err)
		}
		return c.Payload(s, result)
	})
}

// ofUpdate adds to the failure of an update that an operator has caused it.
func ofUpdate(name string, err error) error {
	if failed := (*failure.Error)(nil); errors.As(err, &failed) && failed.Type == "UpdateFailedByOperator" {
		return cli.Errorf(cli.Failed, "update %s was failed by an operator: %w", cli.Clean(name), err)
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
		explainWait(ctx, api, c.WorkflowID, c.RunID)
		result, err := api.Handle(c.WorkflowID, c.RunID, c.UpdateID).Wait(ctx)
		if err != nil {
			return ofUpdate(c.UpdateID, err)
		}
		return c.Payload(s, result)
	})
}

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
		return done(s, c.Output, c.WorkflowID, c.RunID, "The update %s of %s has failed, unless it had completed.", c.UpdateID, c.WorkflowID)
	})
}
