package main

import (
	"context"
	"strings"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// runsCommand lists the runs of a workflow.
type runsCommand struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	Limit      int    `default:"100" help:"How many runs at most."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (runsCommand) Help() string {
	return "Runs that have expired or were deleted are left out. It does not need the list of workflows. It costs a read for the latest run, and two for each other one."
}

// Run prints a line for each run, the latest first.
func (c runsCommand) Run(ctx context.Context, s *cli.Session) error {
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	return c.Call(ctx, s, "the runs of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error {
		after := followers{}
		return after.list().Print(s, c.Output, limited(s, c.Limit, func(token string) ([]client.ChainedRun, string, error) {
			page, next, err := api.Runs(ctx, c.WorkflowID, token)
			after.note(page)
			return page, next, err
		}))
	})
}

// followers are the runs that began as a reset of another one, by that one. A run that had closed
// before it was reset does not name them.
type followers map[history.RunID][]history.RunID

// note adds the runs of a page.
func (f followers) note(page []client.ChainedRun) {
	for _, run := range page {
		if run.ResetFromRunID != "" {
			f[run.ResetFromRunID] = append(f[run.ResetFromRunID], run.RunID)
		}
	}
}

// of returns which runs follow a run: the one that continues it, the one that a start has replaced
// it by, and those that it was reset to. All of them are later than the run.
func (f followers) of(run client.ChainedRun) string {
	var all []string
	for _, id := range []history.RunID{run.NewRunID, run.ReplacedByRunID} {
		if id != "" {
			all = append(all, string(id))
		}
	}
	for _, id := range f[run.RunID] {
		if id != run.NewRunID {
			all = append(all, string(id))
		}
	}
	return strings.Join(all, ", ")
}

// list is how runs of a workflow are printed. Their followers are noted before.
func (f followers) list() cli.List[client.ChainedRun] {
	return cli.List[client.ChainedRun]{
		Columns: []cli.Column{{Name: "RUN"}, {Name: "TYPE", Least: 8}, {Name: "STATUS", Least: 10}, {Name: "STARTED"}, {Name: "BY"}, {Name: "CLOSED"}, {Name: "FOLLOWED BY"}},
		Row: func(run client.ChainedRun) []cli.Cell {
			return []cli.Cell{
				{Text: string(run.RunID), Style: cli.Bold},
				{Text: run.Type},
				closedCell(run.Status.String(), run.CloseReason),
				{Text: moment(run.StartedAt)},
				{Text: run.StartedBy, Style: cli.Dim},
				{Text: momentOf(run.ClosedAt)},
				{Text: f.of(run)},
			}
		},
		ID: func(run client.ChainedRun) string { return string(run.RunID) },
	}
}

// successor is which run follows a closed one that does not name it.
type successor struct {
	// ResetToRunID is the latest run that the run was reset to, and ReplacedByRunID the one for
	// which a start has terminated it.
	ResetToRunID    history.RunID `json:"resetToRunId,omitempty"`
	ReplacedByRunID history.RunID `json:"replacedByRunId,omitempty"`
}

// successorOf looks among the latest runs of a workflow for the one that follows a closed run. It
// finds none if that is impossible, if the run itself is not among them, or if the deployment has
// an earlier version of Weft.
func successorOf(ctx context.Context, api *client.Client, d *client.Description) (next successor) {
	latest, _, err := api.Runs(ctx, d.WorkflowID, "")
	if err != nil {
		return next
	}
	for _, run := range latest {
		switch {
		case run.RunID == d.RunID:
			next.ReplacedByRunID = run.ReplacedByRunID
			return next
		case run.ResetFromRunID == d.RunID && next.ResetToRunID == "":
			next.ResetToRunID = run.RunID
		}
	}
	return next
}
