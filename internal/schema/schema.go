// Package schema has the requests and the answers of the API in the form that they have in JSON.
// The handler, the client and the executor share it. It knows no HTTP: the handler chooses the
// status of an answer, and package problem has the answers to requests that are refused.
package schema

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// StartRequest starts a run.
type StartRequest struct {
	// WorkflowID is chosen by the caller; if absent, one is generated.
	WorkflowID *string         `json:"workflowId,omitempty"`
	Type       string          `json:"type"`
	Input      json.RawMessage `json:"input,omitempty"`
	// Header travels with the run to its activities, its children and the runs that follow it: at
	// most 4 KiB.
	Header history.Header `json:"header,omitempty"`
	// Memo and SearchAttributes are shown when the run is described or listed. Lists are filtered
	// by search attributes.
	Memo             history.Memo             `json:"memo,omitempty"`
	SearchAttributes history.SearchAttributes `json:"searchAttributes,omitempty"`
	// RequestID identifies the request if it is sent again; if absent, one is generated.
	RequestID string `json:"requestId,omitempty"`
	// IDReusePolicy says whether an id may be used again after its run closed: allowDuplicate (the
	// default), allowDuplicateFailedOnly or rejectDuplicate.
	IDReusePolicy string `json:"idReusePolicy,omitempty"`
	// IDConflictPolicy says what happens if a run of the id is open: fail (the default),
	// useExisting or terminateExisting.
	IDConflictPolicy string `json:"idConflictPolicy,omitempty"`
	// RunTimeout is how long the run may stay open, as "1h30m"; if absent, without limit.
	RunTimeout Duration `json:"runTimeout,omitempty"`
	// StartDelay is how long the first task waits, as "10m"; if absent, it does not wait. A signal,
	// an update or a cancellation ends the wait. The run timeout begins when the wait is over.
	StartDelay Duration `json:"startDelay,omitempty"`
	// Retry says when another run follows one that failed or timed out; if absent, never.
	Retry *RetryPolicy `json:"retryPolicy,omitempty"`
	// Cron says when the run begins and when the next one follows, whatever the outcome; if absent,
	// the run begins at once and none follows.
	Cron string `json:"cronSchedule,omitempty"`
	// ExecutionTimeout is how long all runs together may take, as "1h30m"; if absent, without
	// limit.
	ExecutionTimeout Duration `json:"executionTimeout,omitempty"`
	// Notify says who is notified when the run closes, or the last run that follows it: at most 4.
	// With useExisting, they are added to the open run.
	Notify []Notification `json:"notify,omitempty"`
}

// Notification is a receiver of the notification that a run has closed: a URL or the deployment's
// event bus.
type Notification struct {
	// URL gets a signed request: see docs/notifications.md.
	URL         string `json:"url,omitempty"`
	EventBridge bool   `json:"eventBridge,omitempty"`
	// Result sends the result too, or the text of the failure, in plain text.
	Result bool `json:"result,omitempty"`
}

// RetryOf returns the form that a retry policy has in a request.
func RetryOf(p history.RetryPolicy) *RetryPolicy {
	return &RetryPolicy{
		InitialInterval: Duration(p.InitialInterval), BackoffCoefficient: p.BackoffCoefficient, MaximumInterval: Duration(p.MaximumInterval),
		MaximumAttempts: p.MaximumAttempts, NonRetryableTypes: p.NonRetryableTypes,
	}
}

// History returns the form that the retry policy has in a history.
func (p *RetryPolicy) History() *history.RetryPolicy {
	if p == nil {
		return nil
	}
	return &history.RetryPolicy{
		InitialInterval: history.Duration(p.InitialInterval), BackoffCoefficient: p.BackoffCoefficient,
		MaximumInterval: history.Duration(p.MaximumInterval), MaximumAttempts: p.MaximumAttempts, NonRetryableTypes: p.NonRetryableTypes,
	}
}

