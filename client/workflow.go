package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// StartOptions tunes a start. The zero value is the default.
type StartOptions struct {
	// RequestID identifies the start when it is sent again. If it is empty, the client creates one.
	RequestID string
	// IDReusePolicy says whether the id of a closed run may be used again: "allowDuplicate" (the
	// default), "allowDuplicateFailedOnly" or "rejectDuplicate".
	IDReusePolicy string
	// IDConflictPolicy says what happens if a run of the id is open: "fail" (the default),
	// "useExisting" or "terminateExisting", which cannot be combined with "rejectDuplicate".
	IDConflictPolicy string
	// RunTimeout is how long the run may stay open; 0 is for ever.
	RunTimeout time.Duration
	// StartDelay delays the first task, unless a signal, an update or a cancellation arrives
	// earlier; 0 is no delay. The run timeout begins after it.
	StartDelay time.Duration
	// Retry says whether another run with the same input follows one that failed or took longer
	// than its run timeout; nil is never. A wait for the result waits for the last of them. Code
	// reads the number of its attempt from workflow.InfoOf, and the failure of the attempt before
	// from workflow.LastFailure.
	Retry *Retry
	// Cron says when the run begins, and when another run follows after its end, whether it
	// succeeded or not. It is "30 9 * * 1-5" (minute, hour, day of the month, month, day of the
	// week), "@hourly", or "@every 90m", in UTC unless it begins with a time zone, as in
	// "CRON_TZ=Europe/Berlin 30 9 * * *".
	//
	// Runs never overlap: a moment that passes while a run is open is skipped. Code reads the last
	// result with workflow.LastResult. Canceling or terminating a run ends the chain.
	Cron string
	// ExecutionTimeout is how long the workflow may take, all its runs together: those that
	// continue as new, are retried, or follow by a cron expression. It begins after the start
	// delay; 0 is for ever.
	ExecutionTimeout time.Duration
	// Memo is shown when the run is described or listed. workflow.Memo.Set returns its fields. It
	// has at most 4 KiB and 32 fields. It is encoded as payloads are.
	Memo []MemoField
	// SearchAttributes are what the run is found by. workflow.Attribute.Set returns them. They are
	// at most 32 and 2 KiB, and are never encrypted.
	SearchAttributes []SearchAttribute
	// Notify says who is notified when the workflow has ended: at most 4. If another run continues
	// the first one, after a continue-as-new or a failure that is retried, the last run notifies.
	// Each run of a Cron expression does. With the IDConflictPolicy useExisting, they are added to
	// the open run, which has at most 16.
	Notify []Notification
}

// Start is the run that an update or a signal starts if no open run takes it.
type Start struct {
	Type    string
	Input   history.Payload
	Options StartOptions
	// Err is why the input could not be encoded: the request is not sent then.
	Err error
}

// opening returns the start in a request. It uses policy if the start has none.
func (c *Client) opening(s *Start, policy string) *schema.StartRequest {
	if s == nil {
		return nil
	}
	r := c.startRequest(s.Type, s.Input, s.Options)
	r.IDConflictPolicy = cmp.Or(r.IDConflictPolicy, policy)
	return r
}

func (s *Start) err() error {
	if s == nil {
		return nil
	}
	return cmp.Or(s.Err, s.Options.err())
}

func (c *Client) startRequest(workflowType string, input history.Payload, o StartOptions) *schema.StartRequest {
	return &schema.StartRequest{
		Type: workflowType, Input: json.RawMessage(input), RequestID: cmp.Or(o.RequestID, c.newID()),
		IDReusePolicy: o.IDReusePolicy, IDConflictPolicy: o.IDConflictPolicy, RunTimeout: schema.Duration(o.RunTimeout),
		StartDelay: schema.Duration(o.StartDelay), Retry: o.Retry.request(), Cron: o.Cron, ExecutionTimeout: schema.Duration(o.ExecutionTimeout),
		Memo: memo(o.Memo), SearchAttributes: attributes(o.SearchAttributes), Notify: o.Notify,
	}
}

