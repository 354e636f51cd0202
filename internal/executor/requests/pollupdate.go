package requests

import (
	"cmp"
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// PollUpdate returns the stage of an update that was accepted, when it has completed or the wait is
// over.
// It never runs code.
func (s *Requests) PollUpdate(ctx context.Context, p command.Poll) (*schema.UpdateResponse, error) {
	return pollUpdate(ctx, s.Process, p.Workflow(), p.Run(), p.Update(), p.Waiting, nil)
}

// pollUpdate is PollUpdate. wrote is not nil if this process has just accepted the update.
func pollUpdate(ctx context.Context, s *session.Process, workflowID string, runID history.RunID, updateID string, wait command.Waiting, wrote *wrote) (*schema.UpdateResponse, error) {
	call := &updateCall{request: engine.UpdateRequest{ID: updateID}}
	again, err := await(ctx, s, workflowID, runID, wait, wrote, func(run *engine.Run) (bool, error) {
		if _, admitted := run.State.Admitted[updateID]; admitted {
			call.answer = schema.UpdateResponse{UpdateID: updateID, RunID: run.State.RunID, Stage: schema.StageAdmitted}
			return false, nil
		}
		if run.State.Updates[updateID] == nil {
			return false, refusal.NotFound.New("run %q of workflow %q has accepted no update %q", run.State.RunID, workflowID, updateID)
		}
		call.answer = schema.UpdateResponse{UpdateID: updateID}
		call.outcome(run)
		return call.answer.Stage == schema.StageCompleted, nil
	})
	call.answer.RetryAfter = again
	return &call.answer, err
}

// FailUpdate fails an accepted update of an open run for an operator. Its caller gets the failure.
// Its handler no longer runs, not even when the run is rebuilt. The failure is in the log when
// FailUpdate returns. A completed update keeps its outcome, which is returned, so repeating the
// request does nothing.
func (s *Steering) FailUpdate(ctx context.Context, f command.FailUpdate) (*schema.UpdateResponse, error) {
	workflowID, runID, updateID := f.Workflow(), f.Run(), f.Update()
	call := &updateCall{request: engine.UpdateRequest{ID: updateID}, runID: runID}
	err := s.Process.Request(ctx, workflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureLoaded(ctx); err != nil {
			return err
		}
		call.answer, call.err = schema.UpdateResponse{UpdateID: updateID}, nil
		run := t.Run()
		switch {
		case run == nil:
			return t.RequireFresh(ctx, session.NoSuchWorkflow(workflowID))
		case call.pinsOther(run):
			return t.RequireFresh(ctx, session.NotLatest(workflowID, runID))
		}
		u := run.State.Updates[updateID]
		if u == nil {
			return t.RequireFresh(ctx, refusal.NotFound.New("run %q of workflow %q has accepted no update %q", run.State.RunID, workflowID, updateID))
		}
		if _, _, done := run.State.UpdateOutcome(u); done {
			call.outcome(run)
			return t.RequireFresh(ctx, nil)
		}
		failed := failure.FromError(failure.New("UpdateFailedByOperator", cmp.Or(f.Reason(), "an operator has failed the update")))
		failed.NonRetryable = true
		event := history.Of(&history.WorkflowExecutionUpdateFailed{UpdateID: updateID, AcceptedEventID: u.AcceptedEventID, Failure: failed})
		if err := commit.Event(ctx, t, run, event); err != nil {
			return err
		}
		call.outcome(run)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &call.answer, nil
}
