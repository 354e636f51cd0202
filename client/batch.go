package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// BatchAction is what a batch does with each run.
type BatchAction = schema.BatchAction

// BatchDescription describes a batch.
type BatchDescription = schema.BatchDescription

// BatchSummary is a batch in a list.
type BatchSummary = schema.BatchSummary

// BatchOptions say which runs a batch is for, and what it does with them. Filter is required, and
// so is Action unless DryRun is set.
type BatchOptions struct {
	// ID is the id of the batch; if it is empty, the client creates one.
	ID string
	// Filter selects the runs: see docs/list.md. It has no ORDER BY. Weft's own workflows are left
	// out unless the filter names their type.
	Filter string
	// Action is what is done with each run.
	Action *BatchAction
	// DryRun does nothing with the runs, and counts them by type and status.
	DryRun bool
	// Rate is how many runs are acted on in a second, 0.01 to 1000; 0 is no limit.
	Rate float64
	// MostRuns stops a batch that matches more; 0 is 10,000. It does not bound a dry run.
	MostRuns int
	// AllowUnknown allows names in the filter that no recent run has. Without it they are refused.
	AllowUnknown bool
	// RequestID identifies the request when it is sent again. If it is empty, the client creates
	// one.
	RequestID string
}

// Batch is a batch, by its id.
type Batch struct {
	ID     string
	client *Client
}

// Batch returns a handle of a batch. It does not check whether the batch exists.
func (c *Client) Batch(id string) Batch { return Batch{id, c} }

// StartBatch starts a batch: it does the same with each run that a filter selects, those that
// started last first. The batch is durable when StartBatch returns. It costs what the start of a
// workflow does, one write for 100 runs, the reads of the list, and for each run what the
// action costs by hand. StartBatch returns ErrInvalid if the filter cannot be read, or something is
// missing, ErrNotFound if the deployment runs no batches, and ErrAlreadyStarted if another batch
// has the id.
func (c *Client) StartBatch(ctx context.Context, o BatchOptions) (Batch, error) {
	requestID := cmp.Or(o.RequestID, c.newID())
	b := c.Batch(cmp.Or(o.ID, requestID))
	if err := b.check(); err != nil {
		return b, err
	}
	body := schema.StartBatchRequest{
		BatchID: b.ID, Filter: o.Filter, Action: o.Action, DryRun: o.DryRun, Rate: o.Rate, MostRuns: o.MostRuns, RequestID: requestID,
	}
	if o.AllowUnknown {
		body.Unknown = "allow"
	}
	_, err := c.do(ctx, request{
		Request: Request{"start", b.workflowID(), stored.WorkflowType}, method: http.MethodPost, path: "/v1/batches", body: body,
	})
	return b, err
}

func (b Batch) workflowID() string { return stored.IDPrefix + b.ID }

func (b Batch) path() string { return "/v1/batches/" + url.PathEscape(b.ID) }

// check returns ErrInvalid with the reason if the batch's id is not one that the server accepts.
func (b Batch) check() error { return invalid(engine.CheckID("batch's id", b.ID)) }

// Describe returns a description of the batch: how far it is, and its last problems. It writes
// nothing, and costs what a query does. It returns ErrNotFound if the batch does not exist.
func (b Batch) Describe(ctx context.Context) (*BatchDescription, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	d := &BatchDescription{}
	_, err := b.client.do(ctx, request{
		Request: Request{"query", b.workflowID(), stored.QueryDescribe}, method: http.MethodGet, path: b.path(), answer: d,
	})
	switch {
	case err != nil:
		return nil, err
	case d.BatchID == "":
		return nil, errForm("request for a description")
	}
	return d, nil
}

// Stop stops the batch. It begins no further step when Stop returns, and a step in progress ends
// within 5 s. What was done with runs stays. Stop returns ErrNotFound if the batch has ended.
func (b Batch) Stop(ctx context.Context, reason string) error {
	return b.steer(ctx, stored.UpdateStop, "/stop", schema.StopBatchRequest{Reason: reason, RequestID: b.client.newID()})
}

// SetRate changes how many runs the batch acts on in a second, from its next step on; 0 is no
// limit. It returns ErrNotFound if the batch has ended.
func (b Batch) SetRate(ctx context.Context, rate float64) error {
	return b.steer(ctx, stored.UpdateRate, "/rate", schema.BatchRateRequest{Rate: rate, RequestID: b.client.newID()})
}

func (b Batch) steer(ctx context.Context, update, verb string, body any) error {
	if err := b.check(); err != nil {
		return err
	}
	_, err := b.client.do(ctx, request{Request: Request{"update", b.workflowID(), update}, method: http.MethodPost, path: b.path() + verb, body: body})
	return err
}

// Batches lists the batches, a page at a time, the latest first. An empty token is the beginning,
// and an empty next is the end. The list follows the log, and may be behind it.
func (c *Client) Batches(ctx context.Context, token string) (page []BatchSummary, next string, err error) {
	q := url.Values{}
	if token != "" {
		q.Set("pageToken", token)
	}
	var answer schema.BatchListResponse
	if _, err := c.do(ctx, request{Request: Request{"list", "", ""}, method: http.MethodGet, path: "/v1/batches", query: q, answer: &answer}); err != nil {
		return nil, "", err
	}
	return answer.Batches, answer.NextPageToken, nil
}
