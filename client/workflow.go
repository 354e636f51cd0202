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
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// StartOptions tunes a start. The zero value is the default.
type StartOptions struct {
	// RequestID recognises the start when it is sent again; empty, one is made.
	RequestID string
	// IDReusePolicy says whether the id of a closed run may be used again: "allowDuplicate" (the default),
	// "allowDuplicateFailedOnly" or "rejectDuplicate".
	IDReusePolicy string
	// IDConflictPolicy says what happens if a run of the id is open: "fail" (the default), "useExisting" or
	// "terminateExisting", which does not go with "rejectDuplicate".
	IDConflictPolicy string
	// RunTimeout is how long the run may stay open; 0 is for ever.
	RunTimeout time.Duration
	// StartDelay is how long the first task waits, unless a signal, an update or a cancellation comes before; 0 is not at
	// all. The run timeout begins when it is over.
	StartDelay time.Duration
	// Retry says when another run follows one that failed or took longer than its run timeout, with the same input; nil is
	// never. Whoever waits for the result waits for the last of them. Code reads which attempt it is from workflow.InfoOf, and
	// what the one before failed of from workflow.LastFailure.
	Retry *Retry
	// Cron says when the run begins, and when another one follows that has ended, well or not: "30 9 * * 1-5" (minute, hour,
	// day of the month, month, day of the week), "@hourly", or "@every 90m", in UTC unless it begins with a time zone, as in
	// "CRON_TZ=Europe/Berlin 30 9 * * *". Runs never overlap: moments that pass while a run is open are left out. Code reads
	// the last result with workflow.LastResult. To cancel or to terminate a run ends the chain.
	Cron string
	// ExecutionTimeout is how long the workflow may take, all its runs together: those that continue as new, are tried again,
	// or follow by a cron expression. It begins when the start delay is over; 0 is for ever.
	ExecutionTimeout time.Duration
	// Memo is shown with the run where it is described or listed; make its fields with workflow.Memo.Set. At most 4 KiB and 32
	// fields; encoded where payloads are.
	Memo []MemoField
	// SearchAttributes are what the run is found by; make them with workflow.Attribute.Set. At most 2 KiB and 32 of them. They
	// are never encrypted.
	SearchAttributes []SearchAttribute
}

// Start is a run that an update or a signal opens where none is open that takes it.
type Start struct {
	Type    string
	Input   history.Payload
	Options StartOptions
	// Err is why the input could not be encoded: the request is not sent then.
	Err error
}

