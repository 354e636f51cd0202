package requests

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Move pins an open run to this build, or unpins it. Only the build itself can be asked to take the
// run. It first replays the run's history from the beginning, and writes nothing if that fails.
// When Move returns nil, the move is in the log.
func (s *Steering) Move(ctx context.Context, m command.Move) (*schema.MoveResponse, error) {
	target := s.Process.Options.Build
	if m.Unpin() {
		target = ""
	}
	answer := &schema.MoveResponse{Build: target}
	err := s.Process.Request(ctx, m.Workflow(), func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		run, err := t.OpenRun(ctx, m.Run())
		if err != nil {
			return err
		}
		if m.Build() != "" && m.Build() != s.Process.Options.Build {
			return &commit.OtherBuild{WorkflowID: m.Workflow(), RunID: run.State.RunID, Build: m.Build(), Here: s.Process.Options.Build, Moves: true}
		}
		answer.RunID = run.State.RunID
		if run.State.Pinned == target {
			return nil
		}
		return move(ctx, t, run, history.Of(&history.WorkflowExecutionOptionsUpdated{Build: target}))
	})
	return answer, err
}

// move commits the event that moves a run, with a task that this build runs on an instance that has
// replayed everything.
func move(ctx context.Context, t *session.Session, run *engine.Run, moved history.Event) error {
	t.Code.Drop()
	if run.State.Pending == history.PendingStart || run.State.Paused != nil { // nothing is to run early
		return t.Commit(ctx, []*session.Change{{Run: run, Commit: run.Move(t.Writer(), moved)}}, nil)
	}
	transition, err := t.Step(ctx, run, engine.Task{InputEvents: []history.Event{moved}})
	if err != nil {
		return err
	}
	if f := transition.Failure; f != nil {
		t.Discard()
		return refusal.NotReady.New("the run stays where it is: on build %q its code does not do what its history says, or fails", t.Process.Options.Build).With(f)
	}
	return commit.Transition(ctx, t, run, transition)
}
