package edge

import (
	"context"
	"strconv"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Retry retries the failed task of a run.
func (s Service) Retry(ctx context.Context, workflowID string, runID history.RunID) (*schema.RetryResponse, error) {
	c, err := s.Service.Process.Parser().Target(workflowID, runID)
	return ask(ctx, c, err, s.Service.Steering.Retry)
}

// RetryActivity begins the next attempt at an activity.
func (s Service) RetryActivity(ctx context.Context, workflowID string, runID history.RunID, eventID int64) (*schema.RetryActivityResponse, error) {
	c, err := s.Service.Process.Parser().Activity(workflowID, runID, strconv.FormatInt(eventID, 10))
	return ask(ctx, c, err, s.Service.Steering.RetryActivity)
}

// CompleteByHand ends an activity with a result.
func (s Service) CompleteByHand(ctx context.Context, workflowID string, runID history.RunID, eventID int64, r schema.CompleteByHandRequest) (*schema.ByHandResponse, error) {
	c, err := s.Service.Process.Parser().CompleteByHand(workflowID, runID, strconv.FormatInt(eventID, 10), &r)
	return ask(ctx, c, err, s.Service.Steering.EndByHand)
}

// FailByHand ends an activity with a failure.
func (s Service) FailByHand(ctx context.Context, workflowID string, runID history.RunID, eventID int64, r schema.FailByHandRequest) (*schema.ByHandResponse, error) {
	c, err := s.Service.Process.Parser().FailByHand(workflowID, runID, strconv.FormatInt(eventID, 10), &r)
	return ask(ctx, c, err, s.Service.Steering.EndByHand)
}
