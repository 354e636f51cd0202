package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// scheduleDetails is a listed schedule with its description.
type scheduleDetails struct {
	ScheduleID string    `json:"scheduleId"`
	CreatedAt  time.Time `json:"createdAt"`
	describedSchedule
	// Problem says why there is no description.
	Problem string `json:"problem,omitempty"`
}

// describedAtOnce is how many schedules are described at once.
const describedAtOnce = 8

// detailsOf describes the schedules of a page. It leaves out those that were deleted meanwhile.
func detailsOf(ctx context.Context, api *client.Client, page []client.ScheduleSummary) ([]scheduleDetails, error) {
	found, failed := make([]*scheduleDetails, len(page)), make([]error, len(page))
	var lanes sync.WaitGroup
	for lane := range min(len(page), describedAtOnce) {
		lanes.Go(func() {
			for i := lane; i < len(page) && ctx.Err() == nil; i += describedAtOnce {
				found[i], failed[i] = detailOf(ctx, api, page[i])
			}
		})
	}
	lanes.Wait()
	var all []scheduleDetails
	for _, one := range found {
		if one != nil {
			all = append(all, *one)
		}
	}
	return all, errors.Join(append(failed, ctx.Err())...)
}

// detailOf describes a schedule; nil is one that was deleted. A schedule whose workflow does not
// answer, because its code fails, say, has a problem.
func detailOf(ctx context.Context, api *client.Client, one client.ScheduleSummary) (*scheduleDetails, error) {
	d := &scheduleDetails{ScheduleID: one.ScheduleID, CreatedAt: one.CreatedAt}
	var err error
	d.ScheduleDescription, err = api.Schedule(one.ScheduleID).Describe(ctx)
	var p *client.Problem
	switch {
	case errors.Is(err, client.ErrNotFound):
		return nil, nil
	case errors.As(err, &p) && p.Status == http.StatusConflict:
		d.Problem = failureText(err)
	case err != nil:
		return nil, err
	}
	return d, nil
}

// pausedSchedules returns since when the workflows of schedules are paused, by the schedule. It
// costs a page of the list. A deployment with an earlier version of Weft, which cannot list them,
// has none.
func pausedSchedules(ctx context.Context, api *client.Client) (map[string]*schema.Paused, error) {
	found := map[string]*schema.Paused{}
	for token := ""; ; {
		page, err := api.ListPage(ctx, client.ListOptions{Filter: "WorkflowType = '" + stored.WorkflowType + "' AND ExecutionStatus = 'Running' AND Paused", PageToken: token, PageSize: largestPage})
		var p *client.Problem
		switch {
		case errors.As(err, &p) && p.Status == http.StatusBadRequest:
			return nil, nil
		case err != nil:
			return nil, err
		}
		for _, run := range page.Workflows {
			if run.Paused != nil {
				found[strings.TrimPrefix(run.WorkflowID, stored.IDPrefix)] = &schema.Paused{Since: run.Paused.Since}
			}
		}
		if token = page.NextPageToken; token == "" {
			return found, nil
		}
	}
}

// detailedSchedules is how schedules are printed with their descriptions.
var detailedSchedules = cli.List[scheduleDetails]{
	Columns: []cli.Column{{Name: "SCHEDULE", Least: 12}, {Name: "STATE"}, {Name: "STARTS", Least: 8}, {Name: "WHEN", Least: 12}, {Name: "NEXT"}, {Name: "LAST"}, {Name: "STATUS"}},
	Row: func(one scheduleDetails) []cli.Cell {
		id := cli.Cell{Text: one.ScheduleID, Style: cli.Bold}
		if one.ScheduleDescription == nil {
			return []cli.Cell{id, {Text: "not readable", Style: cli.Bad}, {}, {Text: one.Problem}, {}, {}, {}}
		}
		next, last := time.Time{}, client.ScheduledRun{}
		if len(one.NextAt) > 0 && one.WorkflowPaused == nil {
			next = one.NextAt[0]
		}
		if n := len(one.Recent); n > 0 {
			last = one.Recent[n-1]
		}
		return []cli.Cell{id, scheduleStateCell(one), {Text: one.Schedule.Action.Type}, {Text: whenText(one.ScheduleDescription)}, {Text: moment(next)}, {Text: moment(last.At)}, statusCell(last.Status)}
	},
	ID: func(one scheduleDetails) string { return one.ScheduleID },
}

// scheduleStateCell says whether a schedule starts runs.
func scheduleStateCell(d scheduleDetails) cli.Cell {
	switch {
	case d.WorkflowPaused != nil:
		return cli.Cell{Text: "paused (its workflow)", Style: cli.Warn}
	case d.Schedule.Paused:
		return cli.Cell{Text: "paused", Style: cli.Warn}
	case len(d.NextAt) == 0:
		return cli.Cell{Text: "ended", Style: cli.Dim}
	}
	return cli.Cell{Text: "active", Style: cli.Good}
}

// whenText returns the moments of a schedule in a line, as "0 3 * * *; every 24h + 6h
// (Europe/Berlin)".
func whenText(d *client.ScheduleDescription) string {
	spec := d.Schedule.Spec
	all := append([]string{}, spec.Cron...)
	for _, i := range spec.Intervals {
		all = append(all, "every "+intervalText(time.Duration(i.Every), time.Duration(i.Offset)))
	}
	text := strings.Join(all, "; ")
	if spec.TimeZone != "" {
		text += " (" + spec.TimeZone + ")"
	}
	return text
}
