package requests

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// Reset opens a run that goes on from an earlier task of the latest one, which it terminates if it
// is open. Both are in the log when Reset returns nil, in one put. The new run's first task follows
// at once; where that does not succeed, a message brings it.
//
// It sends, and puts then. A crash between the two leaves messages that name a slot of a run that
// never was; their receivers make it void.
func (s *Steering) Reset(ctx context.Context, r *command.Reset) (*schema.ResetResponse, error) {
	how := &engine.Reset{
		LeaveUpdates: r.WithoutUpdates(), LeaveSignals: r.WithoutSignals(),
		Reason: r.Reason(), RequestID: r.RequestID(), MaxCommit: s.Process.Options.MaxCommit, MaxTotal: s.Process.Options.MaxPut(),
	}
	answer := &schema.ResetResponse{WorkflowID: r.Workflow()}
	err := s.Process.Request(ctx, r.Workflow(), func(ctx context.Context, t *session.Session) error {
		var err error
		answer.RunID, err = resetTo(ctx, t, r, how)
		return err
	})
	return answer, err
}

// resetTo carries out a reset. It returns the run that it opened, or that an earlier attempt at the
// same request opened.
func resetTo(ctx context.Context, t *session.Session, r *command.Reset, how *engine.Reset) (history.RunID, error) {
	if err := t.View.EnsureFresh(ctx); err != nil {
		return "", err
	}
	run := t.Run()
	if run == nil {
		return "", session.NoSuchWorkflow(t.WorkflowID)
	}
	if made, err := sameReset(ctx, t, run, how.RequestID); err != nil || made != "" {
		return made, err
	}
	if r.Run() != "" && r.Run() != run.State.RunID {
		return "", session.NotLatest(t.WorkflowID, r.Run())
	}
	if err := checkDelivery(run); err != nil {
		return "", err
	}
	if err := commit.CheckBuild(ctx, t, run); err != nil {
		return "", err
	}
	var err error
	if how.EventID, err = resetPoint(ctx, t, run, r); err != nil {
		return "", err
	}
	opened, err := reset(ctx, t, run, how)
	if err != nil {
		return "", err
	}
	made := opened.State.RunID
	if err := commit.Task(ctx, t, opened, engine.Task{First: true}); err != nil {
		t.Process.Options.Logger.Info("the first task after a reset is left to its message", "workflowId", t.WorkflowID, "runId", made, "error", err)
	}
	return made, nil
}

// sameReset returns the run that an earlier attempt at the same reset opened: the latest, or one
// that the latest continues after other resets or failures. Each look is a read.
func sameReset(ctx context.Context, t *session.Session, run *engine.Run, requestID string) (history.RunID, error) {
	for range session.MaxLookBack {
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
		before, err := t.View.Other(ctx, from)
		if before == nil {
			return "", err
		}
		run = before
	}
	return "", nil
}

// resetPoint is an event of the task that a request means.
func resetPoint(ctx context.Context, t *session.Session, run *engine.Run, r *command.Reset) (int64, error) {
	if r.Event() != 0 {
		return r.Event(), nil
	}
	if last := run.State.LastTask; r.Last() && last != nil {
		return last.TaskScheduledID(), nil
	}
	for c, err := range engine.Tasks(t.View.Commits(ctx, run, 0)) {
		switch {
		case err != nil:
			return 0, err
		case r.Build() == "", c.Task.Build == r.Build() && c.Task.Reset == nil:
			return c.TaskScheduledID(), nil
		}
	}
	if r.Build() != "" {
		return 0, refusal.Invalid.New("no task of run %q ran under build %q", run.State.RunID, r.Build())
	}
	return 0, refusal.Invalid.New("run %q has had no task yet: there is nothing to reset it to", run.State.RunID)
}

// checkDelivery refuses the reset of a run that delivers a notification, unless it has closed
// without success. The receiver would get the notification twice.
func checkDelivery(run *engine.Run) error {
	if status := run.State.Status; command.IsDelivery(run.WorkflowID) && (!status.Closed() || status == history.Completed) {
		return refusal.Invalid.New("workflow %q is one of Weft's own, and delivers a notification: it is %s, and only one that has closed without success can be reset", run.WorkflowID, status)
	}
	return nil
}

func resetTooLarge(err error) error {
	return refusal.TooLarge.New("%v: reset to another task, or exclude updates and signals", err)
}

// reset opens the run that continues from an earlier task of run.
func reset(ctx context.Context, t *session.Session, run *engine.Run, how *engine.Reset) (*engine.Run, error) {
	t.Code.Drop()
	w := t.Writer()
	w.RunID = w.NextRunID
	commits, err := run.Reset(w, how, t.View.Commits(ctx, run, 0))
	switch {
	case errors.Is(err, engine.ErrResetTooLarge):
		return nil, resetTooLarge(err)
	case errors.Is(err, engine.ErrNoTask):
		return nil, refusal.Invalid.New("%v", err)
	case err != nil:
		return nil, err
	}
	var changes []*session.Change
	var messages []engine.Message
	if !run.State.Status.Closed() {
		end := history.Of(&history.WorkflowExecutionTerminated{Reason: "the run was reset", NewRunID: w.RunID, ResetEventID: commits[len(commits)-1].TaskScheduledID()})
		ended := &session.Change{Run: run, Commit: run.End(t.Writer(), end)}
		if err := t.Encode([]*session.Change{ended}); err != nil {
			return nil, err
		}
		changes, messages = append(changes, ended), run.Messages(ended.Commit)
	}
	opened := engine.NewRun(t.WorkflowID, w.RunID.Number())
	draft := engine.NewRun(t.WorkflowID, opened.Number)
	for _, c := range commits {
		body, err := history.Encode(c)
		if err == nil {
			err = draft.Append(c, len(body)) // a commit that does not fold never lands
		}
		if err != nil {
			return nil, err
		}
		changes = append(changes, &session.Change{Run: opened, Commit: c, Body: body})
	}
	if len(changes) > store.MaxAppend {
		return nil, resetTooLarge(engine.ErrResetTooLarge)
	}
	for m := range inbox.Waiting(draft, draft.Commits()) {
		messages = append(messages, m)
	}
	err = t.Process.Outbox.Send(ctx, messages)
	if err == nil {
		err = t.Put(ctx, changes)
	}
	t.Committed(changes, err)
	return opened, err
}
