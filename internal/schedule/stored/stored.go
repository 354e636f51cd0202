// Package stored has the forms in which schedules are stored: the input of the workflow of a
// schedule, and the inputs and results of its updates and queries. A history keeps them, so they
// outlive the version of Weft that wrote them, and the HTTP API may change without them. Package
// httpapi converts between its own structs and these.
package stored

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// A schedule is one of Weft's own workflows. WorkflowType is its type. Its id is IDPrefix followed
// by the schedule's id.
const (
	WorkflowType = "weft.schedule"
	IDPrefix     = "weft.schedule:"
)

// The updates and the queries of a schedule.
const (
	UpdatePause     = "weft.pause"
	UpdateUnpause   = "weft.unpause"
	UpdateTrigger   = "weft.trigger"
	UpdateBackfill  = "weft.backfill"
	UpdateChange    = "weft.update"
	QueryDescribe   = "weft.describe"
	QueryDescribeAt = "weft.describeAt"
)

// Overlap says what happens at a moment if an earlier run of the schedule is still open.
type Overlap string

// The overlap policies. The first is the default.
const (
	OverlapSkip      Overlap = "skip"
	OverlapBufferOne Overlap = "bufferOne"
	OverlapBufferAll Overlap = "bufferAll"
	OverlapAllowAll  Overlap = "allowAll"
	OverlapCancel    Overlap = "cancelOther"
	OverlapTerminate Overlap = "terminateOther"
)

