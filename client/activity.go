package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// CompleteActivity ends the attempt at an activity that a token names as succeeded. The result is
// durable when it returns nil. Completing again with the same result is no error. It returns
// ErrActivityEnded if the attempt has ended otherwise. Activity.Complete does the same with a typed
// result.
func (c *Client) CompleteActivity(ctx context.Context, token string, result history.Payload) error {
	return c.activity(ctx, "complete", schema.CompleteActivityRequest{Token: token, Result: json.RawMessage(result)}, nil)
}

// FailActivity ends the attempt at an activity that a token names as failed with cause; the retry
// policy says whether it is retried. The failure is durable when it returns nil. Failing again with
// the same cause is no error. It returns ErrActivityEnded if the attempt has ended otherwise.
//
// Of a chain of errors, the whole text is sent, and the type and details of the first application
// error. As with an error that an activity returns, a text of more than 8 KiB is cut, and details
// of more than 64 KiB are left out. A nil cause is an error without a text.
func (c *Client) FailActivity(ctx context.Context, token string, cause error) error {
	r := schema.FailActivityRequest{Token: token}
	if f := failure.Flat(cause); f != nil {
		r.Type, r.Message, r.NonRetryable, r.Details = f.Type, f.Message, f.NonRetryable, f.Details
	}
	return c.activity(ctx, "fail", r, nil)
}

// HeartbeatActivity records that the attempt at an activity that a token names is alive, and keeps
// details of at most 16 KiB for the next one. Each call is a write. It returns ErrCanceled if the
// workflow no longer waits for the activity: end it then, with FailActivity. It returns
// ErrActivityEnded if the attempt has ended.
func (c *Client) HeartbeatActivity(ctx context.Context, token string, details history.Payload) error {
	var answer schema.HeartbeatResponse
	err := c.activity(ctx, "heartbeat", schema.HeartbeatActivityRequest{Token: token, Details: json.RawMessage(details)}, &answer)
	if err == nil && answer.CancelRequested {
		return failure.ErrCanceled
	}
	return err
}

func (c *Client) activity(ctx context.Context, verb string, body, answer any) error {
	_, err := c.do(ctx, request{Request: Request{verb + " activity", "", ""}, method: http.MethodPost, path: "/v1/activities/" + verb, body: body, answer: answer})
	return err
}
