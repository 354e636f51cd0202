package commit

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// Transition commits the result of a task. If the run continues as new, the same put opens the next
// run. Without triggers, a request caused the task.
func Transition(ctx context.Context, t *session.Session, run *engine.Run, transition *engine.Transition, triggers ...*engine.Message) error {
	changes := []*session.Change{{Run: run, Commit: transition.Commit}}
	var next *engine.Transition
	if transition.Next != nil {
		var opened []*session.Change
		opened, next = opening(ctx, t, transition.NextRunID, transition.Commit.Time, engine.Task{InputEvents: transition.Next}, triggers...)
		changes = append(changes, opened...)
	}
	if err := t.Commit(ctx, changes, triggers); err != nil {
		return err
	}
	settle(t, run, transition)
	if next != nil {
		settle(t, changes[1].Run, next)
	}
	return nil
}

// settle cleans up after a transition's commit has landed: it drops code that failed.
func settle(t *session.Session, run *engine.Run, transition *engine.Transition) {
	if transition.Failure != nil {
		t.Code.Drop()
	}
	t.Code.Unsettled = false
	warn(t, run, transition)
}

// warn reports what an author probably did not intend. It is called after the commit has landed.
//
//   - A signal waits whose name no code has asked for.
//   - A signal was set aside. A refused signal is not reported, because its sender gets the reason.
//   - Update handlers were running when the run closed. Their callers get the error that the run
//     closed first.
func warn(t *session.Session, run *engine.Run, transition *engine.Transition) {
	for _, name := range transition.Unhandled {
		t.Process.Observed().Observe(context.Background(), &observe.Unhandled{Run: runner.Ident(run, "", nil), Signal: name})
		t.Process.Options.Logger.Info("a signal waits: the workflow's code has not asked for signals of its name", "workflowId", t.WorkflowID, "signal", name)
	}
	for _, s := range transition.SetAside {
		t.Process.Options.Logger.Warn("a signal was set aside: its value does not decode",
			"workflowId", t.WorkflowID, "runId", transition.Commit.RunID, "signal", s.Name, "count", s.Count, "want", s.Want)
	}
	if len(transition.Unfinished) > 0 {
		t.Process.Options.Logger.Warn("a run closed while update handlers ran: call workflow.AwaitHandlers before returning",
			"workflowId", t.WorkflowID, "handlers", transition.Unfinished)
	}
}