// RetryPolicy says when a run that failed is followed by another. Absent fields have their
// defaults.
type RetryPolicy struct {
	InitialInterval    Duration `json:"initialInterval,omitempty"`
	BackoffCoefficient float64  `json:"backoffCoefficient,omitempty"`
	MaximumInterval    Duration `json:"maximumInterval,omitempty"`
	MaximumAttempts    int      `json:"maximumAttempts,omitempty"`
	NonRetryableTypes  []string `json:"nonRetryableErrorTypes,omitempty"`
}

// StartResponse names the run that a start opened or found.
type StartResponse struct {
	WorkflowID string        `json:"workflowId"`
	RunID      history.RunID `json:"runId"`
	// Outcome is how the run ended, or that it is still open after the wait; nil if the request did
	// not wait, or the run could not be read.
	Outcome *ResultResponse `json:"outcome,omitempty"`
	// Started says that this request opened the run. The status is then 201, and otherwise 200.
	Started bool `json:"-"`
}

// SignalRequest sends a signal.
type SignalRequest struct {
	Input     json.RawMessage `json:"input,omitempty"`
	RequestID string          `json:"requestId,omitempty"`
	// Start starts a run for the signal if none is open; if absent, the signal is refused then. Its
	// idConflictPolicy is useExisting (the default) or terminateExisting.
	Start *StartRequest `json:"start,omitempty"`
}

// SignalResponse names the run that a signal with a start went to; it is empty for one without.
type SignalResponse struct {
	RunID history.RunID `json:"runId,omitempty"`
	// Started says that this request opened the run.
	Started *bool `json:"started,omitempty"`
}

// QueryRequest asks a query.
type QueryRequest struct {
	Input json.RawMessage `json:"input,omitempty"`
}

// QueryResponse is a query's answer.
type QueryResponse struct {
	Result history.Payload `json:"result"`
	// Closed says that the run has closed. It is not part of the answer.
	Closed bool `json:"-"`
	// Status is that of the run. It is not part of the answer.
	Status history.Status `json:"-"`
}

// The stages of an update. An admitted update was copied by a reset, and no task of the new run has
// handled it yet.
const (
	StageAdmitted  = "admitted"
	StageAccepted  = "accepted"
	StageCompleted = "completed"
	StageRejected  = "rejected"
)

