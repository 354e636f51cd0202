package client

import (
	"context"

	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/header"
)

// Interceptor stands around each call of a client: it calls next, with a context that may have more of a header (WithHeader), or
// returns an error without it. A call may be sent several times before next returns; a wait for a result is a call for each 20 s.
type Interceptor func(ctx context.Context, r Request, next func(context.Context) error) error

// Request says what a client is asked to do.
type Request struct {
	// Operation is start, signal, query, update, poll, result, describe, history, list, cancel, terminate, failUpdate, reset, move or delete;
	// or "complete activity", "fail activity" or "heartbeat activity". What is done with a schedule is done with its workflow, whose
	// id is "weft.schedule:" and the schedule's: a start, an update, a query, a list, a terminate.
	Operation string
	// WorkflowID is empty where the server makes it, where workflows are listed, and where an activity is named by its token. Name
	// is the type of the workflow that is started, the name of the signal, the query or the update, or the id of the update that is
	// polled.
	WorkflowID, Name string
}

// WithHeader returns a context with which workflows are started with a field in their header, besides those that ctx has: by
// Type.Start, and by updates and signals that open a run. The header travels to activities, to children, and to the runs that
// follow; what is started with the context of an activity has it, too. It has at most 4 KiB, names and values together. The
// start returns what is wrong with it, or that the value cannot be encoded.
func WithHeader(ctx context.Context, name string, value any) context.Context {
	return header.With(ctx, name, value)
}

// intercepted calls send with all that stands around it.
func (c *Client) intercepted(ctx context.Context, r Request, send func(context.Context) error) error {
	for i := len(c.around) - 1; i >= 0; i-- {
		around, next := c.around[i], send
		send = func(ctx context.Context) error { return around(ctx, r, next) }
	}
	return send(ctx)
}

// carry puts the header of the context into a start.
func carry(ctx context.Context, start *api.StartRequest) (err error) {
	if start != nil {
		start.Header, err = header.From(ctx)
	}
	return err
}
