package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// WaitHistory returns the events of the latest run, or of the run with runID, from the event with
// the id from on, as many as one page holds (1,000, and about 1 MiB). If there are none yet, it
// waits until there are, or until the run has closed. The context bounds the wait. Give the RunID
// and the Next of an answer to continue, until it is Closed. NewRunID is then the run that follows,
// if there is one: its first event is 1.
//
//	for next := int64(1); ; {
//		page, err := c.WaitHistory(ctx, "order-7", runID, next)
//		if err != nil || page.Closed {
//			break
//		}
//		runID, next = string(page.RunID), page.Next
//	}
//
// On a local server it is a request for each 20 s of the wait. On AWS it is one for each pause that
// the function asks for, of five seconds at most: one read, or four in the first.
func (c *Client) WaitHistory(ctx context.Context, workflowID, runID string, from int64) (*History, error) {
	q := runQuery(runID)
	q.Set("from", strconv.FormatInt(from, 10))
	w := c.waiter(q)
	for {
		var page History
		_, err := c.do(ctx, request{
			Request: Request{"history", workflowID, ""}, method: http.MethodGet, path: path(workflowID, "history"), query: q, waiter: w, answer: &page,
		})
		switch {
		case err != nil:
			return nil, err
		case page.RunID == "" || page.Next < from:
			return nil, errForm("request for a history")
		case len(page.Events) > 0 || page.Closed:
			return &page, nil
		}
		q.Set("runId", string(page.RunID)) // the same run, even if another one is started
		if err := w.pause(ctx, page.RetryAfter); err != nil {
			return nil, err
		}
	}
}

// ChainedRun is a run of a workflow: how it began, and how it ended.
type ChainedRun = schema.ChainedRun

// Runs returns a page of the runs of a workflow, the latest first: the chain of those that continue
// each other, and those of earlier starts of the id. An empty token is the beginning, and an empty
// next is the end. Runs that have expired or were deleted are left out. A page has at most 20 runs,
// and costs a read for the latest run and two for each other one.
func (c *Client) Runs(ctx context.Context, workflowID, token string) (page []ChainedRun, next string, err error) {
	q := runQuery("")
	if token != "" {
		q.Set("pageToken", token)
	}
	var answer schema.RunsResponse
	_, err = c.do(ctx, request{Request: Request{"runs", workflowID, ""}, method: http.MethodGet, path: path(workflowID, "runs"), query: q, answer: &answer})
	if err == nil && answer.Runs == nil {
		err = errForm("list of runs")
	}
	return answer.Runs, answer.NextPageToken, err
}

// What opens a ChainedRun: its StartedBy.
const (
	StartedByRequest       = schema.ByStart
	StartedByParent        = schema.ByParent
	StartedByContinueAsNew = schema.ByContinueAsNew
	StartedByRetry         = schema.ByRetry
	StartedByCron          = schema.ByCron
	StartedByReset         = schema.ByReset
)