// Schedule starts a workflow at certain moments.
type Schedule struct {
	Spec   Spec   `json:"spec"`
	Action Action `json:"action"`
	// Overlap says what happens while a run is still open; empty skips the new one.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
	// CatchUpWindow is how late a run may begin, after an outage; 0 is a year.
	CatchUpWindow Duration `json:"catchUpWindow,omitempty"`
	// PauseOnFailure pauses the schedule when one of its runs fails or times out.
	PauseOnFailure bool `json:"pauseOnFailure,omitempty"`
	// Paused keeps the schedule from starting runs, except those that are triggered or backfilled.
	// Note says why.
	Paused bool   `json:"paused,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Spec says which moments a schedule has: those of all of its expressions and intervals.
type Spec struct {
	// Cron lists cron expressions. They are in the time zone unless they begin with one of their
	// own.
	Cron []string `json:"cron,omitempty"`
	// Intervals are moments at equal distances.
	Intervals []Interval `json:"intervals,omitempty"`
	// TimeZone is a name of the IANA database; empty is UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// StartAt and EndAt bound the moments, both included; nil does not.
	StartAt *time.Time `json:"startAt,omitempty"`
	EndAt   *time.Time `json:"endAt,omitempty"`
	// Jitter delays each moment by up to this much, and not beyond the next.
	Jitter Duration `json:"jitter,omitempty"`
}

// Interval has a moment each Every since 1970, delayed by Offset.
type Interval struct {
	Every  Duration `json:"every"`
	Offset Duration `json:"offset,omitempty"`
}

// Action is the workflow that a schedule starts. Each run's workflow id is the workflow id and the
// moment of the run.
type Action struct {
	Type  string          `json:"type"`
	Input json.RawMessage `json:"input,omitempty"`
	// WorkflowID is what the ids of the runs begin with; empty is the schedule's id.
	WorkflowID string `json:"workflowId,omitempty"`
	// RunTimeout is how long a run may stay open; 0 is without limit.
	RunTimeout Duration `json:"runTimeout,omitempty"`
	// Retry says when another run follows one that failed; nil is never.
	Retry *Retry `json:"retryPolicy,omitempty"`
	// Memo and SearchAttributes are those of each run at its start.
	Memo             history.Memo             `json:"memo,omitempty"`
	SearchAttributes history.SearchAttributes `json:"searchAttributes,omitempty"`
}

// Retry says when a run that failed is followed by another. A field that is zero has its default.
type Retry struct {
	InitialInterval    Duration `json:"initialInterval,omitempty"`
	BackoffCoefficient float64  `json:"backoffCoefficient,omitempty"`
	MaximumInterval    Duration `json:"maximumInterval,omitempty"`
	MaximumAttempts    int      `json:"maximumAttempts,omitempty"`
	NonRetryableTypes  []string `json:"nonRetryableErrorTypes,omitempty"`
}

// RetryOf returns the form that the retry policy of a run's start event has in a schedule.
func RetryOf(p history.RetryPolicy) *Retry {
	return &Retry{
		InitialInterval: Duration(p.InitialInterval), BackoffCoefficient: p.BackoffCoefficient, MaximumInterval: Duration(p.MaximumInterval),
		MaximumAttempts: p.MaximumAttempts, NonRetryableTypes: p.NonRetryableTypes,
	}
}

// Policy returns the form that the retry policy has in a run's start event.
func (r *Retry) Policy() history.RetryPolicy {
	return history.RetryPolicy{
		InitialInterval: history.Duration(r.InitialInterval), BackoffCoefficient: r.BackoffCoefficient,
		MaximumInterval: history.Duration(r.MaximumInterval), MaximumAttempts: r.MaximumAttempts, NonRetryableTypes: r.NonRetryableTypes,
	}
}

// Input is the input of the workflow of a schedule.
type Input struct {
	ID       string   `json:"id"`
	Schedule Schedule `json:"schedule"`
}

// Note is the input of the updates that pause and resume a schedule.
type Note struct {
	Note string `json:"note,omitempty"`
}

// Change is the input of the update that replaces a schedule's moments, action or policies.
type Change struct {
	Schedule *Schedule `json:"schedule"`
}

// Trigger is the input of the update that starts a run now.
type Trigger struct {
	// Overlap replaces the schedule's policy; empty does not.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
}

// Backfill is the input of the update that starts the runs of moments that have passed.
type Backfill struct {
	// StartAt and EndAt bound the moments, both included.
	StartAt time.Time `json:"startAt"`
	EndAt   time.Time `json:"endAt"`
	// Overlap replaces the schedule's policy; empty does not.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
}

// Describe is the input of the query QueryDescribeAt.
type Describe struct {
	// Now is the time of the query: the next moments are those after it. A query has no clock:
	// QueryDescribe returns the moments after the last time at which the schedule did something.
	Now time.Time `json:"now"`
}

// Description describes a schedule: it is the result of both queries.
type Description struct {
	ScheduleID string   `json:"scheduleId"`
	Schedule   Schedule `json:"schedule"`
	// NextAt are the next moments, without their jitter; none while the schedule is paused or after
	// it has ended.
	NextAt []time.Time `json:"nextAt"`
	// Running are the open runs whose end the schedule waits for, and Buffered the runs that begin
	// after them.
	Running  []Run `json:"running"`
	Buffered []Run `json:"buffered"`
	// Recent are the last ten runs that were started, the latest last.
	Recent []Run `json:"recent"`
	// Started counts the runs that were started, Skipped those that the overlap policy left out,
	// and Missed those that were too late for the catch-up window.
	Started int `json:"started"`
	Skipped int `json:"skipped"`
	Missed  int `json:"missed"`
}

// Run is a run that a schedule has started, or will.
type Run struct {
	// At is the run's moment, and StartedAt when it was started; nil if the run is buffered.
	At        time.Time  `json:"at"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	// WorkflowID is its workflow's id.
	WorkflowID string `json:"workflowId,omitempty"`
	// Status is how the run ended, or running. It is failed if the run could not be started, and
	// empty if the run is buffered.
	Status  string           `json:"status,omitempty"`
	Failure *failure.Failure `json:"failure,omitempty"`
	// Overlap is the policy that the run was requested with.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
}

// Duration is a time.Duration that JSON writes as "1m30s".
type Duration time.Duration

// MarshalText writes the form that time.ParseDuration reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalJSON reads a string that time.ParseDuration reads.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	err := json.Unmarshal(data, &text)
	parsed, bad := time.ParseDuration(text)
	if err != nil || bad != nil {
		return fmt.Errorf("%s is not a duration: give for example \"1h30m\"", data)
	}
	*d = Duration(parsed)
	return nil
}
