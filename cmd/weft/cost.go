package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// costCommand says what runs have cost, or what runs would cost.
type costCommand struct {
	WorkflowID string   `arg:"" optional:"" name:"workflow-id" help:"The workflow whose run is priced. Without it, runs that have closed are summed up."`
	RunID      string   `name:"run" placeholder:"ID" help:"The run of the workflow; without it, the latest."`
	Filter     string   `help:"Which runs, as in weft list; without it, all."`
	Type       string   `lookup:"types" help:"Only runs of this workflow type."`
	Since      string   `placeholder:"TIME" help:"Only runs that started then or later: a time as 2026-11-01T00:00:00Z, or how long ago, as 24h."`
	Until      string   `placeholder:"TIME" help:"Only runs that started before, in the same forms."`
	By         string   `default:"WorkflowType" placeholder:"NAME" complete:"WorkflowType,ExecutionStatus,BuildId,Stuck,FailureType,Paused,Retrying,CloseReason" help:"Sum up by the values of WorkflowType, ExecutionStatus, BuildId, or another name that docs/list.md has."`
	Unknown    bool     `name:"allow-unknown" help:"Allow names in the filter that no recent run has."`
	Forecast   forecast `embed:""`
	cli.Remote `embed:"" set:"timeout=-1ns"`
	cli.Output `embed:""`
}

// byType is the default of --by.
const byType = "WorkflowType"

// Validate refuses what selects a run and runs, or runs that there are and runs that there are not.
func (c *costCommand) Validate() error {
	several := cmp.Or(c.Filter, c.Type, c.Since, c.Until)
	switch {
	case c.Forecast.Runs != nil && cmp.Or(c.WorkflowID, c.RunID, several) != "":
		return fmt.Errorf("--runs prices runs that are not there: give no workflow and no filter with it")
	case c.Forecast.Runs != nil && (c.By != byType || c.Unknown):
		return fmt.Errorf("--runs prices runs that are not there: --by and --allow-unknown sum up those that are")
	case c.Forecast.Runs != nil:
		return c.Forecast.check()
	case c.Forecast.given() != "":
		return fmt.Errorf("%s describes runs that are not there: give --runs, too", c.Forecast.given())
	case c.WorkflowID != "" && several != "":
		return fmt.Errorf("give a workflow, or which runs to sum up: not both")
	case c.WorkflowID == "" && c.RunID != "":
		return fmt.Errorf("give the workflow of --run, too")
	}
	return nil
}

// timeoutHelp implements mayWait.
func (*costCommand) timeoutHelp() string { return "without it, 30s for a run, and for ever for a sum." }

// AfterApply sets the time-out.
func (c *costCommand) AfterApply() error {
	c.MayWait(c.WorkflowID == "")
	return nil
}

// Run prints the cost of a run, the sums, or the bill of a month.
func (c costCommand) Run(ctx context.Context, s *cli.Session) error {
	if c.Forecast.Runs != nil {
		return c.Forecast.print(s, c.Output)
	}
	if c.WorkflowID != "" {
		return c.Call(ctx, s, "the cost of "+c.WorkflowID, func(ctx context.Context, api *client.Client) error { return c.ofRun(ctx, s, api) })
	}
	filter, err := c.selection(time.Now())
	if err != nil {
		return cli.Errorf(cli.Usage, "%w", err)
	}
	return c.Call(ctx, s, "the costs", func(ctx context.Context, api *client.Client) error {
		total, err := c.sum(ctx, s, api, filter)
		if err != nil {
			return err
		}
		return c.One(s, dollarsText(total.Cost.Dollars), total, func() error { return c.costTable(s, total) })
	})
}

// ofRun prints the cost of a run.
func (c costCommand) ofRun(ctx context.Context, s *cli.Session, api *client.Client) error {
	d, err := api.Describe(ctx, c.WorkflowID, c.RunID)
	if err != nil {
		return err
	}
	if d.Cost == nil {
		return cli.Errorf(cli.Refused, "the deployment has an earlier version of Weft, which does not say what runs cost")
	}
	return c.One(s, dollarsText(d.Cost.Dollars), d.Cost, func() error {
		page := cli.NewPage(s)
		page.Styled("workflow", cli.Cell{Text: d.WorkflowID, Style: cli.Bold})
		page.Field("run", string(d.RunID))
		page.Field("writes", fmt.Sprintf("%d, of %d units and %d in the list", d.Cost.Writes, d.Cost.WriteUnits, d.Cost.IndexUnits))
		page.Field("reads", fmt.Sprintf("%d to %d, of up to %d units", d.Cost.Reads.Least, d.Cost.Reads.Most, d.Cost.ReadUnits))
		page.Field("messages", fmt.Sprintf("%d, in %s", d.Cost.Messages, counted(d.Cost.QueueRequests, "request")))
		page.Field("invocations", itoa(d.Cost.Invocations))
		page.Styled("dollars", cli.Cell{Text: "about " + dollarsText(d.Cost.Dollars), Style: cli.Bold})
		page.Field("prices", d.Cost.Prices)
		page.Field("estimated", strings.Join(d.Cost.Estimated, ", "))
		return page.Print()
	})
}

