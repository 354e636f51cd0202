package main

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// oneRun names a run.
type oneRun struct {
	WorkflowID string `arg:"" name:"workflow-id" help:"Id of the workflow."`
	RunID      string `name:"run" placeholder:"RUN-ID" help:"Id of the run; without it, the latest."`
}

// historyCommand prints the history of a run.
type historyCommand struct {
	oneRun     `embed:""`
	cli.Remote `embed:""`
	cli.Output `embed:"" set:"output=auto"`
}

// Run prints it: as a table on a terminal, and elsewhere as JSON, for a file that weftest.Replay
// takes.
func (h historyCommand) Run(ctx context.Context, s *cli.Session) error {
	return h.Call(ctx, s, "the history of "+h.WorkflowID, func(ctx context.Context, c *client.Client) error {
		all, err := c.History(ctx, h.WorkflowID, h.RunID)
		switch {
		case err != nil:
			return err
		case h.JSON(s):
			return h.One(s, "", all, nil)
		}
		return eventsOn(s).Print(s, h.Output, cli.Pages(all.Events))
	})
}

// narrow is the width of a terminal below which events have no date: their attributes say more.
const narrow = 100

// eventsOn returns how events are printed.
func eventsOn(s *cli.Session) cli.List[client.HistoryEvent] {
	layout := "2006-01-02T15:04:05.000Z"
	if s.Width > 0 && s.Width < narrow {
		layout = "15:04:05.000Z"
	}
	return cli.List[client.HistoryEvent]{
		Columns: []cli.Column{{Name: "EVENT", Right: true}, {Name: "TIME"}, {Name: "TYPE"}, {Name: "ATTRIBUTES", Least: 20}},
		Row: func(e client.HistoryEvent) []cli.Cell {
			text, err := json.Marshal(e.Attributes)
			if err != nil {
				text = []byte(err.Error())
			}
			return []cli.Cell{{Text: itoa(e.ID)}, {Text: e.Time.UTC().Format(layout), Style: cli.Dim}, {Text: e.Type.String(), Style: cli.Bold}, {Text: string(text)}}
		},
		ID: func(e client.HistoryEvent) string { return itoa(e.ID) },
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
