package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Retry retries the failed task of a stuck run now. The task has succeeded when Retry returns nil.
// It returns ErrNotReady with the failure if the code fails again: nothing was written, and the run
// is retried later as before. It returns ErrNothingToDo if the run is not stuck.
//
// The updates that a stuck run has refused are not stored. If only those have failed, Retry replays
// the run, and runs a task without updates.
func (c *Client) Retry(ctx context.Context, workflowID, runID string) error {
	unsure := false
	_, err := c.do(ctx, request{
		Request: Request{"retry", workflowID, ""}, method: http.MethodPost, path: path(workflowID, "retry"), query: runQuery(runID), unsure: &unsure,
	})
	return unlessDone(unsure, err)
}

// RetryActivity begins the next attempt now at an activity that waits for it. eventID is the event
// that scheduled the activity, which a description has. It returns ErrNothingToDo if no attempt has
// failed, or if the next one is due already, and ErrActivityEnded if the activity has ended.
//
// The message of the attempt that was to come cannot be recalled. If the activity has no
// MaxAttempts, and has not ended by then, there is one attempt more at that time.
func (c *Client) RetryActivity(ctx context.Context, workflowID, runID string, eventID int64) error {
	unsure := false
	r := activityRequest("retry", workflowID, runID, eventID)
	r.Operation, r.unsure = "retryActivity", &unsure
	_, err := c.do(ctx, r)
	return unlessDone(unsure, err)
}

// unlessDone returns the error of a retry. It returns nil if there is nothing to do after an
// attempt whose answer was lost: that attempt has probably done it.
func unlessDone(unsure bool, err error) error {
	if unsure && errors.Is(err, refusal.NothingToDo) {
		return nil
	}
	return err
}

// CompleteByHand ends a pending activity of the run runID with a result, whatever its attempts do.
// It is for operators. eventID is the event that scheduled the activity, which a description has.
// The result is durable when CompleteByHand returns nil. The same again is no error. It returns
// ErrActivityEnded if the activity has ended otherwise.
//
// mayRun says that an attempt may have been in progress. Its result is dropped, but it may still
// have its effect.
func (c *Client) CompleteByHand(ctx context.Context, workflowID, runID string, eventID int64, result history.Payload, reason string) (mayRun bool, err error) {
	r := activityRequest("complete", workflowID, runID, eventID)
	r.Operation, r.body = "completeByHand", schema.CompleteByHandRequest{Result: json.RawMessage(result), Reason: reason}
	return c.byHand(ctx, r)
}

// FailByHand is CompleteByHand with an error. No further attempt follows. The whole text of a chain
// of errors is sent, and the type and details of the first application error: see FailActivity. A
// nil cause is an error without a text.
func (c *Client) FailByHand(ctx context.Context, workflowID, runID string, eventID int64, cause error, reason string) (mayRun bool, err error) {
	body := schema.FailByHandRequest{Reason: reason}
	if f := failure.Flat(cause); f != nil {
		body.Type, body.Message, body.Details = f.Type, f.Message, f.Details
	}
	r := activityRequest("fail", workflowID, runID, eventID)
	r.Operation, r.body = "failByHand", body
	return c.byHand(ctx, r)
}

func (c *Client) byHand(ctx context.Context, r request) (mayRun bool, err error) {
	var answer schema.ByHandResponse
	r.answer = &answer
	_, err = c.do(ctx, r)
	return answer.MayRun, err
}

// activityRequest returns a request for an activity of a run.
func activityRequest(verb, workflowID, runID string, eventID int64) request {
	event := strconv.FormatInt(eventID, 10)
	return request{
		Request: Request{WorkflowID: workflowID, Name: event}, method: http.MethodPost,
		path: path(workflowID, "activities", event, verb), query: runQuery(runID),
	}
}
