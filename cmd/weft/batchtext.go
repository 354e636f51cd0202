package main

import (
	"context"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// lookEvery is how long a command waits between two looks at a batch.
const lookEvery = 500 * time.Millisecond

// watchBatch shows how far a batch is until it has ended, and prints its description. It is an
// error if the batch did not complete, or could not act on all runs.
func watchBatch(ctx context.Context, s *cli.Session, o cli.Output, b client.Batch) error {
	for {
		known, err := b.Describe(ctx)
		if err != nil {
			return err
		}
		if known.State != "running" && known.State != "stopping" {
			s.Status("")
			if err := o.One(s, b.ID, known, func() error { return batchText(s, known) }); err != nil {
				return err
			}
			return batchError(known)
		}
		s.Status("batch " + cli.Clean(b.ID) + ": " + countsText(known))
		cli.Waiting(ctx, "the end of batch %s, which has %s", b.ID, countsText(known))
		wait := time.NewTimer(lookEvery)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return context.Cause(ctx)
		}
	}
}

// batchError returns what a batch that has ended did not do, or nil.
func batchError(known *client.BatchDescription) error {
	switch c := known.Counts; {
	case known.State == "stopped" && known.Reason != "":
		return cli.Errorf(cli.Failed, "batch %s was stopped: %s", known.BatchID, cli.Clean(cli.Flags(known.Reason)))
	case known.State != "completed":
		return cli.Errorf(cli.Failed, "batch %s is %s", known.BatchID, known.State)
	case c.Refused+c.Failed > 0:
		return cli.Errorf(cli.Failed, "batch %s could not act on %d of %d runs", known.BatchID, c.Refused+c.Failed, c.Matched)
	}
	return nil
}

// countsText says in a few words how far a batch is.
func countsText(known *client.BatchDescription) string {
	c := known.Counts
	parts := []string{itoa(int64(c.Matched)) + " matched"}
	if !known.DryRun {
		parts = append(parts, itoa(int64(c.Done))+" done")
	}
	for _, part := range []struct {
		n    int
		what string
	}{{c.Already, "already"}, {c.Refused, "refused"}, {c.Failed, "failed"}} {
		if part.n > 0 {
			parts = append(parts, itoa(int64(part.n))+" "+part.what)
		}
	}
	return strings.Join(parts, ", ")
}

// batchText prints the description of a batch for people.
func batchText(s *cli.Session, known *client.BatchDescription) error {
	page := cli.NewPage(s)
	page.Styled("batch", cli.Cell{Text: known.BatchID, Style: cli.Bold})
	page.Styled("state", statusCell(known.State))
	page.Field("because", cli.Flags(known.Reason))
	page.Field("filter", known.Filter)
	page.Field("action", actionText(known.Action))
	if known.DryRun {
		page.Field("dry run", "yes: it counts, and does nothing")
	}
	if known.Rate > 0 {
		page.Field("rate", strings.TrimPrefix(batchRateText(known.Rate), "a rate of "))
	}
	page.Field("started", moment(known.StartedAt))
	page.Field("ended", momentOf(known.EndedAt))
	page.Field("runs", countsText(known))
	var groups, problems [][]cli.Cell
	for _, g := range known.Groups {
		groups = append(groups, []cli.Cell{{Text: g.Type, Style: cli.Bold}, statusCell(g.Status), {Text: itoa(int64(g.Count))}})
	}
	page.Table("Matched", []cli.Column{{Name: "TYPE", Least: 12}, {Name: "STATUS"}, {Name: "RUNS", Right: true}}, groups)
	for _, p := range known.Problems {
		verdict := cli.Cell{Text: "failed", Style: cli.Bad}
		if p.Refused {
			verdict = cli.Cell{Text: "refused", Style: cli.Warn}
		}
		problems = append(problems, []cli.Cell{{Text: p.WorkflowID, Style: cli.Bold}, {Text: string(p.RunID)}, verdict, {Text: p.Reason}})
	}
	page.Table("The last that it could not act on", []cli.Column{{Name: "WORKFLOW", Least: 12}, {Name: "RUN", Least: 6, First: true}, {Name: "WHAT"}, {Name: "WHY", Least: 16}}, problems)
	return page.Print()
}

// actionText says in a few words what a batch does; empty for nil.
func actionText(a *client.BatchAction) string {
	if a == nil {
		return ""
	}
	text := a.Kind
	for _, part := range []struct{ before, is string }{
		{" ", a.SignalName}, {" to ", a.To}, {" to build ", a.Build}, {" without ", strings.Join(a.Exclude, ", ")}, {": ", a.Reason},
	} {
		if part.is != "" {
			text += part.before + part.is
		}
	}
	if a.Unpin {
		text += " to the newest build"
	}
	return text
}
