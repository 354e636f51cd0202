// Package edge puts the parser of requests before an executor, as the HTTP API does.
package edge

import (
	"context"
	"encoding/json"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/wire"
)

// Service is an executor that accepts requests as callers write them. It parses each as the HTTP
// API does.
type Service struct{ *executor.Service }

// Of returns the service of an executor.
func Of(s *executor.Service) Service { return Service{s} }

// ask parses a request and lets it be carried out.
func ask[C, A any](ctx context.Context, c C, err error, do func(context.Context, C) (A, error)) (answer A, _ error) {
	if err != nil {
		return answer, err
	}
	return do(ctx, c)
}

// Start starts a run.
func (s Service) Start(ctx context.Context, r wire.StartRequest) (*wire.StartResponse, error) {
	c, err := s.Parser().Start(&r)
	return ask(ctx, c, err, s.Service.Start)
}

// StartAndAwait starts a run and waits for its end.
func (s Service) StartAndAwait(ctx context.Context, r wire.StartRequest, wait time.Duration) (*wire.StartResponse, error) {
	c, err := s.Parser().Start(&r)
	if err != nil {
		return nil, err
	}
	return s.Service.StartAndAwait(ctx, c, wait)
}

// Signal sends a signal.
func (s Service) Signal(ctx context.Context, workflowID string, runID history.RunID, name string, r wire.SignalRequest) (*wire.SignalResponse, error) {
	c, err := s.Parser().Signal(workflowID, runID, name, &r)
	return ask(ctx, c, err, s.Service.Signal)
}

// Query runs a query.
func (s Service) Query(ctx context.Context, workflowID string, runID history.RunID, name string, input history.Payload) (*wire.QueryResponse, error) {
	c, err := s.Parser().Query(workflowID, runID, name, &wire.QueryRequest{Input: json.RawMessage(input)})
	return ask(ctx, c, err, s.Service.Query)
}

// Update sends an update.
func (s Service) Update(ctx context.Context, workflowID string, runID history.RunID, name string, r wire.UpdateRequest) (*wire.UpdateResponse, error) {
	c, err := s.Parser().Update(workflowID, runID, name, &r)
	if err != nil {
		return nil, err
	}
	return s.Service.Update(ctx, c)
}

// PollUpdate returns the stage of an update.
func (s Service) PollUpdate(ctx context.Context, workflowID string, runID history.RunID, updateID string, wait time.Duration) (*wire.UpdateResponse, error) {
	c, err := s.Parser().Poll(workflowID, runID, updateID)
	if err != nil {
		return nil, err
	}
	return s.Service.PollUpdate(ctx, c, wait)
}

// FailUpdate fails an accepted update.
func (s Service) FailUpdate(ctx context.Context, workflowID string, runID history.RunID, updateID, reason string) (*wire.UpdateResponse, error) {
	c, err := s.Parser().FailUpdate(workflowID, runID, updateID, &wire.FailUpdateRequest{Reason: reason})
	return ask(ctx, c, err, s.Service.FailUpdate)
}

// Cancel requests a run's cancellation.
func (s Service) Cancel(ctx context.Context, workflowID string, runID history.RunID, reason string) error {
	c, err := s.Parser().End(workflowID, runID, reason)
	if err != nil {
		return err
	}
	return s.Service.Cancel(ctx, c)
}

// Terminate closes a run.
func (s Service) Terminate(ctx context.Context, workflowID string, runID history.RunID, reason string) error {
	c, err := s.Parser().End(workflowID, runID, reason)
	if err != nil {
		return err
	}
	return s.Service.Terminate(ctx, c)
}

// Delete deletes a closed run.
func (s Service) Delete(ctx context.Context, workflowID string, runID history.RunID) error {
	c, err := s.Parser().Delete(workflowID, runID)
	if err != nil {
		return err
	}
	return s.Service.Delete(ctx, c)
}

// Reset opens a run that continues from an earlier task.
func (s Service) Reset(ctx context.Context, workflowID string, runID history.RunID, r wire.ResetRequest) (*wire.ResetResponse, error) {
	c, err := s.Parser().Reset(workflowID, runID, &r)
	return ask(ctx, c, err, s.Service.Reset)
}

// Move moves a run to another build.
func (s Service) Move(ctx context.Context, workflowID string, runID history.RunID, r wire.MoveRequest) (*wire.MoveResponse, error) {
	c, err := s.Parser().Move(workflowID, runID, &r)
	return ask(ctx, c, err, s.Service.Move)
}

// Describe returns the description of a run.
func (s Service) Describe(ctx context.Context, workflowID string, runID history.RunID) (*wire.Description, error) {
	of, err := s.Parser().Target(workflowID, runID)
	return ask(ctx, of, err, s.Service.Describe)
}

// Result returns how a run ended.
func (s Service) Result(ctx context.Context, workflowID string, runID history.RunID, wait time.Duration) (*wire.ResultResponse, error) {
	of, err := s.Parser().Target(workflowID, runID)
	if err != nil {
		return nil, err
	}
	return s.Service.Result(ctx, of, wait)
}

// History returns a page of the events of a run.
func (s Service) History(ctx context.Context, workflowID string, runID history.RunID, from int64) (events []wire.HistoryEvent, id history.RunID, more bool, err error) {
	of, err := s.Parser().Target(workflowID, runID)
	if err != nil {
		return nil, "", false, err
	}
	return s.Service.History(ctx, of, from)
}

// CompleteActivity ends an attempt with a result.
func (s Service) CompleteActivity(ctx context.Context, r wire.CompleteActivityRequest) (*wire.ActivityResponse, error) {
	c, err := s.Parser().CompleteActivity(&r)
	return ask(ctx, c, err, s.EndActivity)
}

// FailActivity ends an attempt with a failure.
func (s Service) FailActivity(ctx context.Context, r wire.FailActivityRequest) (*wire.ActivityResponse, error) {
	c, err := s.Parser().FailActivity(&r)
	return ask(ctx, c, err, s.EndActivity)
}

// HeartbeatActivity reports that an attempt is alive.
func (s Service) HeartbeatActivity(ctx context.Context, r wire.HeartbeatActivityRequest) (*wire.HeartbeatResponse, error) {
	c, err := s.Parser().Heartbeat(&r)
	return ask(ctx, c, err, s.Service.HeartbeatActivity)
}
