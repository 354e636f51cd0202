package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// scheduleCommand creates, describes and controls schedules.
type scheduleCommand struct {
	Create   scheduleCreate   `cmd:"" help:"Create a schedule: weft schedule create nightly report --cron \"0 3 * * *\"."`
	Update   scheduleUpdate   `cmd:"" help:"Replace all that a schedule was created with: its type, its moments and its policies."`
	List     scheduleList     `cmd:"" help:"List the schedules."`
	Describe scheduleDescribe `cmd:"" help:"Describe a schedule, with its next moments and its last runs."`
	Pause    schedulePause    `cmd:"" help:"Keep a schedule from starting runs."`
	Unpause  scheduleUnpause  `cmd:"" help:"Let a schedule continue."`
	Trigger  scheduleTrigger  `cmd:"" help:"Start a run of a schedule now."`
	Backfill scheduleBackfill `cmd:"" help:"Start the runs of the moments of some time."`
	Delete   scheduleDelete   `cmd:"" help:"Delete a schedule; the runs that it has started continue."`
}

// oneSchedule names a schedule.
type oneSchedule struct {
	cli.Remote `embed:""`
	ID         string `arg:"" help:"Id of the schedule."`
}

// call calls f with the schedule.
func (o oneSchedule) call(ctx context.Context, s *cli.Session, what string, f func(context.Context, client.Schedule) error) error {
	return o.Call(ctx, s, what+" of schedule "+o.ID, func(ctx context.Context, c *client.Client) error {
		return ofSchedule(&o.Remote, o.ID, f(ctx, c.Schedule(o.ID)))
	})
}

// ofSchedule turns an error about the workflow of a schedule into one about the schedule.
func ofSchedule(r *cli.Remote, id string, err error) error {
	var p *client.Problem
	switch {
	case !errors.As(err, &p):
		return err
	case errors.Is(err, client.ErrAlreadyStarted):
		return cli.Errorf(cli.Refused, "there is a schedule %q already: weft schedule update changes it, and %s removes it", id, r.Command("schedule delete", id))
	case p.Status == http.StatusNotFound && strings.Contains(p.Detail, stored.IDPrefix):
		return cli.Errorf(cli.NotFound, "there is no schedule %q: %s has those that there are", id, r.Command("schedule list"))
	}
	return err
}

// do calls f with the schedule, and prints what it has done.
func (o oneSchedule) do(ctx context.Context, s *cli.Session, out cli.Output, what, text string, f func(context.Context, client.Schedule) error) error {
	return o.call(ctx, s, what, func(ctx context.Context, schedule client.Schedule) error {
		if err := f(ctx, schedule); err != nil {
			return err
		}
		return scheduled(s, out, o.ID, text)
	})
}

