package turn

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
)

// OtherBuild is the refusal of what only another build may do. Nothing was written. To those who know no other build it is
// an api.OtherBuild; the Lambda functions hand what it refuses to the version of themselves that has the build.
type OtherBuild struct {
	WorkflowID string
	RunID      history.RunID
	// Build is the build that may.
	Build string
	// Here is the build that may not.
	Here string
	// Moves says that the run is to be moved there; otherwise it is pinned to it.
	Moves bool
	// Instead is the message that waits for the build in the place of the one that came; nil where that one does.
	Instead *engine.Message
}

// Error says what to do.
func (o *OtherBuild) Error() string {
	if o.Moves {
		return fmt.Sprintf("run %q of workflow %q is to move to build %q, which has to do that, and cannot be reached from build %q: deploy it, beside this one if that is to stay",
			o.RunID, o.WorkflowID, o.Build, o.Here)
	}
	return fmt.Sprintf("run %q of workflow %q is pinned to build %q, which cannot be reached from build %q: deploy that build again beside this one, or move the run to another",
		o.RunID, o.WorkflowID, o.Build, o.Here)
}

// Unwrap is what the caller of a request is told.
func (o *OtherBuild) Unwrap() error { return api.OtherBuild.New("%s", o.Error()) }

// elsewhere reports whether another build alone may run the code of a run, as far as this process knows. Code of a run that
// has closed may run anywhere: it changes nothing.
func (t *session) elsewhere(run *engine.Run) bool {
	pinned := run.State.Pinned
	return pinned != "" && pinned != t.options.Build && !run.State.Status.Closed()
}

// mine returns an OtherBuild if another build alone may run the code of a run. That answer rests on a read of this session:
// the run may have been moved here. That it may run here needs no read: if it has been moved away its commit loses, and what
// commits nothing is answered from a read of its own.
func (t *session) mine(ctx context.Context, run *engine.Run) error {
	if !t.elsewhere(run) {
		return nil
	}
	return t.final(ctx, &OtherBuild{WorkflowID: t.workflowID, RunID: run.State.RunID, Build: run.State.Pinned, Here: t.options.Build})
}

// Move has another build run an open run from now on: this one, or none in particular. Only the build itself can be asked to,
// and it replays the run's history first, from the beginning: where that fails, nothing is written. The run is moved, in the
// log, when Move returns nil.
func (s *Service) Move(ctx context.Context, workflowID string, runID history.RunID, r api.MoveRequest) (*api.MoveResponse, error) {
	if err := checkIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if r.Build != "" && r.Unpin {
		return nil, api.Invalid.New("a move to build %q cannot unpin the run: give either", r.Build)
	}
	target := s.options.Build
	if r.Unpin {
		target = ""
	}
	answer := &api.MoveResponse{Build: target}
	err := s.request(ctx, workflowID, func(ctx context.Context, t *session) error {
		if err := t.view.EnsureFresh(ctx); err != nil {
			return err
		}
		run, err := t.openRun(ctx, runID)
		if err != nil {
			return err
		}
		if r.Build != "" && r.Build != s.options.Build {
			return &OtherBuild{WorkflowID: workflowID, RunID: run.State.RunID, Build: r.Build, Here: s.options.Build, Moves: true}
		}
		answer.RunID = run.State.RunID
		if run.State.Pinned == target {
			return nil
		}
		return t.move(ctx, run, history.Of(&history.WorkflowExecutionOptionsUpdated{Build: target}))
	})
	return answer, err
}

// move brings the event that moves a run to a task of it that this build runs, on an instance that has replayed everything.
func (t *session) move(ctx context.Context, run *engine.Run, moved history.Event) error {
	t.code.Drop()
	if run.State.Pending == history.PendingStart { // nothing has run yet, and nothing is to run early
		return t.sendThenPut(ctx, &change{run: run, commit: run.Move(t.writer(), moved)})
	}
	transition, err := t.step(ctx, run, engine.Task{Brought: []history.Event{moved}})
	if err != nil {
		return err
	}
	if f := transition.Failure; f != nil {
		t.discard()
		return api.NotReady.New("the run stays where it is: on build %q its code does not do what its history says, or fails", t.options.Build).With(f)
	}
	return t.commit(ctx, run, transition)
}