// Start starts a run of a workflow type and returns the run's id. The run is durable when Start
// returns. If the workflow id is empty, the server chooses one and Start returns it.
func (c *Client) Start(ctx context.Context, workflowID, workflowType string, input history.Payload, o StartOptions) (id string, runID history.RunID, err error) {
	answer, err := c.start(ctx, workflowID, workflowType, input, o, request{})
	return answer.WorkflowID, answer.RunID, err
}

// start is Start, with the query, bound and unsure of req.
func (c *Client) start(ctx context.Context, workflowID, workflowType string, input history.Payload, o StartOptions, req request) (answer schema.StartResponse, err error) {
	if err := o.err(); err != nil {
		return answer, err
	}
	r := c.startRequest(workflowType, input, o)
	if workflowID != "" {
		r.WorkflowID = &workflowID
	}
	_, err = c.do(ctx, request{
		Request: Request{"start", workflowID, workflowType}, header: &r.Header,
		method: http.MethodPost, path: "/v1/workflows", query: req.query, bound: req.bound, unsure: req.unsure, body: r, answer: &answer,
	})
	if err == nil && answer.RunID == "" {
		err = errForm("start")
	}
	return answer, err
}

// Run starts a run of a workflow type and waits until it has closed. It returns the run's result,
// or its failure as an error. It is one request if the run ends while the server holds it: within
// 20 s on a local server. After that it asks again, less and less often.
//
// A second Run under the id of a closed run starts another run, unless IDReusePolicy forbids it. If
// a run of the id is open, Run returns ErrAlreadyStarted. With the IDConflictPolicy "useExisting",
// Run waits for that run instead; with "terminateExisting", it replaces it.
//
// If the context ends before the run has closed, the run continues. The error then says whether the
// run was started, and its ids, if the client knows them. Result waits for it again. See Start and
// Result.
func (c *Client) Run(ctx context.Context, workflowID, workflowType string, input history.Payload, o StartOptions) (history.Payload, error) {
	q, unsure := url.Values{}, false
	w := c.waiter(q)
	answer, err := c.start(ctx, workflowID, workflowType, input, o, request{query: q, bound: w.bound, unsure: &unsure})
	var lost *lostAnswer
	switch {
	case err != nil && ctx.Err() != nil && (unsure || errors.As(err, &lost) || errors.Is(err, refusal.OutcomeUnknown)):
		return nil, fmt.Errorf("weft: it is not known whether the run was started: %w", err)
	case err != nil:
		return nil, err
	}
	runID, closed := answer.RunID, false
	var result history.Payload
	if ended := answer.Outcome; ended != nil {
		switch {
		case ended.NewRunID != "": // the result is the next run's
			runID = ended.NewRunID
		case ended.Status.Closed():
			return ended.Result, ended.Failure.Err()
		case ended.RetryAfter > 0:
			err = w.pause(ctx, ended.RetryAfter)
		}
	}
	if err == nil {
		q.Set("runId", string(runID))
		result, closed, err = c.result(ctx, answer.WorkflowID, q, w)
	}
	if !closed && ctx.Err() != nil {
		err = fmt.Errorf("weft: workflow %q is started (run %s), and was open when the server last answered: %w", answer.WorkflowID, runID, err)
	}
	return result, err
}

// errForm returns an error for a JSON response that does not answer the request: something between
// client and server wrote it.
func errForm(what string) error {
	return &notWeft{fmt.Errorf("weft: this is not the answer to a %s", what)}
}

// SignalOptions tunes a signal. The zero value is the default.
type SignalOptions struct {
	// RequestID identifies the signal when it is sent again. If it is empty, the client creates
	// one.
	RequestID string
	// RunID pins a run; empty is the latest.
	RunID string
	// Start starts a run for the signal if none is open. Its IDConflictPolicy is "useExisting",
	// unless it is "terminateExisting".
	Start *Start
}

