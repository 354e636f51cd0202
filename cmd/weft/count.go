package main

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// countCommand counts runs.
type countCommand struct {
	Filter     string `arg:"" optional:"" help:"Which runs, as in weft list; without it, all."`
	By         string `placeholder:"NAME" complete:"ExecutionStatus,WorkflowType,BuildId,Stuck,FailureType,Paused,Retrying,CloseReason" help:"Count by the values of ExecutionStatus, WorkflowType, BuildId, or another name that docs/list.md has."`
	Unknown    bool   `name:"allow-unknown" help:"Allow names in the filter that no recent run has."`
	cli.Remote `embed:"" set:"timeout=0s"`
	cli.Output `embed:""`
}

// Run counts page by page, and shows how far it is.
func (c countCommand) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the count", func(ctx context.Context, api *client.Client) error {
		total, err := c.count(ctx, s, api)
		if err != nil {
			return err
		}
		return c.One(s, itoa(int64(total.Count)), total, func() error {
			if c.By == "" {
				return cli.Line(s, "%d", total.Count)
			}
			return groupTable(s, c.By, total)
		})
	})
}

// count adds the pages up.
func (c countCommand) count(ctx context.Context, s *cli.Session, api *client.Client) (*client.Counts, error) {
	total, by := &client.Counts{}, newGroupSums(func(to *int, more int) { *to += more })
	err := eachPage(ctx, s, "the count", func(token string) (next, soFar string, err error) {
		page, err := api.Count(ctx, client.CountOptions{Filter: c.Filter, GroupBy: c.By, PageToken: token, AllowUnknown: c.Unknown})
		if err != nil {
			return "", "", err
		}
		total.Count += page.Count
		for _, g := range page.Groups {
			by.take(g.Value, g.Count)
		}
		by.takeOthers(page.Others)
		return page.NextPageToken, counted(int64(total.Count), "run"), nil
	})
	if err != nil {
		return nil, err
	}
	total.Others = *by.others
	for value, n := range by.sums {
		total.Groups = append(total.Groups, schema.CountGroup{Value: value, Count: *n})
	}
	slices.SortFunc(total.Groups, func(a, b schema.CountGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	return total, nil
}

// groupTable prints counts by value, and their sum.
func groupTable(s *cli.Session, by string, total *client.Counts) error {
	groups := slices.Clone(total.Groups)
	if total.Others > 0 {
		groups = append(groups, schema.CountGroup{Value: "(others)", Count: total.Others})
	}
	list := cli.List[schema.CountGroup]{
		Columns: []cli.Column{{Name: header(by), Least: 8}, {Name: "RUNS", Right: true}},
		Row: func(g schema.CountGroup) []cli.Cell {
			return []cli.Cell{{Text: cmp.Or(g.Value, "(none)"), Style: cli.Bold}, {Text: itoa(int64(g.Count))}}
		},
	}
	if err := list.Print(s, cli.Output{Output: "table"}, cli.Pages(groups)); err != nil {
		return err
	}
	return cli.Line(s, "%d in all", total.Count)
}

// header returns a name as the header of a column: ExecutionStatus is EXECUTION STATUS.
func header(name string) string {
	return strings.ToUpper(wordEnd.ReplaceAllString(name, "$1 $2"))
}

// wordEnd matches where a word in a name ends.
var wordEnd = regexp.MustCompile(`([a-z0-9])([A-Z])`)
