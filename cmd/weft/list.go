package main

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// listCommand prints runs.
type listCommand struct {
	Filter     string `arg:"" optional:"" help:"Which runs, for example \"WorkflowType = 'cart' AND Amount > 100\"; without it, all."`
	Limit      int    `default:"100" help:"How many runs at most."`
	Unknown    bool   `name:"allow-unknown" help:"Allow names in the filter that no recent run has. Without it they are refused, because they are probably mistyped."`
	JSON       bool   `name:"json" hidden:"" help:"The old spelling of -o jsonl."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Run prints a line for each run, those started last first.
func (l listCommand) Run(ctx context.Context, s *cli.Session) error {
	if l.JSON {
		l.Output.Output = "jsonl"
	}
	if err := checkLimit(l.Limit); err != nil {
		return err
	}
	return l.Call(ctx, s, "the list", func(ctx context.Context, c *client.Client) error {
		return runs.Print(s, l.Output, noting(s, "No run matches.", limited(s, l.Limit, func(token string) ([]client.Summary, string, error) {
			page, err := c.ListPage(ctx, client.ListOptions{Filter: l.Filter, PageToken: token, PageSize: min(max(l.Limit, 1), largestPage), AllowUnknown: l.Unknown})
			if err != nil {
				return nil, "", err
			}
			return page.Workflows, page.NextPageToken, nil
		})))
	})
}

// largestPage is how many runs a page of the list can have.
const largestPage = 1000

// runs is how runs are printed.
var runs = cli.List[client.Summary]{
	Columns: []cli.Column{{Name: "WORKFLOW", Least: 12}, {Name: "RUN", Least: 6, First: true}, {Name: "TYPE", Least: 8}, {Name: "STATUS"}, {Name: "STARTED"}, {Name: "SEARCH ATTRIBUTES", Least: 10, First: true}},
	Row: func(run client.Summary) []cli.Cell {
		return []cli.Cell{
			{Text: run.WorkflowID, Style: cli.Bold},
			{Text: string(run.RunID), Style: cli.Dim},
			{Text: run.Type},
			listedCell(run),
			{Text: moment(run.StartedAt)},
			{Text: attributesText(run.SearchAttributes)},
		}
	},
	ID: func(run client.Summary) string { return run.WorkflowID },
}

// checkLimit refuses a --limit that lists nothing.
func checkLimit(limit int) error {
	if limit < 1 {
		return cli.Errorf(cli.Usage, "--limit is %d: give 1 or more", limit)
	}
	return nil
}

// limited returns the pages of a list, with at most limit things. It says on standard error if it
// ends before the list does.
func limited[T any](s *cli.Session, limit int, page func(token string) ([]T, string, error)) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for token, left := "", limit; left > 0; {
			all, next, err := page(token)
			if err != nil {
				yield(nil, err)
				return
			}
			more := next != "" || len(all) > left
			all = all[:min(len(all), left)]
			if left -= len(all); !yield(all, nil) {
				return
			}
			if left == 0 && more {
				s.Note(fmt.Sprintf("These are the first %d; there may be more. --limit sets how many are listed.", limit))
			}
			if next == "" {
				return
			}
			token = next
		}
	}
}

// noting returns the pages of a list. On a terminal it says if there is nothing on them: a table
// without rows could be half a table.
func noting[T any](s *cli.Session, nothing string, pages iter.Seq2[[]T, error]) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		empty := true
		for page, err := range pages {
			empty = empty && err == nil && len(page) == 0
			if !yield(page, err) {
				return
			}
		}
		if empty && s.Width > 0 {
			s.Note(nothing)
		}
	}
}

// attributesText returns search attributes for people, as "Region=eu, Amount=100".
func attributesText(attributes client.SearchAttributes) string {
	all := make([]string, len(attributes))
	for i, a := range attributes {
		all[i] = a.Name + "=" + attributeText(a.Value)
	}
	return strings.Join(all, ", ")
}

// attributeText returns the value of a search attribute as a filter has it, without quotes.
func attributeText(v history.AttributeValue) string {
	switch {
	case v.Keyword != nil:
		return *v.Keyword
	case v.Int != nil:
		return itoa(*v.Int)
	case v.Float != nil:
		return strconv.FormatFloat(*v.Float, 'g', -1, 64)
	case v.Bool != nil:
		return strconv.FormatBool(*v.Bool)
	case v.Time != nil:
		return moment(v.Time.Time())
	}
	return "(" + strings.Join(v.KeywordList, ", ") + ")"
}

// moment returns a time as the commands print it; empty if there is none.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// listedCell returns the status of a listed run, and in parentheses what it does not say: that the
// run is stuck or paused, or why it closed.
func listedCell(run client.Summary) cli.Cell {
	status := run.Status.String()
	if run.State == "" {
		return closedCell(status, run.CloseReason)
	}
	cell := stateCell(run.State)
	if len(run.FailingActivities) > 0 {
		cell.Text += ": " + strings.Join(run.FailingActivities, ", ")
	}
	cell.Text = status + " (" + cell.Text + ")"
	return cell
}

// closedCell returns the status of a run, and in parentheses why it closed, if the status does not
// say it.
func closedCell(status, reason string) cli.Cell {
	cell := statusCell(status)
	if reason != "" && reason != status {
		cell.Text += " (" + reason + ")"
	}
	return cell
}

// statusCell returns the status of a run in its colour.
func statusCell(status string) cli.Cell {
	style := map[string]cli.Style{"running": cli.Info, "completed": cli.Good, "failed": cli.Bad, "timedOut": cli.Bad, "terminated": cli.Warn, "stopped": cli.Warn, "canceled": cli.Warn}[status]
	return cli.Cell{Text: status, Style: style}
}