// Signal sends a signal. The signal is durable when Signal returns.
func (c *Client) Signal(ctx context.Context, workflowID, name string, input history.Payload, o SignalOptions) error {
	if err := o.Start.err(); err != nil {
		return err
	}
	start := c.opening(o.Start, "")
	_, err := c.do(ctx, request{
		Request: Request{"signal", workflowID, name}, header: headerOf(start),
		method: http.MethodPost, path: path(workflowID, "signals", url.PathEscape(name)), query: runQuery(o.RunID),
		body: schema.SignalRequest{Input: json.RawMessage(input), RequestID: cmp.Or(o.RequestID, c.newID()), Start: start},
	})
	return err
}

// Query sends a query to the latest run, or to the run with runID, which may be closed. Nothing is
// written. A paused run answers from before its pause. Query returns ErrPaused if no task of a
// paused run has succeeded: its code has set no handlers.
func (c *Client) Query(ctx context.Context, workflowID, runID, name string, input history.Payload) (history.Payload, error) {
	var answer schema.QueryResponse
	_, err := c.do(ctx, request{
		Request: Request{"query", workflowID, name},
		method:  http.MethodPost, path: path(workflowID, "queries", url.PathEscape(name)), query: runQuery(runID),
		body: schema.QueryRequest{Input: json.RawMessage(input)}, answer: &answer,
	})
	return answer.Result, err
}

// Cancel asks a run to end by canceling the context of its code. The request is durable when Cancel
// returns.
func (c *Client) Cancel(ctx context.Context, workflowID, runID, reason string) error {
	return c.end(ctx, "cancel", workflowID, runID, reason)
}

// FailUpdate fails an update that a run has accepted and not completed. It is for operators: a run
// whose handler panics takes no updates until then. The update's caller gets the failure, and its
// handler runs no more. The update has failed when FailUpdate returns. An update that has completed
// keeps its outcome.
func (c *Client) FailUpdate(ctx context.Context, workflowID, runID, updateID, reason string) error {
	_, err := c.do(ctx, request{
		Request: Request{"failUpdate", workflowID, updateID},
		method:  http.MethodPost, path: path(workflowID, "updates", url.PathEscape(updateID), "fail"), query: runQuery(runID),
		body: schema.FailUpdateRequest{Reason: reason},
	})
	return err
}

// ResetOptions says which task a reset goes back to, by one of EventID, To and Build, and what it
// leaves out.
type ResetOptions struct {
	// EventID is an event of the workflow task that is to run anew.
	EventID int64
	// To is "firstTask" or "lastTask".
	To string
	// Build selects the first task that ran under this build.
	Build string
	// Exclude leaves out what came after the task: "updates", "signals", or both. The new run gets
	// the others in their order. Updates are validated and run again; their callers are not
	// informed.
	Exclude []string
	// Reason is for readers of the history.
	Reason string
	// RunID pins the run, which has to be the latest. Empty is the latest.
	RunID string
	// RequestID identifies the reset when it is sent again. If it is empty, the client creates one.
	RequestID string
}

// Reset starts a run that continues from an earlier workflow task of the latest run, and returns
// the new run's id. It terminates the latest run if it is open. Both are durable when Reset
// returns. Activities and timers that were pending at the task are pending again: activities that
// have run since then run again.
func (c *Client) Reset(ctx context.Context, workflowID string, o ResetOptions) (history.RunID, error) {
	var answer schema.ResetResponse
	_, err := c.do(ctx, request{
		Request: Request{"reset", workflowID, ""},
		method:  http.MethodPost, path: path(workflowID, "reset"), query: runQuery(o.RunID), answer: &answer,
		body: schema.ResetRequest{
			EventID: o.EventID, To: o.To, Build: o.Build, Exclude: o.Exclude, Reason: o.Reason,
			RequestID: cmp.Or(o.RequestID, c.newID()),
		},
	})
	if err == nil && answer.RunID == "" {
		err = errForm("reset")
	}
	return answer.RunID, err
}

// MoveOptions says where a run is moved to. The zero value is the newest build, which serves the
// request.
type MoveOptions struct {
	// Build is the build that runs it from then on, which must still be deployed; empty is the
	// one that serves the request.
	Build string
	// Unpin lets the newest build run it from then on, whichever that is, as if its type were not
	// pinned.
	Unpin bool
	// RunID pins the run, which has to be the latest. Empty is the latest.
	RunID string
}