// opening is the start in a request; its policy is policy where none is given.
func (c *Client) opening(s *Start, policy string) *api.StartRequest {
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

func (c *Client) startRequest(workflowType string, input history.Payload, o StartOptions) *api.StartRequest {
	return &api.StartRequest{
		Type: workflowType, Input: json.RawMessage(input), RequestID: cmp.Or(o.RequestID, c.newID()),
		IDReusePolicy: o.IDReusePolicy, IDConflictPolicy: o.IDConflictPolicy, RunTimeout: api.Duration(o.RunTimeout),
		StartDelay: api.Duration(o.StartDelay), Retry: o.Retry.request(), Cron: o.Cron, ExecutionTimeout: api.Duration(o.ExecutionTimeout),
		Memo: memo(o.Memo), SearchAttributes: attributes(o.SearchAttributes),
	}
}

// Start starts a run of a workflow type and returns the run's id. The run is durable when it returns. An empty workflow
// id is made by the server; the id comes back.
func (c *Client) Start(ctx context.Context, workflowID, workflowType string, input history.Payload, o StartOptions) (id string, runID history.RunID, err error) {
	answer, err := c.start(ctx, workflowID, workflowType, input, o, request{})
	return answer.WorkflowID, answer.RunID, err
}

// start is Start, with the query, bound and unsure of req.
func (c *Client) start(ctx context.Context, workflowID, workflowType string, input history.Payload, o StartOptions, req request) (answer api.StartResponse, err error) {
	if err := o.err(); err != nil {
		return answer, err
	}
	r := c.startRequest(workflowType, input, o)
	if workflowID != "" {
		r.WorkflowID = &workflowID
	}
	_, err = c.do(ctx, request{
		Request: Request{"start", workflowID, workflowType}, start: r,
		method: http.MethodPost, path: "/v1/workflows", query: req.query, bound: req.bound, unsure: req.unsure, body: r, answer: &answer,
	})
	if err == nil && answer.RunID == "" {
		err = errForm("start")
	}
	return answer, err
}

// Run starts a run of a workflow type, waits until it has closed, and returns its result, or the failure that it ended with as an
// error. It is one request if the run ends within 20 s.
//
// A second Run under the id of a run that has closed starts another run, unless IDReusePolicy forbids it. If a run of the id is open, Run is
// refused with ErrAlreadyStarted, unless IDConflictPolicy is "useExisting", by which Run waits for that run, or "terminateExisting".
//
// The run goes on if the context ends before it has closed. The error says then whether it was started, and its ids, if the client knows
// that; Result waits for it again. See Start and Result.
func (c *Client) Run(ctx context.Context, workflowID, workflowType string, input history.Payload, o StartOptions) (history.Payload, error) {
	q, unsure := url.Values{}, false
	answer, err := c.start(ctx, workflowID, workflowType, input, o, request{query: q, bound: longPoll(q), unsure: &unsure})
	var lost *lostAnswer
	switch {
	case err != nil && ctx.Err() != nil && (unsure || errors.As(err, &lost) || errors.Is(err, refusal.OutcomeUnknown)):
		return nil, fmt.Errorf("weft: it is not known whether the run was started: %w", err)
	case err != nil:
		return nil, err
	}
	runID := answer.RunID
	if ended := answer.Outcome; ended != nil {
		switch {
		case ended.NewRunID != "": // the result is the next run's
			runID = ended.NewRunID
		case ended.Status.Closed():
			return ended.Result, ended.Failure.Err()
		}
	}
	result, closed, err := c.result(ctx, answer.WorkflowID, string(runID))
	if !closed && ctx.Err() != nil {
		err = fmt.Errorf("weft: workflow %q is started (run %s), and was open when the server last answered: %w", answer.WorkflowID, runID, err)
	}
	return result, err
}

// errForm is an answer that is JSON and yet not the one to the request: something between client and server made it.
func errForm(what string) error { return fmt.Errorf("weft: this is not the answer to a %s", what) }

// SignalOptions tunes a signal. The zero value is the default.
type SignalOptions struct {
	// RequestID recognises the signal when it is sent again; empty, one is made.
	RequestID string
	// RunID pins a run; empty is the latest.
	RunID string
	// Start opens a run for the signal where none is open. Its IDConflictPolicy is "useExisting", unless it is
	// "terminateExisting".
	Start *Start
}

// Signal sends a signal. It is durable when Signal returns.
func (c *Client) Signal(ctx context.Context, workflowID, name string, input history.Payload, o SignalOptions) error {
	if err := o.Start.err(); err != nil {
		return err
	}
	start := c.opening(o.Start, "")
	_, err := c.do(ctx, request{
		Request: Request{"signal", workflowID, name}, start: start,
		method: http.MethodPost, path: path(workflowID, "signals", url.PathEscape(name)), query: runQuery(o.RunID),
		body: api.SignalRequest{Input: json.RawMessage(input), RequestID: cmp.Or(o.RequestID, c.newID()), Start: start},
	})
	return err
}

// Query asks the latest run, or the run with runID, a query; the run may be closed. Nothing is written.
func (c *Client) Query(ctx context.Context, workflowID, runID, name string, input history.Payload) (history.Payload, error) {
	var answer api.QueryResponse
	_, err := c.do(ctx, request{
		Request: Request{"query", workflowID, name},
		method:  http.MethodPost, path: path(workflowID, "queries", url.PathEscape(name)), query: runQuery(runID),
		body: api.QueryRequest{Input: json.RawMessage(input)}, answer: &answer,
	})
	return answer.Result, err
}

// Cancel asks a run to end: its code's context is canceled. The request is durable when Cancel returns.
func (c *Client) Cancel(ctx context.Context, workflowID, runID, reason string) error {
	return c.end(ctx, "cancel", workflowID, runID, reason)
}

// FailUpdate fails an update that a run has accepted and not completed, for an operator: a run whose handler panics takes no updates
// until then. The update's caller gets the failure, and its handler does not run any more. The update has failed when FailUpdate
// returns; one that has completed keeps its outcome.
func (c *Client) FailUpdate(ctx context.Context, workflowID, runID, updateID, reason string) error {
	_, err := c.do(ctx, request{
		Request: Request{"failUpdate", workflowID, updateID},
		method:  http.MethodPost, path: path(workflowID, "updates", url.PathEscape(updateID), "fail"), query: runQuery(runID),
		body: api.FailUpdateRequest{Reason: reason},
	})
	return err
}

// ResetOptions says where a reset goes back to, by one of EventID, To and Build, and what it leaves out.
type ResetOptions struct {
	// EventID is one of the events of the workflow task that is to be run anew.
	EventID int64
	// To is "firstTask" or "lastTask".
	To string
	// Build means the first task that ran under this build.
	Build string
	// Exclude leaves out what came after the task: "updates", "signals", or both. What is not left out is brought to the new
	// run in its order. Updates are validated again, and run again; their callers are not told.
	Exclude []string
	// Reason is for those who read the history.
	Reason string
	// RunID pins the run; it has to be the latest. Empty is the latest.
	RunID string
	// RequestID recognises the reset when it is sent again; empty, one is made.
	RequestID string
}

// Reset opens a run that goes on from an earlier workflow task of the latest one, which is terminated if it is open, and
// returns the new run's id. Both are durable when it returns. Activities and timers that were pending at the task are so
// again: activities that have run since then run again.
func (c *Client) Reset(ctx context.Context, workflowID string, o ResetOptions) (history.RunID, error) {
	var answer api.ResetResponse
	_, err := c.do(ctx, request{
		Request: Request{"reset", workflowID, ""},
		method:  http.MethodPost, path: path(workflowID, "reset"), query: runQuery(o.RunID), answer: &answer,
		body: api.ResetRequest{
			EventID: o.EventID, To: o.To, Build: o.Build, Exclude: o.Exclude, Reason: o.Reason,
			RequestID: cmp.Or(o.RequestID, c.newID()),
		},
	})
	if err == nil && answer.RunID == "" {
		err = errForm("reset")
	}
	return answer.RunID, err
}

// MoveOptions says where a run is moved to. The zero value is the build that the request comes to: the newest.
type MoveOptions struct {
	// Build is the build that runs it from then on, and is to be deployed still; empty is the one that the request comes to.
	Build string
	// Unpin has the newest build run it from then on, whichever that is, as if its type were not pinned.
	Unpin bool
	// RunID pins the run; it has to be the latest. Empty is the latest.
	RunID string
}

// Move has another build run an open run from now on, and returns that build; it is empty where the run is pinned to none.
// That build replays the run's history first: where its code does not do what the history says, or fails, the error is
// ErrNotReady with that failure, and nothing has changed.
func (c *Client) Move(ctx context.Context, workflowID string, o MoveOptions) (build string, err error) {
	var answer api.MoveResponse
	_, err = c.do(ctx, request{
		Request: Request{"move", workflowID, ""},
		method:  http.MethodPost, path: path(workflowID, "move"), query: runQuery(o.RunID), answer: &answer,
		body: api.MoveRequest{Build: o.Build, Unpin: o.Unpin},
	})
	if err == nil && answer.RunID == "" {
		err = errForm("move")
	}
	return answer.Build, err
}

// Delete deletes a closed run, with its history and result; runID says which. It is gone when Delete returns. An open run is
// ErrAlreadyStarted; one that closed less than two hours ago ErrClosedRecently; and one that is not there ErrNotFound.
func (c *Client) Delete(ctx context.Context, workflowID, runID string) error {
	unsure := false
	_, err := c.do(ctx, request{
		Request: Request{"delete", workflowID, ""}, method: http.MethodDelete, path: path(workflowID), query: runQuery(runID), unsure: &unsure,
	})
	if unsure && errors.Is(err, refusal.NotFound) {
		return nil // an attempt whose answer was lost has deleted it
	}
	return err
}

// Terminate ends a run at once, without asking its code. It has ended when Terminate returns.
func (c *Client) Terminate(ctx context.Context, workflowID, runID, reason string) error {
	return c.end(ctx, "terminate", workflowID, runID, reason)
}

func (c *Client) end(ctx context.Context, how, workflowID, runID, reason string) error {
	unsure := false
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: path(workflowID, how), query: runQuery(runID), Request: Request{how, workflowID, ""}, body: api.EndRequest{Reason: reason}, unsure: &unsure,
	})
	if unsure && errors.Is(err, refusal.NotFound) {
		// An attempt whose answer was lost has probably ended the run. It is over in any case, if there was one.
		if d, lookErr := c.Describe(ctx, workflowID, runID); lookErr == nil && d.Status.Closed() {
			return nil
		}
	}
	return err
}

