package client

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Overlap says what a schedule does when a run is due and an earlier run of it is still open.
type Overlap = schema.Overlap

// The overlap policies. The first is the default.
const (
	// OverlapSkip skips the new run.
	OverlapSkip = schema.OverlapSkip
	// OverlapBufferOne starts the new run when the open one has ended. At most one run waits;
	// others are skipped.
	OverlapBufferOne = schema.OverlapBufferOne
	// OverlapBufferAll starts all runs, one after the other. Up to a thousand wait.
	OverlapBufferAll = schema.OverlapBufferAll
	// OverlapAllowAll starts the new run at once.
	OverlapAllowAll = schema.OverlapAllowAll
	// OverlapCancel cancels the open run, and starts the new one when it has ended.
	OverlapCancel = schema.OverlapCancel
	// OverlapTerminate terminates the open run, and starts the new one when it has ended.
	OverlapTerminate = schema.OverlapTerminate
)

// Every is a moment at each Interval since 1970 (UTC), shifted by Offset.
type Every struct{ Interval, Offset time.Duration }

// ScheduleOptions says when a schedule starts runs, and how. Cron, Every, or both are required.
type ScheduleOptions struct {
	// Cron are cron expressions, as in StartOptions. They are in the time zone, unless they begin
	// with one of their own.
	Cron []string
	// Every are intervals.
	Every []Every
	// TimeZone is a name of the IANA database; empty is UTC.
	TimeZone string
	// StartAt and EndAt bound the moments, both included; zero is no bound.
	StartAt, EndAt time.Time
	// Jitter delays each moment by a part of this, always the same for the same moment, and not
	// beyond the next one.
	Jitter time.Duration

	// Overlap says what happens when a run is due and an earlier one is still open; empty is
	// OverlapSkip.
	Overlap Overlap
	// CatchUpWindow is how late a run may begin, after an outage; 0 is a year. Runs that would
	// begin later are skipped.
	CatchUpWindow time.Duration
	// PauseOnFailure pauses the schedule when a run of it fails or times out.
	PauseOnFailure bool
	// Paused creates the schedule paused, and Note says why.
	Paused bool
	Note   string

	// WorkflowID is the prefix of the runs' workflow ids, before their moment; empty is the
	// schedule's id.
	WorkflowID string
	// RunTimeout is how long each run may stay open; 0 is for ever.
	RunTimeout time.Duration
	// Retry is as in StartOptions. The end of a run is that of its last attempt.
	Retry *Retry
	// Memo and SearchAttributes are those that each run starts with, as in StartOptions.
	Memo             []MemoField
	SearchAttributes []SearchAttribute
	// RequestID identifies the creation, or the change, when it is sent again. If it is empty, the
	// client creates one.
	RequestID string
}

// ScheduleDescription describes a schedule.
type ScheduleDescription = schema.ScheduleDescription

// ScheduledRun is a run that a schedule has started or will start.
type ScheduledRun = schema.ScheduledRun

// ScheduleSummary is a schedule in a list.
type ScheduleSummary = schema.ScheduleSummary

// schedule returns the schedule in the form that its workflow takes.
func (o ScheduleOptions) schedule(workflowType string, input history.Payload) stored.Schedule {
	moment := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	s := stored.Schedule{
		Spec: stored.Spec{
			Cron: o.Cron, TimeZone: o.TimeZone, StartAt: moment(o.StartAt), EndAt: moment(o.EndAt), Jitter: stored.Duration(o.Jitter),
		},
		Action: stored.Action{
			Type: workflowType, Input: json.RawMessage(input), WorkflowID: o.WorkflowID, RunTimeout: stored.Duration(o.RunTimeout),
			Retry: o.Retry.stored(), Memo: memo(o.Memo), SearchAttributes: attributes(o.SearchAttributes),
		},
		Overlap: stored.Overlap(o.Overlap), CatchUpWindow: stored.Duration(o.CatchUpWindow), PauseOnFailure: o.PauseOnFailure, Paused: o.Paused, Note: o.Note,
	}
	for _, e := range o.Every {
		s.Spec.Intervals = append(s.Spec.Intervals, stored.Interval{Every: stored.Duration(e.Interval), Offset: stored.Duration(e.Offset)})
	}
	return s
}

// Schedule is a schedule, by its id.
type Schedule struct {
	ID     string
	client *Client
}

// Schedule returns a handle of a schedule. It does not check whether the schedule exists.
func (c *Client) Schedule(id string) Schedule { return Schedule{id, c} }

func (s Schedule) workflowID() string { return stored.IDPrefix + s.ID }

