package commit

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Open opens a run with a task. If it replaces a run, it terminates that run in the same put.
// Without triggers, a request caused the task.
func Open(ctx context.Context, t *session.Session, replaced *engine.Run, answer *schema.StartResponse, task engine.Task, triggers ...*engine.Message) (*engine.Run, *engine.Transition, error) {
	random := t.Process.World.ID()
	id := history.NewRunID(t.View.Known.Highest+1, [8]byte(random[:8]))
	opening, transition := opening(ctx, t, id, 0, task, triggers...)
	if transition.Refused != nil {
		t.Discard()
		return nil, nil, refusal.Invalid.New("%v", transition.Refused)
	}
	opened := opening[0].Run
	var changes []*session.Change
	if replaced != nil {
		end := history.Of(&history.WorkflowExecutionTerminated{Reason: "another run was started with idConflictPolicy terminateExisting", ReplacedBy: id})
		changes = append([]*session.Change{{Run: replaced, Commit: replaced.End(t.Writer(), end)}}, opening...)
	} else {
		changes = append(beside(t), opening...)
	}
	if err := t.Commit(ctx, changes, triggers); err != nil {
		return nil, nil, err
	}
	settle(t, opened, transition)
	answer.RunID, answer.Started = id, true
	return opened, transition, nil
}

// opening returns the first commits of a new run, and runs its first task unless the run is to
// wait. A run that waits begins when the previous run closed, if there is one. One put takes all
// the commits.
func opening(ctx context.Context, t *session.Session, id history.RunID, closed history.Timestamp, task engine.Task, triggers ...*engine.Message) ([]*session.Change, *engine.Transition) {
	t.Code.Drop() // of the run before
	run := engine.NewRun(t.WorkflowID, id.Number())
	writer := func() *engine.Writer {
		w := t.Writer(triggers...)
		w.RunID, w.Now = id, max(w.Now, closed) // the clock of another process may be behind
		return w
	}
	w := writer()
	started := engine.Delayed(task.InputEvents[0].Attributes.(*history.WorkflowExecutionStarted), w)
	task.InputEvents[0] = history.Of(started)
	if started.StartDelay == 0 {
		transition := t.Code.FirstStep(ctx, run, w, task)
		if transition.Refused != nil {
			return nil, transition
		}
		opened := &session.Change{Run: run, Commit: transition.Commit}
		if transition.Next == nil && t.Fit(opened) {
			return []*session.Change{opened}, transition
		}
		// The run continues as new at once, but one put opens one run. Or the writes of the first
		// task do not fit into the put that opens the run. A message runs the task instead.
		t.Code.Drop()
		w = writer()
	} else if closed != 0 {
		w.Now = closed // the delay counts from there
	}
	held := held(t, run, w, task.InputEvents)
	return held, &engine.Transition{Commit: held[0].Commit}
}

// held returns the commits that open a run whose first task waits: one, or as many as the signals
// of the start need.
func held(t *session.Session, run *engine.Run, w *engine.Writer, inputEvents []history.Event) []*session.Change {
	whole := &session.Change{Run: run, Commit: run.Hold(w, inputEvents)}
	if len(inputEvents) == 1 || t.Fit(whole) {
		return []*session.Change{whole}
	}
	var all []*session.Change
	draft := engine.NewRun(run.WorkflowID, run.Number)
	for len(inputEvents) > 0 {
		n := together(t, inputEvents)
		c := &session.Change{Run: run, Commit: draft.Hold(w, inputEvents[:n]), Folds: true}
		t.Fit(c)
		if err := draft.Append(c.Commit, len(c.Body)); err != nil {
			return []*session.Change{whole} // it is too large, so its put is refused
		}
		all, inputEvents = append(all, c), inputEvents[n:]
		next := *w
		next.Commit, w = t.Process.World.ID(), &next
	}
	return all
}

// together returns how many of these events fit into one commit, at least one.
func together(t *session.Session, events []history.Event) int {
	size := 0
	for n, e := range events {
		body, err := history.EncodeBody(e)
		if size += len(body); n > 0 && (err != nil || size > t.Process.Options.MaxCommit/16*15) {
			return n
		}
	}
	return len(events)
}