// longPoll has a request wait for what has not happened yet: for as long as the server does, or for what the caller has left.
func longPoll(q url.Values) (bound func(limit time.Duration)) {
	bound = func(limit time.Duration) { q.Set("wait", limit.String()) }
	bound(longest)
	return bound
}

// pollPause is the wait between two such requests: a server that stops answers at once.
const pollPause = 50 * time.Millisecond

// Result waits until the run has closed and returns its result, or the failure that it ended with as an error. A run that
// continued as new, is tried again, has a next one by its cron expression, or was open when it was reset, is followed to the
// one that went on. The context bounds the wait.
func (c *Client) Result(ctx context.Context, workflowID, runID string) (history.Payload, error) {
	result, _, err := c.result(ctx, workflowID, runID)
	return result, err
}

// result is Result. It reports whether the run has closed: an error is its failure then.
func (c *Client) result(ctx context.Context, workflowID, runID string) (result history.Payload, closed bool, err error) {
	q := runQuery(runID)
	wait := longPoll(q)
	for {
		var answer api.ResultResponse
		status, err := c.do(ctx, request{
			Request: Request{"result", workflowID, ""}, method: http.MethodGet, path: path(workflowID, "result"), query: q, bound: wait, answer: &answer,
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
		q.Set("runId", string(answer.RunID)) // the same run, also if another one is started
		if err := c.pause(ctx, pollPause); err != nil {
			return nil, false, err
		}
	}
}

// Description is what is known of a run, and what it waits for.
type Description = api.Description

// What a Description lists.
type (
	// PendingActivity is an activity that has not been resolved.
	PendingActivity = api.PendingActivity
	// PendingTimer is a timer that has not fired.
	PendingTimer = api.PendingTimer
	// PendingChild is a child workflow whose outcome has not come.
	PendingChild = api.PendingChild
	// UpdateInFlight is an update that was accepted and has not completed.
	UpdateInFlight = api.UpdateInFlight
	// UnreadSignal is the signals of one name that have not reached a run's code.
	UnreadSignal = api.UnreadSignal
	// StuckTask is a workflow task that fails and is tried again.
	StuckTask = api.StuckTask
)

// Describe returns what is known of a run.
func (c *Client) Describe(ctx context.Context, workflowID, runID string) (*Description, error) {
	var answer Description
	_, err := c.do(ctx, request{
		Request: Request{"describe", workflowID, ""}, method: http.MethodGet, path: path(workflowID), query: runQuery(runID), answer: &answer,
	})
	if err == nil && answer.RunID == "" {
		err = errForm("request for a description")
	}
	return &answer, err
}

// History is what has happened to a run so far, in events. It is exported as JSON, and weftest.Replay takes it.
type History = api.HistoryResponse

// HistoryEvent is an event of a History.
type HistoryEvent = api.HistoryEvent

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
		all.WorkflowID, all.RunID, all.Events = page.WorkflowID, page.RunID, append(all.Events, page.Events...)
		if page.NextPageToken == "" {
			return all, nil
		}
		q.Set("pageToken", page.NextPageToken)
	}
}