// Move assigns an open run to another build from now on. It returns that build, or an empty one if
// the run is now unpinned. The build replays the run's history first. If its code fails or does not
// match the history, Move returns ErrNotReady with that failure, and nothing has changed.
func (c *Client) Move(ctx context.Context, workflowID string, o MoveOptions) (build string, err error) {
	var answer schema.MoveResponse
	_, err = c.do(ctx, request{
		Request: Request{"move", workflowID, ""},
		method:  http.MethodPost, path: path(workflowID, "move"), query: runQuery(o.RunID), answer: &answer,
		body: schema.MoveRequest{Build: o.Build, Unpin: o.Unpin},
	})
	if err == nil && answer.RunID == "" {
		err = errForm("move")
	}
	return answer.Build, err
}

// Delete deletes the closed run runID, with its history and result. The run is gone when Delete
// returns. It returns ErrAlreadyStarted if the run is open, ErrClosedRecently if it closed less
// than two hours ago, and ErrNotFound if it does not exist.
func (c *Client) Delete(ctx context.Context, workflowID, runID string) error {
	unsure := false
	_, err := c.do(ctx, request{
		Request: Request{"delete", workflowID, ""}, method: http.MethodDelete, path: path(workflowID), query: runQuery(runID), unsure: &unsure,
	})
	if unsure && errors.Is(err, refusal.NotFound) {
		return nil // an attempt whose response was lost has deleted it
	}
	return err
}

// Terminate ends a run at once, without running its code. It has ended when Terminate returns.
func (c *Client) Terminate(ctx context.Context, workflowID, runID, reason string) error {
	return c.end(ctx, "terminate", workflowID, runID, reason)
}

func (c *Client) end(ctx context.Context, how, workflowID, runID, reason string) error {
	unsure := false
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: path(workflowID, how), query: runQuery(runID), Request: Request{how, workflowID, ""}, body: schema.EndRequest{Reason: reason}, unsure: &unsure,
	})
	if unsure && errors.Is(err, refusal.NotFound) {
		// An attempt whose response was lost has probably ended the run. In any case it is over, if
		// there was one.
		if d, lookErr := c.Describe(ctx, workflowID, runID); lookErr == nil && d.Status.Closed() {
			return nil
		}
	}
	return err
}

// Result waits until the run has closed. It returns the run's result, or its failure as an error.
// It follows a run that continues as new, is retried, has a next one by its cron expression, or was
// reset while open, to the run that continues it. The context bounds the wait.
func (c *Client) Result(ctx context.Context, workflowID, runID string) (history.Payload, error) {
	q := runQuery(runID)
	result, _, err := c.result(ctx, workflowID, q, c.waiter(q))
	return result, err
}

// result is Result for a call that waits already. It reports whether the run has closed: the error
// is its failure then.
func (c *Client) result(ctx context.Context, workflowID string, q url.Values, w *waiter) (result history.Payload, closed bool, err error) {
	for {
		var answer schema.ResultResponse
		status, err := c.do(ctx, request{
			Request: Request{"result", workflowID, ""}, method: http.MethodGet, path: path(workflowID, "result"), query: q, waiter: w, answer: &answer,
		})
		if err != nil {
			return nil, false, err
		}
		switch {
		case answer.NewRunID != "": // the result is the next run's
			q.Set("runId", string(answer.NewRunID))
			continue
		case answer.Status.Closed():
			return answer.Result, true, answer.Failure.Err()
		case status != http.StatusAccepted || answer.RunID == "":
			return nil, false, errForm("request for a result")
		}
		q.Set("runId", string(answer.RunID)) // the same run, even if another one is started
		if err := w.pause(ctx, answer.RetryAfter); err != nil {
			return nil, false, err
		}
	}
}

// Description describes a run, and what it waits for.
type Description = schema.Description

