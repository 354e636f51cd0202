package client

import (
	"cmp"
	"context"
	"net/http"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// PauseOptions tunes a pause or a resumption. The zero value is the default.
type PauseOptions struct {
	// Reason is for readers of the history.
	Reason string
	// RunID pins the run, which has to be the latest. Empty is the latest.
	RunID string
	// RequestID identifies the request when it is sent again. If it is empty, the client creates
	// one.
	RequestID string
}

// Pause pauses an open run: its code does not run until Resume, and no further attempt at an
// activity begins. Attempts that are in progress go on. What arrives meanwhile is recorded, updates
// are refused with ErrPaused, and time-outs hold. The pause is durable when Pause returns nil. It
// costs a read and a write, and each activity that waits costs two writes, a read and a message
// every five minutes. A run that is paused already stays as it is. Pause returns ErrNothingToDo if
// the run has not begun.
func (c *Client) Pause(ctx context.Context, workflowID string, o PauseOptions) error {
	return c.steer(ctx, "pause", workflowID, o)
}

// Resume resumes a paused run: its code runs, and gets what has arrived since the pause. That is
// durable when Resume returns nil. If the code fails, the run is resumed, and stuck. Resume returns
// ErrNothingToDo if the run is not paused.
func (c *Client) Resume(ctx context.Context, workflowID string, o PauseOptions) error {
	return c.steer(ctx, "resume", workflowID, o)
}

func (c *Client) steer(ctx context.Context, verb, workflowID string, o PauseOptions) error {
	_, err := c.do(ctx, request{
		Request: Request{verb, workflowID, ""}, method: http.MethodPost, path: path(workflowID, verb), query: runQuery(o.RunID),
		body: schema.PauseRequest{Reason: o.Reason, RequestID: cmp.Or(o.RequestID, c.newID())},
	})
	return err
}
