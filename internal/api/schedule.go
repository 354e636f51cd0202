package api

import (
	"encoding/json"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Overlap says what happens at a moment at which a run that the schedule has started is still open.
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
	// Overlap says what happens while a run is still open; absent, the new one is skipped.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
	// CatchUpWindow is how late a run may begin, after an outage; absent, a year.
	CatchUpWindow Duration `json:"catchUpWindow,omitempty"`
	// PauseOnFailure pauses the schedule when a run of it does not end well.
	PauseOnFailure bool `json:"pauseOnFailure,omitempty"`
	// Paused keeps the schedule from starting runs, but for those that are triggered or backfilled;
	// Note says why.
	Paused bool   `json:"paused,omitempty"`
	Note   string `json:"note,omitempty"`
}

// ScheduleSpec says which moments a schedule has: those of all of its expressions and intervals.
type ScheduleSpec struct {
	// Cron are cron expressions, in the time zone unless they begin with one of their own.
	Cron []string `json:"cron,omitempty"`
	// Intervals are moments at the same distance.
	Intervals []ScheduleInterval `json:"intervals,omitempty"`
	// TimeZone is a name of the IANA database; absent, UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// StartAt and EndAt bound the moments, both included; absent, they do not.
	StartAt *time.Time `json:"startAt,omitempty"`
	EndAt   *time.Time `json:"endAt,omitempty"`
	// Jitter puts each moment off by up to this much, and not beyond the next.
	Jitter Duration `json:"jitter,omitempty"`
}

// ScheduleInterval has a moment each Every since 1970, put off by Offset.
type ScheduleInterval struct {
	Every  Duration `json:"every"`
	Offset Duration `json:"offset,omitempty"`
}

// ScheduleAction is the workflow that a schedule starts. Each run has the workflow id and its
// moment as its own id.
type ScheduleAction struct {
	Type  string          `json:"type"`
	Input json.RawMessage `json:"input,omitempty"`
	// WorkflowID is what the ids of the runs begin with; absent, the schedule's id.
	WorkflowID string `json:"workflowId,omitempty"`
	// RunTimeout is how long a run may stay open; absent, for ever.
	RunTimeout Duration `json:"runTimeout,omitempty"`
	// Retry says when another run follows one that failed; absent, never. The end of the run is
	// that of the last one.
	Retry *RetryPolicy `json:"retryPolicy,omitempty"`
	// Memo and SearchAttributes are what each run begins with.
	Memo             history.Memo             `json:"memo,omitempty"`
	SearchAttributes history.SearchAttributes `json:"searchAttributes,omitempty"`
}

// CreateScheduleRequest creates a schedule.
type CreateScheduleRequest struct {
	ScheduleID string    `json:"scheduleId"`
	Schedule   *Schedule `json:"schedule"`
	// RequestID recognises the request when it is sent again; absent, one is made.
	RequestID string `json:"requestId,omitempty"`
}

// CreateScheduleResponse says that there is the schedule.
type CreateScheduleResponse struct {
	ScheduleID string `json:"scheduleId"`
}

// ScheduleListResponse is a page of the list of schedules.
type ScheduleListResponse struct {
	Schedules     []ScheduleSummary `json:"schedules"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

// ScheduleNote pauses a schedule, or ends that.
type ScheduleNote struct {
	Note string `json:"note,omitempty"`
	// RequestID recognises the request over HTTP when it is sent again; absent, one is made. The
	// schedule does not see it.
	RequestID string `json:"requestId,omitempty"`
}

// UpdateScheduleRequest gives a schedule other moments, another action or other policies.
type UpdateScheduleRequest struct {
	Schedule *Schedule `json:"schedule"`
	// RequestID recognises the request over HTTP when it is sent again; absent, one is made. The
	// schedule does not see it.
	RequestID string `json:"requestId,omitempty"`
}

// TriggerScheduleRequest starts a run now, also of a schedule that is paused.
type TriggerScheduleRequest struct {
	// Overlap takes the place of the schedule's policy; absent, it is that.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
	// RequestID recognises the request over HTTP when it is sent again; absent, one is made. The
	// schedule does not see it.
	RequestID string `json:"requestId,omitempty"`
}

// BackfillScheduleRequest starts the runs of moments that have passed, or that the schedule did not
// have then.
type BackfillScheduleRequest struct {
	// StartAt and EndAt bound the moments, both included.
	StartAt time.Time `json:"startAt"`
	EndAt   time.Time `json:"endAt"`
	// Overlap takes the place of the schedule's policy; absent, it is that.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
	// RequestID recognises the request over HTTP when it is sent again; absent, one is made. The
	// schedule does not see it.
	RequestID string `json:"requestId,omitempty"`
}

// ScheduleDescription is what is known of a schedule.
type ScheduleDescription struct {
	ScheduleID string   `json:"scheduleId"`
	Schedule   Schedule `json:"schedule"`
	// NextAt are the next moments, without their jitter; none while it is paused or has come to its
	// end.
	NextAt []time.Time `json:"nextAt"`
	// Running are the runs that are open, as far as the schedule waits for their end, and Buffered
	// those that wait for that.
	Running  []ScheduledRun `json:"running"`
	Buffered []ScheduledRun `json:"buffered"`
	// Recent are the last ten runs that were started, the last one last.
	Recent []ScheduledRun `json:"recent"`
	// Started counts the runs that were started, Skipped what the overlap policy has left out, and
	// Missed what was too late for the catch-up window.
	Started int `json:"started"`
	Skipped int `json:"skipped"`
	Missed  int `json:"missed"`
}

// ScheduledRun is a run that a schedule has started, or will.
type ScheduledRun struct {
	// At is the moment that it is of, and StartedAt when it was started; absent in one that is
	// buffered.
	At        time.Time  `json:"at"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	// WorkflowID is its workflow's id.
	WorkflowID string `json:"workflowId,omitempty"`
	// Status is how it ended, or running; it is failed, too, where it could not be started, and
	// absent where it is buffered.
	Status  string           `json:"status,omitempty"`
	Failure *failure.Failure `json:"failure,omitempty"`
	// Overlap is the policy that it came with.
	Overlap Overlap `json:"overlapPolicy,omitempty"`
}

// ScheduleSummary is a schedule in a list.
type ScheduleSummary struct {
	ScheduleID string    `json:"scheduleId"`
	CreatedAt  time.Time `json:"createdAt"`
}