// What a Description lists.
type (
	// PendingActivity is an activity that has not been resolved.
	PendingActivity = schema.PendingActivity
	// PendingTimer is a timer that has not fired.
	PendingTimer = schema.PendingTimer
	// PendingChild is a child workflow whose outcome has not arrived.
	PendingChild = schema.PendingChild
	// DescribedNotification is a notification of a run's end that somebody asked for.
	DescribedNotification = schema.DescribedNotification
	// UpdateInFlight is an update that was accepted and has not completed.
	UpdateInFlight = schema.UpdateInFlight
	// UnreadSignal counts the signals of one name that have not reached a run's code.
	UnreadSignal = schema.UnreadSignal
	// StuckTask is a workflow task that fails and is retried, or one that had only updates.
	StuckTask = schema.StuckTask
	// Cost is what AWS would bill for a run so far.
	Cost = schema.Cost
	// CostRange is a range of a number of a Cost.
	CostRange = schema.CostRange
)

// Describe returns the description of a run, from what is stored: it runs no code. It costs a read,
// one more if an activity is pending or a task is retried, and one for each child whose state is
// read.
func (c *Client) Describe(ctx context.Context, workflowID, runID string, sets ...DescribeOptions) (*Description, error) {
	var answer Description
	_, err := c.do(ctx, request{
		Request: Request{"describe", workflowID, ""}, method: http.MethodGet, path: path(workflowID), query: options.Of(sets).query(runID), answer: &answer,
	})
	if err == nil && answer.RunID == "" {
		err = errForm("request for a description")
	}
	return &answer, err
}

// History is what has happened to a run so far, in events. It marshals to JSON, which
// weftest.Replay takes.
type History = schema.HistoryResponse

// HistoryEvent is an event of a History.
type HistoryEvent = schema.HistoryEvent

// History returns the history of the latest run, or of the run with runID, with all of its pages.
func (c *Client) History(ctx context.Context, workflowID, runID string) (*History, error) {
	q := runQuery(runID)
	all := &History{}
	for {
		var page History
		_, err := c.do(ctx, request{
			Request: Request{"history", workflowID, ""}, method: http.MethodGet, path: path(workflowID, "history"), query: q, answer: &page,
		})
		if err != nil {
			return nil, err
		}
		if page.RunID == "" || len(page.Events) == 0 {
			return nil, errForm("request for a history")
		}
		page.Events = append(all.Events, page.Events...)
		all = &page
		if page.NextPageToken == "" {
			return all, nil
		}
		q.Set("pageToken", page.NextPageToken)
	}
}

// Rejected is an update that was refused by its validator, has no handler, or does not decode.
// Nothing was written: if the same id is sent again, it is validated again.
type Rejected struct {
	UpdateID string
	RunID    history.RunID
	Failure  *failure.Failure
	// At is the place in the request that is wrong, as in "input.quantity", and Known are the names
	// of updates that exist. They are empty if a validator has refused the update.
	At    string
	Known []string
}

// Error returns the validator's message.
func (e *Rejected) Error() string {
	if e.Failure == nil {
		return "update rejected"
	}
	return "update rejected: " + e.Failure.Err().Error()
}

// Unwrap returns the validator's error.
func (e *Rejected) Unwrap() error { return e.Failure.Err() }

// Is reports whether target is ErrRejected.
func (e *Rejected) Is(target error) bool { return failure.ErrRejected.Is(target) }

// Update is a handle of an update that was accepted.
type Update struct {
	ID         string
	WorkflowID string
	RunID      history.RunID

	client  *Client
	outcome *schema.UpdateResponse // nil until it is known

	retryAfter schema.Duration // the pause before the first poll
}

// UpdateOptions tunes an update. The zero value is the default.
type UpdateOptions struct {
	// ID identifies the update when it is sent again. If it is empty, the client creates one.
	ID string
	// RunID pins a run; empty is the latest.
	RunID string
	// Start starts a run for the update if no run is open. If the update is accepted, the run, its
	// first task and the update are one put. If it is refused, the run stays open. Its
	// IDConflictPolicy is "useExisting", unless another is given.
	Start *Start
}

// Update sends an update and returns when it has been accepted or refused. An acceptance is then
// durable. Use the handle's Wait for its outcome. A refusal by the validator is a *Rejected.
func (c *Client) Update(ctx context.Context, workflowID, name string, input history.Payload, o UpdateOptions) (*Update, error) {
	return c.update(ctx, workflowID, name, input, schema.StageAccepted, o)
}

