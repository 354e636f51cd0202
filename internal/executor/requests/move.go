package requests

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Move has another build run an open run from now on: this one, or none in particular. Only the build itself can be asked to,
// and it replays the run's history first, from the beginning: where that fails, nothing is written. The run is moved, in the
// log, when Move returns nil.
func (s *Requests) Move(ctx context.Context, m command.Move) (*api.MoveResponse, error) {
	target := s.Options.Build
	if m.Unpin() {
		target = ""
	}
	answer := &api.MoveResponse{Build: target}
	err := s.Request(ctx, m.Workflow(), func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		run, err := t.OpenRun(ctx, m.Run())
		if err != nil {
			return err
		}
		if m.Build() != "" && m.Build() != s.Options.Build {
			return &commit.OtherBuild{WorkflowID: m.Workflow(), RunID: run.State.RunID, Build: m.Build(), Here: s.Options.Build, Moves: true}
		}
		answer.RunID = run.State.RunID
		if run.State.Pinned == target {
			return nil
		}
		return move(ctx, t, run, history.Of(&history.WorkflowExecutionOptionsUpdated{Build: target}))
	})
	return answer, err
}

// move brings the event that moves a run to a task of it that this build runs, on an instance that has replayed everything.
func move(ctx context.Context, t *session.Session, run *engine.Run, moved history.Event) error {
	t.Code.Drop()
	if run.State.Pending == history.PendingStart { // nothing has run yet, and nothing is to run early
		return t.Commit(ctx, []*session.Change{{Run: run, Commit: run.Move(t.Writer(), moved)}}, nil)
	}
	transition, err := t.Step(ctx, run, engine.Task{InputEvents: []history.Event{moved}})
	if err != nil {
		return err
	}
	if f := transition.Failure; f != nil {
		t.Discard()
		return refusal.NotReady.New("the run stays where it is: on build %q its code does not do what its history says, or fails", t.Options.Build).With(f)
	}
	return commit.Transition(ctx, t, run, transition)
}
