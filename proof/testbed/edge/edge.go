// Package edge puts the parser of requests before an executor, as the HTTP API does.
package edge

import (
	"context"
	"encoding/json"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
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
func (s Service) Start(ctx context.Context, r schema.StartRequest) (*schema.StartResponse, error) {
	c, err := s.Service.Process.Parser().Start(&r)
	return ask(ctx, c, err, s.Service.Requests.Start)
}

// StartOwn starts one of Weft's own workflows, as its route does.
func (s Service) StartOwn(ctx context.Context, r schema.StartRequest) (*schema.StartResponse, error) {
	c, err := s.Service.Process.Parser().StartOwn(&r)
	return ask(ctx, c, err, s.Service.Requests.Start)
}

// StartAndAwait starts a run and waits for its end.
func (s Service) StartAndAwait(ctx context.Context, r schema.StartRequest, wait time.Duration) (*schema.StartResponse, error) {
	c, err := s.Service.Process.Parser().StartAndAwait(&r, wait.String())
	return ask(ctx, c, err, s.Service.Requests.StartAndAwait)
}

// Signal sends a signal.
func (s Service) Signal(ctx context.Context, workflowID string, runID history.RunID, name string, r schema.SignalRequest) (*schema.SignalResponse, error) {
	c, err := s.Service.Process.Parser().Signal(workflowID, runID, name, &r)
	return ask(ctx, c, err, s.Service.Requests.Signal)
}

// Query runs a query.
func (s Service) Query(ctx context.Context, workflowID string, runID history.RunID, name string, input history.Payload) (*schema.QueryResponse, error) {
	c, err := s.Service.Process.Parser().Query(workflowID, runID, name, &schema.QueryRequest{Input: json.RawMessage(input)})
	return ask(ctx, c, err, s.Service.Requests.Query)
}

// Update sends an update.
func (s Service) Update(ctx context.Context, workflowID string, runID history.RunID, name string, r schema.UpdateRequest) (*schema.UpdateResponse, error) {
	c, err := s.Service.Process.Parser().Update(workflowID, runID, name, &r)
	if err != nil {
		return nil, err
	}
	return s.Service.Requests.Update(ctx, c)
}

// PollUpdate returns the stage of an update.
func (s Service) PollUpdate(ctx context.Context, workflowID string, runID history.RunID, updateID string, wait time.Duration) (*schema.UpdateResponse, error) {
	c, err := s.Service.Process.Parser().Poll(workflowID, runID, updateID, wait.String())
	return ask(ctx, c, err, s.Service.Requests.PollUpdate)
}

// FailUpdate fails an accepted update.
func (s Service) FailUpdate(ctx context.Context, workflowID string, runID history.RunID, updateID, reason string) (*schema.UpdateResponse, error) {
	c, err := s.Service.Process.Parser().FailUpdate(workflowID, runID, updateID, &schema.FailUpdateRequest{Reason: reason})
	return ask(ctx, c, err, s.Service.Steering.FailUpdate)
}

// Cancel requests a run's cancellation.
func (s Service) Cancel(ctx context.Context, workflowID string, runID history.RunID, reason string) error {
	c, err := s.Service.Process.Parser().End(workflowID, runID, reason)
	if err != nil {
		return err
	}
	return s.Service.Requests.Cancel(ctx, c)
}

// Terminate closes a run.
func (s Service) Terminate(ctx context.Context, workflowID string, runID history.RunID, reason string) error {
	c, err := s.Service.Process.Parser().End(workflowID, runID, reason)
	if err != nil {
		return err
	}
	return s.Service.Requests.Terminate(ctx, c)
}

// Delete deletes a closed run.
func (s Service) Delete(ctx context.Context, workflowID string, runID history.RunID) error {
	c, err := s.Service.Process.Parser().Delete(workflowID, runID)
	if err != nil {
		return err
	}
	return s.Service.Maintenance.Delete(ctx, c)
}

// Reset opens a run that continues from an earlier task.
func (s Service) Reset(ctx context.Context, workflowID string, runID history.RunID, r schema.ResetRequest) (*schema.ResetResponse, error) {
	c, err := s.Service.Process.Parser().Reset(workflowID, runID, &r)
	return ask(ctx, c, err, s.Service.Steering.Reset)
}

// Move moves a run to another build.
func (s Service) Move(ctx context.Context, workflowID string, runID history.RunID, r schema.MoveRequest) (*schema.MoveResponse, error) {
	c, err := s.Service.Process.Parser().Move(workflowID, runID, &r)
	return ask(ctx, c, err, s.Service.Steering.Move)
}

// Describe returns the description of a run.
func (s Service) Describe(ctx context.Context, workflowID string, runID history.RunID) (*schema.Description, error) {
	of, err := s.Service.Process.Parser().Describe(workflowID, runID, "")
	return ask(ctx, of, err, s.Service.Reports.Describe)
}

// Result returns how a run ended.
func (s Service) Result(ctx context.Context, workflowID string, runID history.RunID, wait time.Duration) (*schema.ResultResponse, error) {
	of, err := s.Service.Process.Parser().Await(workflowID, runID, wait.String())
	return ask(ctx, of, err, s.Service.Requests.Result)
}

// ResultAfter is Result for a caller who has waited this long before, with requests of the same
// call.
func (s Service) ResultAfter(ctx context.Context, workflowID string, runID history.RunID, wait, waited time.Duration) (*schema.ResultResponse, error) {
	waits := *s.Service.Process.Parser()
	waits.Waited = []string{waited.String()}
	of, err := waits.Await(workflowID, runID, wait.String())
	return ask(ctx, of, err, s.Service.Requests.Result)
}

// History returns a page of the events of a run.
func (s Service) History(ctx context.Context, workflowID string, runID history.RunID, from int64) (events []schema.HistoryEvent, id history.RunID, more bool, err error) {
	token := ""
	if from > 1 {
		token = command.HistoryToken(runID, from)
	}
	of, err := s.Service.Process.Parser().History(workflowID, runID, token)
	if err != nil {
		return nil, "", false, err
	}
	page, err := s.Service.Requests.History(ctx, of)
	if err != nil {
		return nil, "", false, err
	}
	return page.Events, page.RunID, page.More, nil
}

// CompleteActivity ends an attempt with a result.
func (s Service) CompleteActivity(ctx context.Context, r schema.CompleteActivityRequest) (*schema.ActivityResponse, error) {
	c, err := s.Service.Process.Parser().CompleteActivity(&r)
	return ask(ctx, c, err, s.Service.Requests.EndActivity)
}

// FailActivity ends an attempt with a failure.
func (s Service) FailActivity(ctx context.Context, r schema.FailActivityRequest) (*schema.ActivityResponse, error) {
	c, err := s.Service.Process.Parser().FailActivity(&r)
	return ask(ctx, c, err, s.Service.Requests.EndActivity)
}

// HeartbeatActivity reports that an attempt is alive.
func (s Service) HeartbeatActivity(ctx context.Context, r schema.HeartbeatActivityRequest) (*schema.HeartbeatResponse, error) {
	c, err := s.Service.Process.Parser().Heartbeat(&r)
	return ask(ctx, c, err, s.Service.Requests.HeartbeatActivity)
}