// Call sends an update and waits for its outcome: the handler's result, or its error.
func (c *Client) Call(ctx context.Context, workflowID, name string, input history.Payload, o UpdateOptions) (history.Payload, error) {
	waits := c.waiter(url.Values{})
	u, err := c.update(ctx, workflowID, name, input, schema.StageCompleted, o)
	if err != nil {
		return nil, err
	}
	return u.wait(ctx, waits)
}

func (c *Client) update(ctx context.Context, workflowID, name string, input history.Payload, stage string, o UpdateOptions) (*Update, error) {
	if o.ID == "" {
		o.ID = c.newID()
	}
	if err := o.Start.err(); err != nil {
		return nil, err
	}
	var answer schema.UpdateResponse
	start := c.opening(o.Start, "useExisting")
	body := &schema.UpdateRequest{UpdateID: o.ID, Input: json.RawMessage(input), WaitFor: stage, Start: start}
	_, err := c.do(ctx, request{
		Request: Request{"update", workflowID, name}, header: headerOf(start),
		method: http.MethodPost, path: path(workflowID, "updates", url.PathEscape(name)), query: runQuery(o.RunID),
		body:   body,
		bound:  func(limit time.Duration) { body.Timeout = (*schema.Duration)(&limit) },
		answer: &answer, also: http.StatusUnprocessableEntity,
	})
	if err != nil {
		return nil, err
	}
	switch answer.Stage {
	case schema.StageRejected:
		return nil, &Rejected{UpdateID: answer.UpdateID, RunID: answer.RunID, Failure: answer.Failure, At: answer.At, Known: answer.Known}
	case schema.StageAccepted, schema.StageCompleted:
	default:
		return nil, errForm("update")
	}
	u := &Update{ID: answer.UpdateID, WorkflowID: workflowID, RunID: answer.RunID, client: c}
	u.retryAfter = answer.RetryAfter
	u.keep(&answer)
	return u, nil
}

// Handle returns a handle of an update that any client sent before. It does not check whether the
// update exists.
func (c *Client) Handle(workflowID, runID, updateID string) *Update {
	return &Update{ID: updateID, WorkflowID: workflowID, RunID: history.RunID(runID), client: c}
}

func (u *Update) keep(answer *schema.UpdateResponse) {
	if answer.Stage == schema.StageCompleted {
		u.outcome = answer
	}
}

// Wait waits for the outcome of the update: the handler's result, or its error. The context bounds
// the wait; the update continues without it. Wait returns ErrNotFound if the update does not exist.
func (u *Update) Wait(ctx context.Context) (history.Payload, error) {
	return u.wait(ctx, u.client.waiter(url.Values{}))
}

// wait is Wait for a call that waits already.
func (u *Update) wait(ctx context.Context, w *waiter) (history.Payload, error) {
	q := runQuery(string(u.RunID))
	w.bound = longPoll(q)
	if u.outcome == nil && u.retryAfter > 0 {
		if err := w.pause(ctx, u.retryAfter); err != nil {
			return nil, err
		}
		u.retryAfter = 0
	}
	for u.outcome == nil {
		var answer schema.UpdateResponse
		_, err := u.client.do(ctx, request{
			Request: Request{"poll", u.WorkflowID, u.ID},
			method:  http.MethodGet, path: path(u.WorkflowID, "updates", url.PathEscape(u.ID)), query: q, waiter: w, answer: &answer,
		})
		if err != nil {
			return nil, err
		}
		if u.keep(&answer); u.outcome != nil {
			break
		}
		if answer.Stage != schema.StageAccepted && answer.Stage != schema.StageAdmitted || answer.RunID == "" {
			return nil, errForm("poll of an update")
		}
		q.Set("runId", string(answer.RunID))
		if err := w.pause(ctx, answer.RetryAfter); err != nil {
			return nil, err
		}
	}
	return u.outcome.Result, u.outcome.Failure.Err()
}

// AsRejected returns the rejection in err's chain, or nil: a shorthand for errors.As.
func AsRejected(err error) *Rejected {
	var r *Rejected
	errors.As(err, &r)
	return r
}
