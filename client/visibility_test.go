package client_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// A filter with a quoted text finds that text, whatever characters it has, and nothing else.
func TestQuote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ctx := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-2")...), t.Context()
		texts := []string{"", "eu", "o'neill", "''", `"`, `a" AND Region = 'eu`, "' OR 'a' = 'a", "\\' ", "ä\n\t%"}
		for _, text := range texts {
			options := workflow.StartOptions{SearchAttributes: []workflow.SearchAttribute{testbed.Region.Set(text)}}
			if _, err := testbed.Shower.Start(ctx, p.Client, "", "", options); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range texts {
			page, next, err := p.Client.List(ctx, "Region = "+client.Quote(text), "")
			if err != nil || len(page) != 1 || next != "" {
				t.Fatalf("%q: %d runs, %q, %v", text, len(page), next, err)
			}
			if got, ok := testbed.Region.Of(page[0].SearchAttributes); got != text || !ok {
				t.Errorf("%q finds %q", text, got)
			}
		}
	})
}

// A memo that cannot be encoded is not sent, neither by a start nor by a schedule.
func TestMemoThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ctx := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-2")...), t.Context()
		memo := []workflow.MemoField{workflow.NewMemo[float64]("far").Set(math.Inf(1))}
		_, start := testbed.Shower.Start(ctx, p.Client, "a", "", workflow.StartOptions{Memo: memo})
		opening := testbed.Shower.WithStart("", workflow.StartOptions{Memo: memo})
		signal := testbed.On.Send(ctx, p.Client, "a", "", workflow.SendOptions{Start: opening})
		_, schedule := testbed.Shower.Schedule(ctx, p.Client, "s", "", workflow.ScheduleOptions{Cron: []string{"@hourly"}, Memo: memo})
		for what, err := range map[string]error{"start": start, "signal": signal, "schedule": schedule} {
			var problem *client.Problem
			if err == nil || errors.As(err, &problem) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// A search attribute whose value JSON would change is refused.
func TestSearchAttributesThatJSONChanges(t *testing.T) {
	t.Parallel()
	due, region, rate := workflow.NewAttribute[time.Time]("Due"), workflow.NewAttribute[string]("Region"), workflow.NewAttribute[float64]("Rate")
	synctest.Test(t, func(t *testing.T) {
		p, ctx := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-2")...), t.Context()
		for _, a := range []workflow.SearchAttribute{
			due.Set(time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)), due.Set(time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)), due.Set(time.Time{}),
			region.Set("a\xff"), workflow.NewAttribute[[]string]("Tags").Set([]string{"a", "\xff"}), rate.Set(math.NaN()),
		} {
			all := []workflow.SearchAttribute{a}
			_, start := testbed.Shower.Start(ctx, p.Client, "a", "", workflow.StartOptions{SearchAttributes: all})
			_, schedule := testbed.Shower.Schedule(ctx, p.Client, "s", "", workflow.ScheduleOptions{Cron: []string{"@hourly"}, SearchAttributes: all})
			if !errors.Is(start, client.ErrInvalid) || !errors.Is(schedule, client.ErrInvalid) {
				t.Errorf("%+v: %v and %v", a, start, schedule)
			}
		}
		if page, _, err := p.Client.List(ctx, "", ""); err != nil || len(page) != 0 {
			t.Errorf("%d runs were started, %v", len(page), err)
		}
		removed := workflow.StartOptions{SearchAttributes: []workflow.SearchAttribute{region.Set("\xff"), region.Set("eu"), due.Unset()}}
		if _, err := testbed.Shower.Start(ctx, p.Client, "a", "", removed); err != nil {
			t.Errorf("a name with a valid last value: %v", err)
		}
	})
}

// A page of a list has as many runs as were asked for, in the order of the filter, and a name that
// no run has is refused unless it is allowed.
func TestListPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ctx := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-2")...), t.Context()
		for _, id := range []string{"a", "b", "c"} {
			if _, err := testbed.Shower.Start(ctx, p.Client, id, ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		var got []string
		o := client.ListOptions{Filter: "WorkflowId >= 'a' OR WorkflowId = 'x' ORDER BY StartTime", PageSize: 2}
		for pages := 0; pages == 0 || o.PageToken != ""; pages++ {
			page, err := p.Client.ListPage(ctx, o)
			if err != nil || len(page.Workflows) > 2 || page.Version == "" {
				t.Fatalf("%+v, %v", page, err)
			}
			for _, w := range page.Workflows {
				got = append(got, w.WorkflowID)
			}
			o.PageToken = page.NextPageToken
		}
		if !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("%q", got)
		}
		unknown := client.ListOptions{Filter: "Regoin = 'eu'"}
		if _, err := p.Client.ListPage(ctx, unknown); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("an unknown name: %v", err)
		}
		unknown.AllowUnknown = true
		if page, err := p.Client.ListPage(ctx, unknown); err != nil || len(page.Workflows) != 0 {
			t.Errorf("an unknown name that is allowed: %+v, %v", page, err)
		}
		counts, err := p.Client.Count(ctx, client.CountOptions{Filter: "WorkflowId > 'a'", GroupBy: "WorkflowType"})
		if err != nil || counts.Count != 2 || len(counts.Groups) != 1 || counts.Groups[0].Count != 2 || counts.NextPageToken != "" {
			t.Errorf("%+v, %v", counts, err)
		}
		if _, err := p.Client.Count(ctx, client.CountOptions{GroupBy: "Region"}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("a group that is none: %v", err)
		}
		if _, err := p.Client.ListPage(ctx, client.ListOptions{PageSize: -1}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("a page of -1: %v", err)
		}
	})
}
