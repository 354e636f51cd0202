package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/client"
)

// scheduleCommand describes and controls schedules. It creates none: the program whose workflow
// they start does that.
type scheduleCommand struct {
	List     scheduleList     `cmd:"" help:"List the schedules."`
	Describe scheduleDescribe `cmd:"" help:"Print the description of a schedule as JSON."`
	Pause    schedulePause    `cmd:"" help:"Keep a schedule from starting runs."`
	Unpause  scheduleUnpause  `cmd:"" help:"Let a schedule continue."`
	Trigger  scheduleTrigger  `cmd:"" help:"Start a run of a schedule now."`
	Backfill scheduleBackfill `cmd:"" help:"Start the runs of the moments of some time."`
	Delete   scheduleDelete   `cmd:"" help:"Delete a schedule; the runs that it has started continue."`
}

// oneSchedule names a schedule.
type oneSchedule struct {
	remote `embed:""`
	ID     string `arg:"" help:"Id of the schedule."`
}

func (o oneSchedule) schedule() client.Schedule { return o.client().Schedule(o.ID) }

type scheduleList struct {
	remote `embed:""`
}

// Run prints the ids of the schedules, with when each was created.
func (l scheduleList) Run(ctx context.Context, k *kong.Kong) error {
	c, token := l.client(), ""
	for {
		page, next, err := c.Schedules(ctx, token)
		if err != nil {
			return err
		}
		for _, s := range page {
			if _, err := fmt.Fprintln(k.Stdout, s.ScheduleID, s.CreatedAt.Format(time.RFC3339)); err != nil {
				return err
			}
		}
		if token = next; token == "" {
			return nil
		}
	}
}

type scheduleDescribe struct {
	oneSchedule `embed:""`
}

// Run prints the description.
func (d scheduleDescribe) Run(ctx context.Context, k *kong.Kong) error {
	known, err := d.schedule().Describe(ctx)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(known, "", "  ")
	if err == nil {
		_, err = fmt.Fprintln(k.Stdout, string(text))
	}
	return err
}

type schedulePause struct {
	oneSchedule `embed:""`
	Note        string `help:"For those who look at the schedule."`
}

// Run pauses the schedule.
func (p schedulePause) Run(ctx context.Context) error { return p.schedule().Pause(ctx, p.Note) }

type scheduleUnpause struct {
	oneSchedule `embed:""`
	Note        string `help:"For those who look at the schedule."`
}

// Run lets the schedule continue.
func (u scheduleUnpause) Run(ctx context.Context) error { return u.schedule().Unpause(ctx, u.Note) }

type scheduleTrigger struct {
	oneSchedule `embed:""`
	Overlap     client.Overlap `help:"Overlap policy of this run; without it, the schedule's."`
}

// Run starts a run.
func (t scheduleTrigger) Run(ctx context.Context) error { return t.schedule().Trigger(ctx, t.Overlap) }

type scheduleBackfill struct {
	oneSchedule `embed:""`
	From        time.Time      `required:"" help:"First moment, as 2026-11-21T08:00:00Z."`
	To          time.Time      `required:"" help:"Last moment."`
	Overlap     client.Overlap `help:"Overlap policy of these runs; without it, the schedule's."`
}

// Run starts the runs.
func (b scheduleBackfill) Run(ctx context.Context) error {
	return b.schedule().Backfill(ctx, b.From, b.To, b.Overlap)
}

type scheduleDelete struct {
	oneSchedule `embed:""`
}

// Run deletes the schedule.
func (d scheduleDelete) Run(ctx context.Context) error { return d.schedule().Delete(ctx) }