// CreateSchedule creates a schedule that starts runs of a workflow type. The schedule is durable
// when CreateSchedule returns. It returns ErrAlreadyStarted if another schedule has the id.
func (c *Client) CreateSchedule(ctx context.Context, id, workflowType string, input history.Payload, o ScheduleOptions) (Schedule, error) {
	s := c.Schedule(id)
	if err := cmp.Or(s.check(), checkVisibility(o.Memo, o.SearchAttributes)); err != nil {
		return s, err
	}
	body := &scheduleBody{ScheduleID: id, Schedule: o.schedule(workflowType, input), RequestID: cmp.Or(o.RequestID, c.newID())}
	_, err := c.do(ctx, request{
		Request: Request{"start", s.workflowID(), stored.WorkflowType}, header: &body.Header,
		method: http.MethodPost, path: "/v1/schedules", body: body,
	})
	return s, err
}

// scheduleBody is a schema.CreateScheduleRequest. The schedule in it has the same JSON.
type scheduleBody struct {
	ScheduleID string          `json:"scheduleId"`
	Schedule   stored.Schedule `json:"schedule"`
	Header     history.Header  `json:"header,omitempty"`
	RequestID  string          `json:"requestId"`
}

// ask sends an update of a schedule, and waits for its outcome.
func (s Schedule) ask(ctx context.Context, name string, request any, id string) error {
	if err := s.check(); err != nil {
		return err
	}
	input, err := json.Marshal(request)
	if err == nil {
		_, err = s.client.Call(ctx, s.workflowID(), name, input, UpdateOptions{ID: cmp.Or(id, s.client.newID())})
	}
	return err
}

// Change replaces everything that the schedule was created with: its type, its moments and its
// policies. Open runs continue. A wrong change changes nothing, and AsRejected finds its error: its
// type does not exist, or does not take its input.
func (s Schedule) Change(ctx context.Context, workflowType string, input history.Payload, o ScheduleOptions) error {
	if err := checkVisibility(o.Memo, o.SearchAttributes); err != nil {
		return err
	}
	changed := o.schedule(workflowType, input)
	return s.ask(ctx, stored.UpdateChange, stored.Change{Schedule: &changed}, o.RequestID)
}

// Pause keeps the schedule from starting runs until Unpause. The note is for readers.
func (s Schedule) Pause(ctx context.Context, note string) error {
	return s.ask(ctx, stored.UpdatePause, stored.Note{Note: note}, "")
}

// Unpause lets the schedule start runs again, from now on. It skips those that were due meanwhile.
func (s Schedule) Unpause(ctx context.Context, note string) error {
	return s.ask(ctx, stored.UpdateUnpause, stored.Note{Note: note}, "")
}

// Trigger starts a run now, even if the schedule is paused. An empty policy is the schedule's.
func (s Schedule) Trigger(ctx context.Context, overlap Overlap) error {
	return s.ask(ctx, stored.UpdateTrigger, stored.Trigger{Overlap: stored.Overlap(overlap)}, "")
}

// Backfill starts the runs that were due from start to end, both included, at most a thousand, even
// if the schedule is paused. An empty policy is the schedule's: with OverlapSkip only the first is
// started.
func (s Schedule) Backfill(ctx context.Context, start, end time.Time, overlap Overlap) error {
	return s.ask(ctx, stored.UpdateBackfill, stored.Backfill{StartAt: start, EndAt: end, Overlap: stored.Overlap(overlap)}, "")
}

// Describe returns a description of the schedule. It writes nothing. It returns ErrNotFound if the
// schedule does not exist or was deleted.
func (s Schedule) Describe(ctx context.Context) (*ScheduleDescription, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	d := &ScheduleDescription{}
	_, err := s.client.do(ctx, request{
		Request: Request{"query", s.workflowID(), stored.QueryDescribe}, method: http.MethodGet, path: "/v1/schedules/" + url.PathEscape(s.ID), answer: d,
	})
	switch {
	case err != nil:
		return nil, err
	case d.ScheduleID == "":
		return nil, errForm("request for a description")
	}
	return d, nil
}

// Delete deletes the schedule. The runs that it has started continue. Those that it has buffered
// are not started.
func (s Schedule) Delete(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.client.Terminate(ctx, s.workflowID(), "", "the schedule was deleted")
}

// Schedules lists the schedules, a page at a time. An empty token is the beginning, and an empty
// next is the end. The list follows the log, and may be behind it.
func (c *Client) Schedules(ctx context.Context, token string) (page []ScheduleSummary, next string, err error) {
	q := runQuery("")
	q.Set("type", stored.WorkflowType)
	q.Set("status", history.Running.String())
	if token != "" {
		q.Set("pageToken", token)
	}
	var answer schema.ListResponse
	if _, err := c.do(ctx, request{Request: Request{"list", "", ""}, method: http.MethodGet, path: "/v1/workflows", query: q, answer: &answer}); err != nil {
		return nil, "", err
	}
	for _, w := range answer.Workflows {
		page = append(page, ScheduleSummary{ScheduleID: strings.TrimPrefix(w.WorkflowID, stored.IDPrefix), CreatedAt: w.StartedAt})
	}
	return page, answer.NextPageToken, nil
}
