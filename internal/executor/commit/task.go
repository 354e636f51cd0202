package commit

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// deferred returns what a task comes to that does not fit into one commit, but does without the events that it brings: those are
// kept, and a message runs the task. It returns nil where that is no help.
func deferred(t *session.Session, run *engine.Run, transition *engine.Transition, task engine.Task, triggers ...*engine.Message) *engine.Transition {
	if len(task.InputEvents) == 0 || len(task.Updates) > 0 || transition.Commit == nil {
		return nil
	}
	rest := *transition.Commit
	rest.InputEvents = nil
	if t.Fit(&session.Change{Run: run, Commit: transition.Commit}) || !t.Fit(&session.Change{Run: run, Commit: &rest}) {
		return nil
	}
	return &engine.Transition{Commit: run.Defer(t.Writer(triggers...), task.InputEvents)}
}

// Events commits what messages or a request bring, with what the code does about it.
func Events(ctx context.Context, t *session.Session, run *engine.Run, events []history.Event, triggers ...*engine.Message) error {
	return Task(ctx, t, run, engine.Task{InputEvents: events, CheckSignals: len(triggers) == 0}, triggers...)
}

// Task runs a task that messages brought, and commits it.
func Task(ctx context.Context, t *session.Session, run *engine.Run, task engine.Task, triggers ...*engine.Message) error {
	transition, err := t.Step(ctx, run, task, triggers...)
	switch {
	case err != nil:
		return err
	case transition.Refused != nil:
		return refuseSignal(ctx, t, transition)
	}
	err = Transition(ctx, t, run, transition, triggers...)
	if !errors.Is(err, outcome.ErrTooLarge) {
		return err
	}
	t.Discard()
	kept := deferred(t, run, transition, task, triggers...)
	if kept == nil && len(triggers) == 0 && !task.First {
		return err // a request, which is refused
	}
	if kept == nil {
		// What the code wants to write at once is larger than a commit may be. The events are kept, and the code is at
		// fault: the task fails, and is tried again when other code has been deployed.
		kept = FailTooLarge(ctx, t, run, task, triggers...)
	}
	return Transition(ctx, t, run, kept, triggers...)
}

// FailTooLarge is what a task comes to whose code wants to write more at once than a commit may have.
func FailTooLarge(ctx context.Context, t *session.Session, run *engine.Run, task engine.Task, triggers ...*engine.Message) *engine.Transition {
	w := t.Writer(triggers...)
	failed := run.Fail(w, task, t.TooLarge())
	t.Code.Tasks.Ran(ctx, run, w, task, t.World.Now(), failed)
	return failed
}

// Event commits an event that a request brings, or that these messages do, with what the code does about it.
func Event(ctx context.Context, t *session.Session, run *engine.Run, e history.Event, triggers ...*engine.Message) error {
	if run.Waits() {
		t.Code.Drop() // it has not seen the event
		return Transition(ctx, t, run, &engine.Transition{Commit: run.Keep(t.Writer(triggers...), e)}, triggers...)
	}
	if err := CheckBuild(ctx, t, run); err != nil {
		return err
	}
	return Events(ctx, t, run, []history.Event{e}, triggers...)
}

// refuseSignal tells the sender of a signal that it is refused. Nothing is written.
func refuseSignal(ctx context.Context, t *session.Session, transition *engine.Transition) error {
	current := t.View.Fresh
	t.Discard()
	if !current {
		return t.RequireFresh(ctx, nil) // the run may be another by now
	}
	return refusal.Invalid.New("%v", transition.Refused)
}
