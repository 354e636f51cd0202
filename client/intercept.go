package client

import (
	"context"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/header"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Interceptor wraps each call of a client. It calls next, with a context that may have additional
// header fields (WithHeader), or returns an error without calling it. A call may be sent several
// times before next returns. A wait for a result is one call for each 20 s.
type Interceptor func(ctx context.Context, r Request, next func(context.Context) error) error

// Request is what a client was asked to do.
type Request struct {
	// Operation is start, signal, query, update, poll, result, describe, history, runs, waits,
	// topics, topic, list, count, costs, cancel, terminate, failUpdate, reset, move, delete, retry,
	// pause, resume, retryActivity, completeByHand or failByHand; deployment, types, type, builds,
	// queues or redrive; or "complete activity", "fail activity" or "heartbeat activity". A request
	// to a schedule is a request to its workflow, whose id is "weft.schedule:" and the schedule's:
	// a start, an update, a query, a list, a terminate. So is a request to a batch, with
	// "weft.batch:".
	Operation string
	// WorkflowID is empty if the server chooses it, if workflows are listed, and if a token names
	// an activity. Name is the type of the workflow that is started, the name of the signal, the
	// query, the update, the topic or the queue, the id of the update that is polled, or the event
	// id of the activity.
	WorkflowID, Name string
}

// WithHeader returns a context whose header has one more field. Workflows that are started with the
// context have its header: by Type.Start, by updates and signals with a start, and by a schedule
// that is created with it.
//
// The header travels to activities, to children, to the runs that follow, and to what an activity
// starts with its context. It has at most 4 KiB, names and values together. The start returns an
// error if the header is too large, or if the value cannot be encoded.
func WithHeader(ctx context.Context, name string, value any) context.Context {
	return header.With(ctx, name, value)
}

// intercepted calls send through all interceptors.
func (c *Client) intercepted(ctx context.Context, r Request, send func(context.Context) error) error {
	for i := len(c.around) - 1; i >= 0; i-- {
		around, next := c.around[i], send
		send = func(ctx context.Context) error { return around(ctx, r, next) }
	}
	return send(ctx)
}

// headerOf returns where a start takes the header of the context. It returns nil if there is no
// start.
func headerOf(start *schema.StartRequest) *history.Header {
	if start == nil {
		return nil
	}
	return &start.Header
}

// carry puts the header of the context into a request that takes one. It returns an error if the
// header is invalid.
func carry(ctx context.Context, to *history.Header) (err error) {
	if to != nil {
		*to, err = header.From(ctx)
	}
	return err
}