// selection returns the filter that the flags select runs with.
func (c costCommand) selection(now time.Time) (string, error) {
	var all []string
	if c.Filter != "" {
		all = append(all, "("+c.Filter+")")
	}
	if c.Type != "" {
		all = append(all, "WorkflowType = '"+strings.ReplaceAll(c.Type, "'", "''")+"'")
	}
	for _, bound := range []struct{ flag, is, text string }{{"--since", ">=", c.Since}, {"--until", "<", c.Until}} {
		if bound.text == "" {
			continue
		}
		at, err := momentBefore(bound.text, now)
		if err != nil {
			return "", fmt.Errorf("%s: %w", bound.flag, err)
		}
		all = append(all, "StartTime "+bound.is+" '"+at.UTC().Format(time.RFC3339Nano)+"'")
	}
	return strings.Join(all, " AND "), nil
}

// momentBefore reads a time, how long before now it is, or now.
func momentBefore(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return at, fmt.Errorf("%q is neither a time, as 2026-11-01T00:00:00Z, nor how long ago, as 24h", text)
	}
	return at, nil
}

// sum adds the pages up.
func (c costCommand) sum(ctx context.Context, s *cli.Session, api *client.Client, filter string) (*client.Costs, error) {
	total, by := &client.Costs{}, newGroupSums((*client.CostSum).Add)
	err := eachPage(ctx, s, "the costs", func(token string) (next, soFar string, err error) {
		page, err := api.Costs(ctx, client.CostsOptions{Filter: filter, GroupBy: c.By, PageToken: token, AllowUnknown: c.Unknown})
		if err != nil {
			return "", "", err
		}
		total.Add(page.CostSum)
		for _, g := range page.Groups {
			by.take(g.Value, g.CostSum)
		}
		if page.Others != nil {
			by.takeOthers(*page.Others)
		}
		return page.NextPageToken, dollarsText(total.Cost.Dollars) + " for " + counted(int64(total.Runs), "run"), nil
	})
	if err != nil {
		return nil, err
	}
	total.Others = by.others
	for value, sum := range by.sums {
		total.Groups = append(total.Groups, client.CostGroup{Value: value, CostSum: *sum})
	}
	slices.SortFunc(total.Groups, func(a, b client.CostGroup) int {
		return cmp.Or(cmp.Compare(b.Cost.Dollars, a.Cost.Dollars), strings.Compare(a.Value, b.Value))
	})
	return total, nil
}

// costTable prints sums by value, and what they come to.
func (c costCommand) costTable(s *cli.Session, total *client.Costs) error {
	groups := slices.Clone(total.Groups)
	if total.Others != nil {
		groups = append(groups, client.CostGroup{Value: "(others)", CostSum: *total.Others})
	}
	right := func(name string) cli.Column { return cli.Column{Name: name, Right: true} }
	list := cli.List[client.CostGroup]{
		Columns: []cli.Column{{Name: header(c.By), Least: 8}, right("RUNS"), right("WRITES"), right("MESSAGES"), right("READS"), right("DOLLARS"), right("A RUN")},
		Row: func(g client.CostGroup) []cli.Cell {
			return []cli.Cell{
				{Text: cmp.Or(g.Value, "(none)"), Style: cli.Bold},
				{Text: itoa(int64(g.Runs))},
				{Text: itoa(g.Cost.Writes)},
				{Text: itoa(g.Cost.Messages)},
				{Text: fmt.Sprintf("%d to %d", g.Cost.Reads.Least, g.Cost.Reads.Most)},
				{Text: dollarsText(g.Cost.Dollars)},
				{Text: aRun(g.CostSum)},
			}
		},
	}
	if err := list.Print(s, cli.Output{Output: "table"}, cli.Pages(groups)); err != nil {
		return err
	}
	text := fmt.Sprintf("about %s for %s that have closed", dollarsText(total.Cost.Dollars), counted(int64(total.Runs), "run"))
	if total.Open > 0 {
		text += fmt.Sprintf("; %s left out", counted(int64(total.Open), "open run"))
	}
	if total.Unknown > 0 {
		text += fmt.Sprintf("; %s left out that an earlier version of Weft has closed", counted(int64(total.Unknown), "run"))
	}
	return cli.Line(s, "%s", text)
}

// aRun returns the average cost of a run.
func aRun(sum client.CostSum) string {
	if sum.Runs == 0 {
		return ""
	}
	return dollarsText(sum.Cost.Dollars / float64(sum.Runs))
}

// costText returns what a run has cost for people, as "about $0.0000075: 4 writes, 3 messages, 0 to
// 4 reads". It returns nothing if the server does not say it.
func costText(c *client.Cost) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("about %s: %s, %s, %d to %d reads", dollarsText(c.Dollars), counted(c.Writes, "write"), counted(c.Messages, "message"), c.Reads.Least, c.Reads.Most)
}

// dollarsText returns an amount of dollars with two digits that are not zero.
func dollarsText(n float64) string {
	digits := 2
	for limit := 0.1; n > 0 && n < limit && digits < 12; limit /= 10 {
		digits++
	}
	return "$" + strconv.FormatFloat(n, 'f', digits, 64)
}

// counted returns a number of things, as "1 write" or "2 writes".
func counted(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.FormatInt(n, 10) + " " + what
}
