package turn

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/store"
)

// The places to reset to, besides an event, and what may be left out.
const (
	firstTask = "firstTask"
	lastTask  = "lastTask"

	excludeUpdates = "updates"
	excludeSignals = "signals"
)

// maxReset is the largest put of a reset, in bytes: a transaction of DynamoDB takes 4 MB, names and keys included. Where large
// commits are kept apart it may be larger.
const maxReset = 3500 << 10

// Reset opens a run that goes on from an earlier task of the latest one, which it terminates if it is open. Both are in the
// log when Reset returns nil, in one put. The new run's first task follows at once; where that does not succeed, a message
// brings it.
//
// It sends, and puts then. A crash between the two leaves messages that name a slot of a run that never was; their
// receivers make it void.
func (s *Service) Reset(ctx context.Context, workflowID string, runID history.RunID, r api.ResetRequest) (*api.ResetResponse, error) {
	if err := checkIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if err := checkReason(r.Reason); err != nil {
		return nil, err
	}
	requestID, err := s.requestID(r.RequestID)
	if err != nil {
		return nil, err
	}
	how := &engine.Reset{
		LeaveUpdates: slices.Contains(r.Exclude, excludeUpdates), LeaveSignals: slices.Contains(r.Exclude, excludeSignals),
		Reason: r.Reason, RequestID: requestID, MaxCommit: s.options.MaxCommit, MaxTotal: s.options.maxPut(),
	}
	if err := checkReset(&r); err != nil {
		return nil, err
	}
	answer := &api.ResetResponse{WorkflowID: workflowID}
	err = s.request(ctx, workflowID, func(ctx context.Context, t *session) error {
		var err error
		answer.RunID, err = t.resetTo(ctx, runID, &r, how)
		return err
	})
	return answer, err
}

// resetTo carries a reset out, and returns the run that it opened, or that an earlier sending of it did.
func (t *session) resetTo(ctx context.Context, runID history.RunID, r *api.ResetRequest, how *engine.Reset) (history.RunID, error) {
	if err := t.view.EnsureFresh(ctx); err != nil {
		return "", err
	}
	run := t.run()
	if run == nil {
		return "", noSuchWorkflow(t.workflowID)
	}
	if made, err := t.sameReset(ctx, run, how.RequestID); err != nil || made != "" {
		return made, err
	}
	if runID != "" && runID != run.State.RunID {
		return "", notLatest(t.workflowID, runID)
	}
	if err := t.mine(ctx, run); err != nil {
		return "", err
	}
	var err error
	if how.EventID, err = t.resetPoint(ctx, run, r); err != nil {
		return "", err
	}
	opened, err := t.reset(ctx, run, how)
	if err != nil {
		return "", err
	}
	made := opened.State.RunID
	if err := t.commitTask(ctx, opened, engine.Task{First: true}); err != nil {
		t.options.Logger.Info("the first task after a reset is left to its message", "workflowId", t.workflowID, "runId", made, "error", err)
	}
	return made, nil
}

// maxLookBack is how many runs before the latest a reset looks for one that an earlier sending of it has made.
const maxLookBack = 10

// sameReset returns the run that an earlier sending of the same reset made: the latest, or one that this one comes from, by
// other resets or because it failed. Each look is a read.
func (t *session) sameReset(ctx context.Context, run *engine.Run, requestID string) (history.RunID, error) {
	for range maxLookBack {
		from := run.State.Started.ContinuedFrom
		if run.State.Reset != nil {
			if run.State.Reset.RequestID == requestID {
				return run.State.RunID, nil
			}
			from = run.State.Reset.BaseRunID
		}
		if from == "" {
			break
		}
		before, err := t.view.Other(ctx, from)
		if before == nil {
			return "", err
		}
		run = before
	}
	return "", nil
}

func checkReset(r *api.ResetRequest) error {
	given := 0
	for _, is := range []bool{r.EventID != 0, r.To != "", r.Build != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return api.Invalid.New("say what to reset to: give one of eventId, to, and build")
	}
	if r.To != "" && r.To != firstTask && r.To != lastTask {
		return api.Invalid.New("there is no task %q to reset to: give %s or %s", r.To, firstTask, lastTask)
	}
	for _, what := range r.Exclude {
		if what != excludeUpdates && what != excludeSignals {
			return api.Invalid.New("a reset cannot exclude %q: give %s or %s", what, excludeUpdates, excludeSignals)
		}
	}
	return nil
}

// resetPoint is an event of the task that a request means.
func (t *session) resetPoint(ctx context.Context, run *engine.Run, r *api.ResetRequest) (int64, error) {
	if r.EventID != 0 {
		return r.EventID, nil
	}
	if last := run.State.LastTask; r.To == lastTask && last != nil {
		return last.TaskScheduledID(), nil
	}
	for c, err := range engine.Tasks(t.view.Commits(ctx, run, 0)) {
		switch {
		case err != nil:
			return 0, err
		case r.Build == "", c.Task.Build == r.Build && c.Task.Reset == nil:
			return c.TaskScheduledID(), nil
		}
	}
	if r.Build != "" {
		return 0, api.Invalid.New("no task of run %q ran under build %q", run.State.RunID, r.Build)
	}
	return 0, api.Invalid.New("run %q has had no task yet: there is nothing to reset it to", run.State.RunID)
}

func resetTooLarge(err error) error {
	return api.TooLarge.New("%v: reset to another task, or exclude updates and signals", err)
}

// reset opens the run that goes on from an earlier task of run.
func (t *session) reset(ctx context.Context, run *engine.Run, how *engine.Reset) (*engine.Run, error) {
	t.code.Drop()
	w := t.writer()
	w.RunID = w.NextRunID
	commits, err := run.Reset(w, how, t.view.Commits(ctx, run, 0))
	switch {
	case errors.Is(err, engine.ErrResetTooLarge):
		return nil, resetTooLarge(err)
	case errors.Is(err, engine.ErrNoTask):
		return nil, api.Invalid.New("%v", err)
	case err != nil:
		return nil, err
	}
	var changes []*change
	var messages []engine.Message
	if !run.State.Status.Closed() {
		end := history.Of(&history.WorkflowExecutionTerminated{Reason: "the run was reset", NewRunID: w.RunID, ResetEventID: commits[len(commits)-1].TaskScheduledID()})
		ended := &change{run: run, commit: run.End(t.writer(), end)}
		if err := t.encode([]*change{ended}); err != nil {
			return nil, err
		}
		changes, messages = append(changes, ended), run.Messages(ended.commit)
	}
	opened := engine.NewRun(t.workflowID, w.RunID.Number())
	draft := engine.NewRun(t.workflowID, opened.Number)
	for _, c := range commits {
		body, err := history.Encode(c)
		if err == nil {
			err = draft.Append(c, len(body)) // what does not fold never lands
		}
		if err != nil {
			return nil, err
		}
		changes = append(changes, &change{run: opened, commit: c, body: body})
	}
	if len(changes) > store.MaxAppend {
		return nil, resetTooLarge(engine.ErrResetTooLarge)
	}
	for m := range waiting(draft, draft.Commits()) {
		messages = append(messages, m)
	}
	return opened, t.undoing(changes, func() error {
		if err := t.outbox.Send(ctx, messages); err != nil {
			return err
		}
		return t.put(ctx, changes)
	})
}