// UpdateRequest sends an update.
type UpdateRequest struct {
	// UpdateID identifies the update if it is sent again; if absent or empty, one is generated.
	UpdateID string          `json:"updateId,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	// WaitFor is the stage to wait for: accepted, or completed (the default).
	WaitFor string `json:"waitFor,omitempty"`
	// Timeout bounds the whole call: the wait behind other requests, the tries, and the wait for
	// the stage. It is at most 20 s, which is the default. With 0 the call does not wait: it tries
	// the update once, if nothing else is in progress for the workflow.
	Timeout *Duration `json:"timeout,omitempty"`
	// Start starts a run for the update if none is open, in the same put that accepts the update.
	// An update that the code refuses leaves the run started. One that the contract does not have
	// starts none. The idConflictPolicy is required.
	Start *StartRequest `json:"start,omitempty"`
}

// UpdateResponse is the stage that an update has reached and, if it is completed or rejected, its
// outcome.
type UpdateResponse struct {
	UpdateID string           `json:"updateId"`
	RunID    history.RunID    `json:"runId,omitempty"`
	Stage    string           `json:"stage"`
	Result   history.Payload  `json:"result,omitempty"`
	Failure  *failure.Failure `json:"failure,omitempty"`
	// At is the place in the request that is wrong, as in "input.quantity", and Known are the names
	// of updates that exist. They are set if the contract of the run's code does not have the
	// update.
	At    string   `json:"at,omitempty"`
	Known []string `json:"known,omitempty"`
	// Started says whether this request opened the run; only for an update with a start.
	Started *bool `json:"started,omitempty"`
	// RetryAfter is how long a caller who waits for the outcome pauses before it asks for it; 0 is
	// not at all.
	RetryAfter Duration `json:"retryAfter,omitempty"`
}

// CompleteActivityRequest ends an attempt at an activity with a result.
type CompleteActivityRequest struct {
	// Token names the attempt: the activity got it from activity.Token.
	Token  string          `json:"token"`
	Result json.RawMessage `json:"result,omitempty"`
}

// FailActivityRequest ends an attempt at an activity with an error.
type FailActivityRequest struct {
	Token string `json:"token"`
	// Type is the name by which errors.Is recognises the error; empty for an error without one.
	Type    string `json:"type,omitempty"`
	Message string `json:"message,omitempty"`
	// NonRetryable says that no further attempt follows.
	NonRetryable bool `json:"nonRetryable,omitempty"`
	// Details is the error's own data.
	Details json.RawMessage `json:"details,omitempty"`
}

// ActivityResponse answers a request that ends an attempt at an activity.
type ActivityResponse struct {
	// Repeated says that the same request ended the attempt before: nothing was written.
	Repeated bool `json:"repeated,omitempty"`
}

// HeartbeatActivityRequest reports that an attempt at an activity is alive.
type HeartbeatActivityRequest struct {
	Token string `json:"token"`
	// Details are given to the next attempt if this one fails.
	Details json.RawMessage `json:"details,omitempty"`
}

// HeartbeatResponse answers a heartbeat.
type HeartbeatResponse struct {
	// CancelRequested says that the workflow no longer waits for the activity. The caller should
	// end the activity, and report a failure.
	CancelRequested bool `json:"cancelRequested,omitempty"`
}

// EndRequest cancels or terminates a run.
type EndRequest struct {
	Reason string `json:"reason,omitempty"`
}

// FailUpdateRequest fails an accepted update.
type FailUpdateRequest struct {
	Reason string `json:"reason,omitempty"`
}

// ResetRequest resets a workflow: a new run continues from an earlier task of the latest run, which
// is terminated if it is open. One of EventID, To and Build names the task. It runs again.
type ResetRequest struct {
	// EventID is the id of one of the task's events.
	EventID int64 `json:"eventId,omitempty"`
	// To is firstTask or lastTask.
	To string `json:"to,omitempty"`
	// Build names the first task that ran under this build.
	Build string `json:"build,omitempty"`
	// Exclude lists what is left out of what followed the task: updates, signals, or both. The new
	// run gets the rest in its order; updates are validated and run again.
	Exclude []string `json:"exclude,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	// RequestID identifies the request if it is sent again; if absent, one is generated.
	RequestID string `json:"requestId,omitempty"`
}

// ResetResponse names the run that a reset opened.
type ResetResponse struct {
	WorkflowID string        `json:"workflowId"`
	RunID      history.RunID `json:"runId"`
}

// MoveRequest moves a run to another build: the one that receives the request, or the one that it
// names. That build first replays the run's history; if the replay fails, nothing is written.
type MoveRequest struct {
	// Build is the build that the run is then pinned to; if absent, the build that receives the
	// request.
	Build string `json:"build,omitempty"`
	// Unpin lets the newest build run it from then on; Build is then absent.
	Unpin bool `json:"unpin,omitempty"`
}

// MoveResponse says which build a run is pinned to.
type MoveResponse struct {
	RunID history.RunID `json:"runId"`
	// Build is absent if the newest build runs it.
	Build string `json:"build,omitempty"`
}

// ResultResponse is how a run ended, or that it is still open.
type ResultResponse struct {
	WorkflowID string           `json:"workflowId"`
	RunID      history.RunID    `json:"runId"`
	Status     history.Status   `json:"status"`
	Result     history.Payload  `json:"result,omitempty"`
	Failure    *failure.Failure `json:"failure,omitempty"`
	// NewRunID is the run that follows this one, if there is one: this run continued as new, is
	// retried, has a next run by its cron expression, or was reset while it was open.
	NewRunID history.RunID `json:"newRunId,omitempty"`
	// RetryAfter is how long a caller who waits pauses before it asks again; 0 is not at all.
	RetryAfter Duration `json:"retryAfter,omitempty"`
}