// Rejected is an update that was refused by its validator, has no handler, or does not decode. Nothing was written: the
// same id may be sent again, and is validated again.
type Rejected struct {
	UpdateID string
	RunID    history.RunID
	Failure  *failure.Failure
}

// Error is the validator's message.
func (e *Rejected) Error() string {
	if e.Failure == nil {
		return "update rejected"
	}
	return "update rejected: " + e.Failure.Err().Error()
}

// Unwrap is the validator's error.
func (e *Rejected) Unwrap() error { return e.Failure.Err() }

// Is reports whether target is ErrRejected.
func (e *Rejected) Is(target error) bool { return failure.ErrRejected.Is(target) }

// Update is a handle of an update that was accepted.
type Update struct {
	ID         string
	WorkflowID string
	RunID      history.RunID

	client  *Client
	outcome *api.UpdateResponse // nil until it is known
}

// UpdateOptions tunes an update. The zero value is the default.
type UpdateOptions struct {
	// ID recognises the update when it is sent again; empty, one is made.
	ID string
	// RunID pins a run; empty is the latest.
	RunID string
	// Start opens a run for the update where none is open. Run, first task and update are one put where the update is accepted;
	// a refused one leaves the run open. Its IDConflictPolicy is "useExisting", unless another is given.
	Start *Start
}

