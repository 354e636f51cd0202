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

// deferred returns a transition that keeps the events of a task and lets a message run the task. It
// returns nil unless the task's commit is too large with its events and fits without them.
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

// Events commits the events of messages or of a request, and the code's reaction to them.
func Events(ctx context.Context, t *session.Session, run *engine.Run, events []history.Event, triggers ...*engine.Message) error {
	return Task(ctx, t, run, engine.Task{InputEvents: events, CheckSignals: len(triggers) == 0}, triggers...)
}

// Task runs a task that messages triggered, and commits it.
//
// No code of a paused run is run, except by the task that resumes it: the events are recorded, and
// wait for that task.
func Task(ctx context.Context, t *session.Session, run *engine.Run, task engine.Task, triggers ...*engine.Message) error {
	if run.State.Paused != nil && !task.Resumes() {
		return suspend(ctx, t, run, task, triggers...)
	}
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
		return err // the request is refused
	}
	if kept == nil {
		// The code writes more at once than a commit may hold. The events are kept and the task
		// fails. It is retried when other code has been deployed.
		kept = FailTooLarge(ctx, t, run, task, triggers...)
	}
	return Transition(ctx, t, run, kept, triggers...)
}

// suspend records the events of a task of a paused run.
func suspend(ctx context.Context, t *session.Session, run *engine.Run, task engine.Task, triggers ...*engine.Message) error {
	if len(task.InputEvents) == 0 {
		return nil // the task of the resumption does what this one was for
	}
	t.Code.Drop() // it has not seen the events
	return Transition(ctx, t, run, &engine.Transition{Commit: run.Suspend(t.Writer(triggers...), task.InputEvents)}, triggers...)
}

// FailTooLarge returns the failure of a task whose code writes more at once than a commit may hold.
func FailTooLarge(ctx context.Context, t *session.Session, run *engine.Run, task engine.Task, triggers ...*engine.Message) *engine.Transition {
	w := t.Writer(triggers...)
	failed := run.Fail(w, task, t.Process.TooLarge())
	t.Code.Tasks.Ran(ctx, run, w, task, t.Process.World.Now(), failed)
	return failed
}

// Event commits an event of a request or of these messages, and the code's reaction to it.
func Event(ctx context.Context, t *session.Session, run *engine.Run, e history.Event, triggers ...*engine.Message) error {
	if run.Waits() {
		t.Code.Drop() // it has not seen the event
		return Transition(ctx, t, run, &engine.Transition{Commit: run.Keep(t.Writer(triggers...), e)}, triggers...)
	}
	if run.State.Paused == nil { // otherwise no code runs
		if err := CheckBuild(ctx, t, run); err != nil {
			return err
		}
	}
	return Events(ctx, t, run, []history.Event{e}, triggers...)
}

// refuseSignal returns the refusal of a signal to its sender. Nothing is written.
func refuseSignal(ctx context.Context, t *session.Session, transition *engine.Transition) error {
	current := t.View.Fresh
	t.Discard()
	if !current {
		return t.RequireFresh(ctx, nil) // the run may be another by now
	}
	return refusal.Invalid.New("%v", transition.Refused)
}