// WorkflowRun is what a list and a description have of a run.
type WorkflowRun struct {
	WorkflowID string         `json:"workflowId"`
	RunID      history.RunID  `json:"runId"`
	Type       string         `json:"type"`
	Status     history.Status `json:"status"`
	StartedAt  time.Time      `json:"startedAt"`
	ClosedAt   *time.Time     `json:"closedAt,omitempty"`
	// Build is the build that the run is pinned to; absent if the newest build runs it.
	Build string `json:"build,omitempty"`
	// Memo and SearchAttributes are the run's, as its code last changed them.
	Memo             history.Memo             `json:"memo,omitempty"`
	SearchAttributes history.SearchAttributes `json:"searchAttributes,omitempty"`
}

// ListResponse is a page of a list.
type ListResponse struct {
	Workflows     []WorkflowSummary `json:"workflows"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
	// Version changes with anything that the page shows.
	Version string `json:"version,omitempty"`
	// RetryAfter is how long a reader who waits pauses before the next request; 0 is not at all.
	RetryAfter Duration `json:"retryAfter,omitempty"`
}

// Description describes a run.
type Description struct {
	WorkflowRun
	// State says what the run does; absent if it has closed.
	State RunState `json:"state,omitempty"`
	// CloseReason says in a word why the run closed: the type of the error with which it failed,
	// runTimeout, executionTimeout, terminated, reset or replaced. It is absent if the run is open,
	// has completed, was canceled, or continued as new.
	CloseReason string `json:"closeReason,omitempty"`
	Chain
	HistoryLength     int64             `json:"historyLength"`
	HistoryBytes      int64             `json:"historySizeBytes"`
	CancelRequested   bool              `json:"cancelRequested,omitempty"`
	PendingActivities []PendingActivity `json:"pendingActivities"`
	PendingTimers     []PendingTimer    `json:"pendingTimers"`
	PendingChildren   []PendingChild    `json:"pendingChildren"`
	UpdatesInFlight   []UpdateInFlight  `json:"updatesInFlight"`
	// UnreadSignals counts by name the signals that the code has not received, and those that it
	// has set aside.
	UnreadSignals []UnreadSignal `json:"unreadSignals,omitempty"`
	// Notifications are those of the run's end that somebody asked for, at most 16.
	Notifications []DescribedNotification `json:"notifications,omitempty"`
	// Paused says since when, and why, the run is paused; absent if it is not.
	Paused *Paused `json:"paused,omitempty"`
	// StuckTask is a workflow task that fails and is retried, or the last task if that had only
	// updates and failed; absent if no task fails.
	StuckTask *StuckTask `json:"stuckTask,omitempty"`
	// Parent is the run that started it as its child; absent if it has none.
	Parent *history.Parent `json:"parent,omitempty"`
	// Cost is what the run has cost so far.
	Cost *Cost `json:"cost,omitempty"`
}

// PendingActivity is an activity that has not been resolved.
type PendingActivity struct {
	EventID         int64            `json:"eventId"`
	Type            string           `json:"type"`
	ScheduledAt     time.Time        `json:"scheduledAt"`
	Attempt         int              `json:"attempt"`
	LastFailure     *failure.Failure `json:"lastFailure,omitempty"`
	NextAttemptAt   *time.Time       `json:"nextAttemptAt,omitempty"`
	CancelRequested bool             `json:"cancelRequested,omitempty"`
	// PendingUntil is the deadline of an attempt that goes on outside after its function has
	// returned; absent if there is no such attempt.
	PendingUntil *time.Time `json:"pendingUntil,omitempty"`
	// Held says why the next attempt cannot begin under the current deployment; empty if nothing
	// holds it.
	Held string `json:"held,omitempty"`
	// TaskQueue is the queue of its attempts; absent for the default queue.
	TaskQueue string `json:"taskQueue,omitempty"`
	// FirstFailedAt is when the first attempt failed; absent if none has, or if a version of Weft
	// that did not record it made the attempt.
	FirstFailedAt *time.Time `json:"firstFailedAt,omitempty"`
	// Retryable says that an attempt has failed, that none goes on outside, and that the run is not
	// paused: the next attempt can be made at once.
	Retryable bool `json:"retryable,omitempty"`
}

// PendingTimer is a timer that has not fired.
type PendingTimer struct {
	EventID int64     `json:"eventId"`
	FireAt  time.Time `json:"fireAt"`
}

// PendingChild is a child workflow whose outcome has not arrived.
type PendingChild struct {
	EventID    int64  `json:"eventId"`
	Type       string `json:"type"`
	WorkflowID string `json:"workflowId"`
	// RunID is its first run; absent until its start is recorded.
	RunID             history.RunID             `json:"runId,omitempty"`
	ParentClosePolicy history.ParentClosePolicy `json:"parentClosePolicy"`
	InitiatedAt       time.Time                 `json:"initiatedAt"`
	// CancelRequested says that the code has asked it to end.
	CancelRequested bool `json:"cancelRequested,omitempty"`
	// Status is that of the latest run of its workflow id. It is absent if the request does not ask
	// for it, or if there is no run yet. State is stuck, paused, delayed or runnable, or absent if
	// the run is in another state: that would take more than one read.
	Status *history.Status `json:"status,omitempty"`
	State  RunState        `json:"state,omitempty"`
}

// UpdateInFlight is an update that was accepted and has not completed.
type UpdateInFlight struct {
	UpdateID        string `json:"updateId"`
	Name            string `json:"name"`
	AcceptedEventID int64  `json:"acceptedEventId"`
}

// UnreadSignal counts the signals of one name that have not reached a run's code.
type UnreadSignal struct {
	Name string `json:"name"`
	// Count is how many wait to be received, and Since when the first of them arrived.
	Count int        `json:"count"`
	Since *time.Time `json:"since,omitempty"`
	// SetAside is how many the code has set aside because their values did not decode.
	SetAside int `json:"setAside,omitempty"`
	// SetAsideEvents are the ids of the events of the latest of them that are known, at most ten.
	// The history has their values.
	SetAsideEvents []int64 `json:"setAsideEvents,omitempty"`
}

// StuckTask is a workflow task that fails and is tried again, or one that had only updates.
type StuckTask struct {
	// Speculative says that the run refuses updates because its code fails, and otherwise waits as
	// before. Nothing retries such a task: each further update is tried. Failures leaves out those
	// that failed in the same way as the one before.
	Speculative bool             `json:"speculative,omitempty"`
	Attempt     int              `json:"attempt"`
	Build       string           `json:"build,omitempty"`
	Failure     *failure.Failure `json:"failure"`
	// UpdateID is the accepted update whose handler makes the task fail; absent if none does. The
	// update alone can be failed.
	UpdateID string `json:"updateId,omitempty"`
	// NextAttemptAt is when it is retried; absent if that is not known yet.
	NextAttemptAt *time.Time `json:"nextAttemptAt,omitempty"`
	// Since is when the first task failed since the last one that did not, and Failures how many
	// attempts have failed since then. FirstFailure is why the first of them failed, and Place the
	// first line of the author's code in its stack, as order/order.go:41.
	Since        time.Time        `json:"since"`
	Failures     int              `json:"failures"`
	FirstFailure *failure.Failure `json:"firstFailure"`
	Place        string           `json:"place,omitempty"`
}

// Chain is what a run says about the runs before and after it.
type Chain struct {
	// FirstRunID is the first run of its chain; absent if that is this run.
	FirstRunID history.RunID `json:"firstRunId,omitempty"`
	// ContinuedFromRunID is the run that it continues, and NewRunID the run that continues it.
	ContinuedFromRunID history.RunID `json:"continuedFromRunId,omitempty"`
	NewRunID           history.RunID `json:"newRunId,omitempty"`
	// ResetFromRunID is the run of which a reset has copied the beginning.
	ResetFromRunID history.RunID `json:"resetFromRunId,omitempty"`
	// Attempt counts the runs of a retry policy; absent for the first.
	Attempt int `json:"attempt,omitempty"`
	// CronSchedule is the cron expression by which the runs of the chain follow each other.
	CronSchedule string `json:"cronSchedule,omitempty"`
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