// Update sends an update and returns when it has been accepted or refused; it is durable then. Use the handle's Wait for
// its outcome. A refusal by the validator is a *Rejected.
func (c *Client) Update(ctx context.Context, workflowID, name string, input history.Payload, o UpdateOptions) (*Update, error) {
	return c.update(ctx, workflowID, name, input, api.StageAccepted, o)
}

// Call sends an update and waits for its outcome: the handler's result, or its error.
func (c *Client) Call(ctx context.Context, workflowID, name string, input history.Payload, o UpdateOptions) (history.Payload, error) {
	u, err := c.update(ctx, workflowID, name, input, api.StageCompleted, o)
	if err != nil {
		return nil, err
	}
	return u.Wait(ctx)
}

func (c *Client) update(ctx context.Context, workflowID, name string, input history.Payload, stage string, o UpdateOptions) (*Update, error) {
	if o.ID == "" {
		o.ID = c.newID()
	}
	if err := o.Start.err(); err != nil {
		return nil, err
	}
	var answer api.UpdateResponse
	start := c.opening(o.Start, "useExisting")
	body := &api.UpdateRequest{UpdateID: o.ID, Input: json.RawMessage(input), WaitFor: stage, Start: start}
	_, err := c.do(ctx, request{
		Request: Request{"update", workflowID, name}, start: start,
		method: http.MethodPost, path: path(workflowID, "updates", url.PathEscape(name)), query: runQuery(o.RunID),
		body:   body,
		bound:  func(limit time.Duration) { body.Timeout = (*api.Duration)(&limit) },
		answer: &answer, also: http.StatusUnprocessableEntity,
	})
	if err != nil {
		return nil, err
	}
	switch answer.Stage {
	case api.StageRejected:
		return nil, &Rejected{UpdateID: answer.UpdateID, RunID: answer.RunID, Failure: answer.Failure}
	case api.StageAccepted, api.StageCompleted:
	default:
		return nil, errForm("update")
	}
	u := &Update{ID: answer.UpdateID, WorkflowID: workflowID, RunID: answer.RunID, client: c}
	u.keep(&answer)
	return u, nil
}

// Handle returns a handle of an update that was accepted before, by whomever. It does not ask whether there is one.
func (c *Client) Handle(workflowID, runID, updateID string) *Update {
	return &Update{ID: updateID, WorkflowID: workflowID, RunID: history.RunID(runID), client: c}
}

func (u *Update) keep(answer *api.UpdateResponse) {
	if answer.Stage == api.StageCompleted {
		u.outcome = answer
	}
}

// Wait waits for the outcome of the update: the handler's result, or its error. The context bounds the wait; the update
// goes on without it. An update that nobody knows is ErrNotFound.
func (u *Update) Wait(ctx context.Context) (history.Payload, error) {
	q := runQuery(string(u.RunID))
	wait := longPoll(q)
	for u.outcome == nil {
		var answer api.UpdateResponse
		_, err := u.client.do(ctx, request{
			Request: Request{"poll", u.WorkflowID, u.ID},
			method:  http.MethodGet, path: path(u.WorkflowID, "updates", url.PathEscape(u.ID)), query: q, bound: wait, answer: &answer,
		})
		if err != nil {
			return nil, err
		}
		if u.keep(&answer); u.outcome != nil {
			break
		}
		if answer.Stage != api.StageAccepted && answer.Stage != api.StageAdmitted || answer.RunID == "" {
			return nil, errForm("poll of an update")
		}
		q.Set("runId", string(answer.RunID))
		if err := u.client.pause(ctx, pollPause); err != nil {
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
