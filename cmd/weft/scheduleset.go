package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// scheduleFlags are all that a schedule has.
type scheduleFlags struct {
	ID             string        `arg:"" help:"Id of the schedule."`
	Type           string        `arg:"" lookup:"types" help:"Type of the workflow that it starts."`
	Cron           []string      `sep:"none" placeholder:"EXPRESSION" help:"Moments, as \"30 9 * * 1-5\" or @hourly. It can be given several times."`
	Every          []string      `sep:"none" placeholder:"INTERVAL" help:"A moment in each interval since 1970, as 90m, or 24h+6h with an offset."`
	TimeZone       string        `placeholder:"NAME" help:"Time zone of the expressions, as Europe/Berlin; UTC without it."`
	StartAt        instant       `placeholder:"TIME" help:"No moment before this one, as 2026-11-21T08:00:00Z."`
	EndAt          instant       `placeholder:"TIME" help:"No moment after this one."`
	Jitter         time.Duration `placeholder:"DURATION" help:"Delay each moment by a part of this."`
	Overlap        string        `enum:",skip,bufferOne,bufferAll,allowAll,cancelOther,terminateOther" default:"" placeholder:"POLICY" help:"What happens while a run is open: skip (the default), bufferOne, bufferAll, allowAll, cancelOther or terminateOther."`
	CatchUpWindow  time.Duration `placeholder:"DURATION" help:"How late a run may begin after an outage; a year without it."`
	PauseOnFailure bool          `help:"Pause the schedule when a run of it fails or times out."`
	Paused         bool          `help:"Create it paused."`
	Note           string        `help:"For those who look at the schedule."`
	WorkflowID     string        `name:"workflow-id" placeholder:"PREFIX" help:"What the ids of the runs begin with; the schedule's id without it."`
	RunTimeout     time.Duration `group:"Start" placeholder:"DURATION" help:"How long a run may stay open."`
	RequestID      string        `placeholder:"ID" help:"Identifies the request when it is sent again."`
	retryFlags
	visibilityFlags
	cli.Input  `embed:""`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// instant is a time that a flag gives.
type instant struct{ time.Time }

// UnmarshalText reads a time.
func (i *instant) UnmarshalText(text []byte) (err error) {
	if i.Time, err = time.Parse(time.RFC3339Nano, string(text)); err != nil {
		return fmt.Errorf("%q is no time, as 2026-11-21T08:00:00Z", text)
	}
	return nil
}

// options returns the options of the schedule, and the input of its runs.
func (c scheduleFlags) options(s *cli.Session) (o client.ScheduleOptions, input history.Payload, err error) {
	text, err := c.Read(s)
	if err != nil {
		return o, nil, err
	}
	o = client.ScheduleOptions{
		Cron: c.Cron, TimeZone: c.TimeZone, StartAt: c.StartAt.Time, EndAt: c.EndAt.Time, Jitter: c.Jitter, Overlap: client.Overlap(c.Overlap), CatchUpWindow: c.CatchUpWindow,
		PauseOnFailure: c.PauseOnFailure, Paused: c.Paused, Note: c.Note, WorkflowID: c.WorkflowID, RunTimeout: c.RunTimeout, Retry: c.policy(), RequestID: c.RequestID,
	}
	for _, text := range c.Every {
		every, err := everyOf(text)
		if err != nil {
			return o, nil, err
		}
		o.Every = append(o.Every, every)
	}
	o.Memo, o.SearchAttributes, err = c.fields()
	return o, history.Payload(text), err
}

// everyOf returns an interval as a user writes it.
func everyOf(text string) (every client.Every, err error) {
	interval, offset, shifted := strings.Cut(text, "+")
	every.Interval, err = time.ParseDuration(interval)
	if err == nil && shifted {
		every.Offset, err = time.ParseDuration(offset)
	}
	if err != nil {
		return every, cli.Errorf(cli.Usage, "--every %q: give an interval as 90m, or 24h+6h with an offset", text)
	}
	return every, nil
}

// set creates the schedule, or changes it.
func (c scheduleFlags) set(ctx context.Context, s *cli.Session, what, text string, f func(context.Context, *client.Client, history.Payload, client.ScheduleOptions) error) error {
	o, input, err := c.options(s)
	if err != nil {
		return err
	}
	return c.Call(ctx, s, what+" of schedule "+c.ID, func(ctx context.Context, api *client.Client) error {
		input, err := fill(ctx, api, c.Input, json.RawMessage(input), shapeOfStart(c.Type))
		if err != nil {
			return err
		}
		if err := f(ctx, api, input, o); err != nil {
			return ofSchedule(&c.Remote, c.ID, err)
		}
		return scheduled(s, c.Output, c.ID, text)
	})
}

// scheduled prints what a command has done to a schedule.
func scheduled(s *cli.Session, o cli.Output, id, text string) error {
	value := struct {
		ScheduleID string `json:"scheduleId"`
	}{id}
	return o.One(s, id, value, func() error { return cli.Line(s, text, cli.Clean(id)) })
}

type scheduleCreate struct {
	scheduleFlags `embed:""`
}

// Run creates the schedule. It is durable when the command ends.
func (c scheduleCreate) Run(ctx context.Context, s *cli.Session) error {
	return c.set(ctx, s, "the creation", "The schedule %s is created.", func(ctx context.Context, api *client.Client, input history.Payload, o client.ScheduleOptions) error {
		_, err := api.CreateSchedule(ctx, c.ID, c.Type, input, o)
		return err
	})
}

type scheduleUpdate struct {
	scheduleFlags `embed:""`
}

// Run replaces all that the schedule has. Open runs continue.
func (c scheduleUpdate) Run(ctx context.Context, s *cli.Session) error {
	return c.set(ctx, s, "the change", "The schedule %s is changed.", func(ctx context.Context, api *client.Client, input history.Payload, o client.ScheduleOptions) error {
		return api.Schedule(c.ID).Change(ctx, c.Type, input, o)
	})
}
