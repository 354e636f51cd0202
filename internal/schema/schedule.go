package schema

import (
	"encoding/json"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
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
	Spec   ScheduleSpec   `json:"spec"`
	Action ScheduleAction `json:"action"`
	// Overlap says what happens while a run is still open; if absent, the new run is skipped.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
	// CatchUpWindow is how late a run may begin, after an outage; if absent, a year.
	CatchUpWindow Duration `json:"catchUpWindow,omitempty"`
	// PauseOnFailure pauses the schedule when one of its runs fails or times out.
	PauseOnFailure bool `json:"pauseOnFailure,omitempty"`
	// Paused keeps the schedule from starting runs, except those that are triggered or backfilled;
	// Note says why.
	Paused bool   `json:"paused,omitempty"`
	Note   string `json:"note,omitempty"`
}

// ScheduleSpec says which moments a schedule has: those of all of its expressions and intervals.
type ScheduleSpec struct {
	// Cron lists cron expressions. They are in the time zone unless they begin with one of their
	// own.
	Cron []string `json:"cron,omitempty"`
	// Intervals are moments at equal distances.
	Intervals []ScheduleInterval `json:"intervals,omitempty"`
	// TimeZone is a name of the IANA database; if absent, UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// StartAt and EndAt bound the moments, both included; if absent, they do not.
	StartAt *time.Time `json:"startAt,omitempty"`
	EndAt   *time.Time `json:"endAt,omitempty"`
	// Jitter delays each moment by up to this much, but not beyond the next.
	Jitter Duration `json:"jitter,omitempty"`
}

// ScheduleInterval has a moment each Every since 1970, shifted by Offset.
type ScheduleInterval struct {
	Every  Duration `json:"every"`
	Offset Duration `json:"offset,omitempty"`
}

// ScheduleAction is the workflow that a schedule starts. Each run's workflow id is the workflow id
// and the moment of the run.
type ScheduleAction struct {
	Type  string          `json:"type"`
	Input json.RawMessage `json:"input,omitempty"`
	// WorkflowID is what the ids of the runs begin with; if absent, the schedule's id.
	WorkflowID string `json:"workflowId,omitempty"`
	// RunTimeout is how long a run may stay open; if absent, without limit.
	RunTimeout Duration `json:"runTimeout,omitempty"`
	// Retry says when another run follows one that failed; if absent, never. The scheduled run ends
	// when the last one does.
	Retry *RetryPolicy `json:"retryPolicy,omitempty"`
	// Memo and SearchAttributes are those of each run at its start.
	Memo             history.Memo             `json:"memo,omitempty"`
	SearchAttributes history.SearchAttributes `json:"searchAttributes,omitempty"`
}

// CreateScheduleRequest creates a schedule.
type CreateScheduleRequest struct {
	ScheduleID string    `json:"scheduleId"`
	Schedule   *Schedule `json:"schedule"`
	// Header travels with the runs of the schedule, as that of a start does.
	Header history.Header `json:"header,omitempty"`
	// RequestID identifies the request if it is sent again; if absent, one is generated.
	RequestID string `json:"requestId,omitempty"`
}

// CreateScheduleResponse says that the schedule exists.
type CreateScheduleResponse struct {
	ScheduleID string `json:"scheduleId"`
}

// ScheduleListResponse is a page of the list of schedules.
type ScheduleListResponse struct {
	Schedules     []ScheduleSummary `json:"schedules"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

// ScheduleNote pauses or resumes a schedule.
type ScheduleNote struct {
	Note string `json:"note,omitempty"`
	// RequestID identifies the HTTP request if it is sent again; if absent, one is generated. The
	// schedule does not see it.
	RequestID string `json:"requestId,omitempty"`
}

// UpdateScheduleRequest replaces a schedule's moments, action or policies.
type UpdateScheduleRequest struct {
	Schedule *Schedule `json:"schedule"`
	// RequestID identifies the HTTP request if it is sent again; if absent, one is generated. The
	// schedule does not see it.
	RequestID string `json:"requestId,omitempty"`
}

// TriggerScheduleRequest starts a run now, even if the schedule is paused.
type TriggerScheduleRequest struct {
	// Overlap replaces the schedule's policy; if absent, that one applies.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
	// RequestID identifies the HTTP request if it is sent again; if absent, one is generated. The
	// schedule does not see it.
	RequestID string `json:"requestId,omitempty"`
}

// BackfillScheduleRequest starts the runs of moments that have passed, or that the schedule did not
// have then.
type BackfillScheduleRequest struct {
	// StartAt and EndAt bound the moments, both included.
	StartAt time.Time `json:"startAt"`
	EndAt   time.Time `json:"endAt"`
	// Overlap replaces the schedule's policy; if absent, that one applies.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
	// RequestID identifies the HTTP request if it is sent again; if absent, one is generated. The
	// schedule does not see it.
	RequestID string `json:"requestId,omitempty"`
}

// ScheduleDescription describes a schedule.
type ScheduleDescription struct {
	ScheduleID string   `json:"scheduleId"`
	Schedule   Schedule `json:"schedule"`
	// NextAt are the next ten moments, without their jitter; none while the schedule is paused or
	// after it has ended.
	NextAt []time.Time `json:"nextAt"`
	// Running are the open runs whose end the schedule waits for, and Buffered the runs that begin
	// after them.
	Running  []ScheduledRun `json:"running"`
	Buffered []ScheduledRun `json:"buffered"`
	// Recent are the last ten runs that were started, the latest last.
	Recent []ScheduledRun `json:"recent"`
	// Started counts the runs that were started, Skipped those that the overlap policy left out,
	// and Missed those that were too late for the catch-up window.
	Started int `json:"started"`
	Skipped int `json:"skipped"`
	Missed  int `json:"missed"`
}

// ScheduledRun is a run that a schedule has started, or will.
type ScheduledRun struct {
	// At is the run's moment, and StartedAt when it was started; absent if the run is buffered.
	At        time.Time  `json:"at"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	// WorkflowID is its workflow's id.
	WorkflowID string `json:"workflowId,omitempty"`
	// Status is how the run ended, or running. It is failed if the run could not be started, and
	// absent if the run is buffered.
	Status  string           `json:"status,omitempty"`
	Failure *failure.Failure `json:"failure,omitempty"`
	// Overlap is the policy that the run was requested with.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
}

// ScheduleSummary is a schedule in a list.
type ScheduleSummary struct {
	ScheduleID string    `json:"scheduleId"`
	CreatedAt  time.Time `json:"createdAt"`
}