type scheduleList struct {
	Limit      int  `default:"1000" help:"How many schedules at most."`
	Details    bool `short:"l" help:"Describe each schedule, too: whether it is paused, what it starts and when, the next moment, and the last run. It is a request and a query for each, and one request for those whose workflow is paused."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (scheduleList) Help() string {
	return "The list has the ids of the schedules, and when each was created or last continued as new: anything else is in their histories. " +
		"--details reads those, eight at once. That costs what weft schedule describe costs for each: a query, which is a read or more."
}

// Run prints the schedules, with when each was created.
func (l scheduleList) Run(ctx context.Context, s *cli.Session) error {
	if err := checkLimit(l.Limit); err != nil {
		return err
	}
	return l.Call(ctx, s, "the schedules", func(ctx context.Context, c *client.Client) error {
		pages := noting(s, "There is no schedule.", limited(s, l.Limit, func(token string) ([]client.ScheduleSummary, string, error) { return c.Schedules(ctx, token) }))
		if !l.Details || l.Quiet {
			return schedules.Print(s, l.Output, pages)
		}
		paused, err := pausedSchedules(ctx, c)
		if err != nil {
			return err
		}
		return detailedSchedules.Print(s, l.Output, func(yield func([]scheduleDetails, error) bool) {
			for page, err := range pages {
				var all []scheduleDetails
				if err == nil {
					all, err = detailsOf(ctx, c, page)
				}
				for i := range all {
					all[i].WorkflowPaused = paused[all[i].ScheduleID]
				}
				if !yield(all, err) {
					return
				}
			}
		})
	})
}

// schedules is how schedules are printed.
var schedules = cli.List[client.ScheduleSummary]{
	Columns: []cli.Column{{Name: "SCHEDULE", Least: 12}, {Name: "CREATED"}},
	Row: func(one client.ScheduleSummary) []cli.Cell {
		return []cli.Cell{{Text: one.ScheduleID, Style: cli.Bold}, {Text: moment(one.CreatedAt)}}
	},
	ID: func(one client.ScheduleSummary) string { return one.ScheduleID },
}

// describedSchedule is a description of a schedule with what its workflow knows.
type describedSchedule struct {
	*client.ScheduleDescription
	// WorkflowPaused says since when, and why, an operator has paused the schedule's workflow: it
	// starts no runs meanwhile.
	WorkflowPaused *schema.Paused `json:"workflowPaused,omitempty"`
}

type scheduleDescribe struct {
	oneSchedule `embed:""`
	cli.Output  `embed:"" set:"output=auto"`
}

// Run prints the description.
func (d scheduleDescribe) Run(ctx context.Context, s *cli.Session) error {
	return d.Call(ctx, s, "the description of schedule "+d.ID, func(ctx context.Context, api *client.Client) error {
		known, err := api.Schedule(d.ID).Describe(ctx)
		if err != nil {
			return ofSchedule(&d.Remote, d.ID, err)
		}
		value := describedSchedule{ScheduleDescription: known}
		if run, err := api.Describe(ctx, stored.IDPrefix+d.ID, ""); err == nil { // who may not read it gets the rest
			value.WorkflowPaused = run.Paused
		}
		return d.One(s, d.ID, value, func() error { return scheduleText(s, value, d.Command("resume", stored.IDPrefix+d.ID)) })
	})
}

type schedulePause struct {
	oneSchedule `embed:""`
	cli.Output  `embed:""`
	Note        string `help:"For those who look at the schedule."`
}

// Run pauses the schedule.
func (p schedulePause) Run(ctx context.Context, s *cli.Session) error {
	return p.do(ctx, s, p.Output, "the pause", "The schedule %s is paused.", func(ctx context.Context, schedule client.Schedule) error { return schedule.Pause(ctx, p.Note) })
}

type scheduleUnpause struct {
	oneSchedule `embed:""`
	cli.Output  `embed:""`
	Note        string `help:"For those who look at the schedule."`
}

// Run lets the schedule continue.
func (u scheduleUnpause) Run(ctx context.Context, s *cli.Session) error {
	return u.do(ctx, s, u.Output, "the end of the pause", "The schedule %s continues.", func(ctx context.Context, schedule client.Schedule) error { return schedule.Unpause(ctx, u.Note) })
}

type scheduleTrigger struct {
	oneSchedule `embed:""`
	cli.Output  `embed:""`
	Overlap     client.Overlap `help:"Overlap policy of this run; without it, the schedule's."`
}

// Run starts a run.
func (t scheduleTrigger) Run(ctx context.Context, s *cli.Session) error {
	return t.do(ctx, s, t.Output, "the trigger", "The schedule %s starts a run.", func(ctx context.Context, schedule client.Schedule) error { return schedule.Trigger(ctx, t.Overlap) })
}

type scheduleBackfill struct {
	oneSchedule `embed:""`
	cli.Output  `embed:""`
	From        string         `required:"" placeholder:"TIME" help:"First moment: a time as 2026-11-21T08:00:00Z, or how long ago, as 24h."`
	To          string         `required:"" placeholder:"TIME" help:"Last moment, in the same forms, or now."`
	Overlap     client.Overlap `help:"Overlap policy of these runs; without it, the schedule's."`
}

// Run starts the runs.
func (b scheduleBackfill) Run(ctx context.Context, s *cli.Session) error {
	now := time.Now()
	from, err := momentBefore(b.From, now)
	if err != nil {
		return cli.Errorf(cli.Usage, "--from: %w", err)
	}
	to, err := momentBefore(b.To, now)
	if err != nil {
		return cli.Errorf(cli.Usage, "--to: %w", err)
	}
	return b.do(ctx, s, b.Output, "the backfill", "The schedule %s starts the runs of that time.", func(ctx context.Context, schedule client.Schedule) error {
		return schedule.Backfill(ctx, from, to, b.Overlap)
	})
}

type scheduleDelete struct {
	oneSchedule `embed:""`
	cli.Output  `embed:""`
}

// Run deletes the schedule.
func (d scheduleDelete) Run(ctx context.Context, s *cli.Session) error {
	return d.do(ctx, s, d.Output, "the deletion", "The schedule %s is deleted.", func(ctx context.Context, schedule client.Schedule) error { return schedule.Delete(ctx) })
}
