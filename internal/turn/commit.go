package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cron"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// change is a commit that is to be put into a run.
type change struct {
	run    *engine.Run
	commit *history.Commit
	body   []byte // nil until it is encoded
	// over is the commit whose place it may take; zero is none.
	over [16]byte
	// folds says that it has been found to fold, after others of the same put.
	folds bool
}

// writer is what this process brings to a commit that these messages triggered, or none: a fresh id and its clock.
func (t *session) writer(triggers ...*engine.Message) *engine.Writer {
	id := t.world.ID()
	return &engine.Writer{
		Now: t.now(), Commit: id, Build: t.options.Build, Waves: engine.Waves(triggers),
		NextRunID: history.NewRunID(t.view.Highest+1, [8]byte(id[8:])),
		Retention: t.options.Retention, Options: t.options.Engine, NextTime: nextTime,
	}
}

// nextTime is the next moment that a cron expression names.
func nextTime(expression string, after history.Timestamp) history.Timestamp {
	schedule, err := cron.Parse(expression)
	if err != nil {
		return 0 // it was checked before the chain began: an older version knew what this one does not
	}
	return history.At(schedule.Next(after.Time()))
}

// commit commits what a task came to, and the opening of the run that continues this one, if there is one. Without triggers,
// a request brought the task.
func (t *session) commit(ctx context.Context, run *engine.Run, transition *engine.Transition, triggers ...*engine.Message) error {
	changes := []*change{{run: run, commit: transition.Commit}}
	var next *engine.Transition
	if transition.Next != nil {
		var opened []*change
		opened, next = t.opening(ctx, transition.NextRunID, transition.Commit.Time, engine.Task{Brought: transition.Next}, triggers...)
		changes = append(changes, opened...)
	}
	if err := t.inOrder(ctx, changes, triggers); err != nil {
		return err
	}
	t.settle(run, transition)
	if next != nil {
		t.settle(changes[1].run, next)
	}
	return nil
}

// inOrder puts and sends in the order that what triggered the changes asks for.
func (t *session) inOrder(ctx context.Context, changes []*change, triggers []*engine.Message) error {
	if len(triggers) == 0 {
		return t.sendThenPut(ctx, changes...)
	}
	return t.putThenSend(ctx, triggers, changes...)
}

// sendThenPut is how a request commits: the messages first, because nobody would send them if the process died after
// the put. A crash between the two leaves messages that name a commit which is not in the log; their receivers wait for
// it, and fence its slot in the end.
func (t *session) sendThenPut(ctx context.Context, changes ...*change) error {
	return t.undoing(changes, func() error {
		if err := t.encode(changes); err != nil {
			return err
		}
		for _, c := range changes {
			if err := t.outbox.Send(ctx, c.run.Messages(c.commit)); err != nil {
				return err
			}
		}
		err := t.put(ctx, changes)
		if err == nil {
			t.refusals.Works(t.options.Logger, "requests are no longer refused because a store or a queue failed")
		}
		return err
	})
}

// putThenSend is how a message commits: a crash between the two is repaired by the message, which is delivered again and
// sends what its wave owes.
func (t *session) putThenSend(ctx context.Context, triggers []*engine.Message, changes ...*change) error {
	return t.undoing(changes, func() error {
		if err := t.encode(changes); err != nil {
			return err
		}
		if err := t.put(ctx, changes); err != nil {
			return err
		}
		run := changes[0].run
		messages, err := t.view.Owed(ctx, run, triggers, changes[0].commit)
		if err != nil {
			return err
		}
		for _, c := range changes {
			messages = append(messages, c.run.Messages(c.commit)...)
		}
		if t.follows != nil {
			// What it takes is not sent: if this process dies before it is done, the trigger is delivered again, and repairs.
			messages = t.follows.take(run, messages)
		}
		return t.outbox.Send(ctx, messages)
	})
}

// undoing drops the instance where commit fails: it may be ahead of the log.
func (t *session) undoing(changes []*change, commit func() error) error {
	err := commit()
	ids := make([]history.CommitID, len(changes))
	for i, c := range changes {
		ids[i] = c.commit.ID
	}
	t.code.Tasks.Report(err, ids...)
	if err != nil {
		t.code.Drop()
	}
	return err
}

// encode makes the bodies of commits. One that would not fold is a defect of this package: it is found here, and never
// lands.
func (t *session) encode(changes []*change) (err error) {
	total := 0
	for _, c := range changes {
		if err := c.run.Accepts(c.commit); err != nil && !c.folds {
			return err
		}
		if c.body == nil {
			if c.body, err = history.Encode(c.commit); err != nil {
				return err
			}
		}
		if total += len(c.body); len(c.body) > t.options.MaxCommit || total > t.options.maxPut() {
			return outcome.ErrTooLarge
		}
	}
	if len(changes) > store.MaxAppend {
		return outcome.ErrTooLarge
	}
	return nil
}

// fit reports whether a commit is not too large. It makes the commit's body.
func (t *session) fit(c *change) bool {
	body, err := history.Encode(c.commit)
	if err != nil {
		return true // and encode says why it cannot be put
	}
	c.body = body
	return len(body) <= t.options.MaxCommit
}

// deferred returns what a task comes to that does not fit into one commit, but does without the events that it brings: those are
// kept, and a message runs the task. It returns nil where that is no help.
func (t *session) deferred(run *engine.Run, transition *engine.Transition, task engine.Task, triggers ...*engine.Message) *engine.Transition {
	if len(task.Brought) == 0 || len(task.Updates) > 0 || transition.Commit == nil {
		return nil
	}
	rest := *transition.Commit
	rest.Brought = nil
	if t.fit(&change{run: run, commit: transition.Commit}) || !t.fit(&change{run: run, commit: &rest}) {
		return nil
	}
	return &engine.Transition{Commit: run.Defer(t.writer(triggers...), task.Brought)}
}

// put puts commits into their slots, all or none. When it returns nil they are durable, and part of what is known. While
// the answer is not known, the identical put is repeated and nothing else is tried: a second attempt beside one that may
// still land could do the same thing twice.
func (t *session) put(ctx context.Context, changes []*change) error {
	items := make([]store.Item, len(changes))
	for i, c := range changes {
		summary, err := summary(t.workflowID, c, changes[i+1:])
		if err != nil {
			return err
		}
		items[i] = store.Item{
			Key:    store.Key{Workflow: t.workflowID, Run: c.run.Number, Slot: c.commit.Slot},
			Commit: c.commit.ID, Body: c.body, Summary: summary, Over: c.over,
		}
		if c.commit.Status == history.Void {
			items[i].Expires = c.commit.Expires.Time() // nothing else expires
		}
	}
	for try, unknown := 0, false; ; try++ {
		err := t.Log.Append(ctx, items...)
		var conflict *store.Conflict
		switch {
		case err == nil:
			return t.landed(ctx, changes)
		case errors.As(err, &conflict) && own(conflict, items):
			return t.landed(ctx, changes) // an earlier try of this very put
		case errors.As(err, &conflict):
			t.Observed().Observe(ctx, &observe.LostRace{WorkflowID: t.workflowID})
			return outcome.ErrLost
		case errors.Is(err, store.ErrTooLarge):
			return outcome.ErrTooLarge
		case errors.Is(err, store.ErrUnknown):
			unknown = true
		case !unknown && (t.whyRefused(err) != "" || !errors.Is(err, store.ErrThrottled) && ctx.Err() == nil):
			return fmt.Errorf("%w: put: %w", outcome.ErrBusy, err) // and trying again is no use
		case unknown && t.whyRefused(err) != "":
			return fmt.Errorf("%w: put: %w", outcome.ErrUnknown, err) // and nobody finds out for now
		}
		if t.world.Wait(ctx, host.Backoff(t.world, try), nil) != nil || ctx.Err() != nil {
			if unknown {
				return outcome.ErrUnknown
			}
			return outcome.ErrBusy
		}
	}
}

// own reports whether the item that stands in the way is one of the writer's own.
func own(conflict *store.Conflict, items []store.Item) bool {
	for _, item := range items {
		if item.Key == conflict.Existing.Key {
			return item.Commit == conflict.Existing.Commit
		}
	}
	return false
}

// landed adds commits that are in the log to what is known. Those who wait for them are woken when the session leaves the gate: they have
// to enter it to see.
func (t *session) landed(ctx context.Context, changes []*change) error {
	t.tellLanded(ctx, changes)
	t.committed = true
	if t.code.Tainted {
		t.forget() // code that hangs holds the run: leave it to it, and read the log again
		return nil
	}
	for _, c := range changes {
		if err := c.run.Append(c.commit, len(c.body)); err != nil {
			return err
		}
		if c.commit.Status == history.Void {
			t.view.MadeVoid(c.run.Number, c.commit.ID)
			continue // a void run never was
		}
		if t.options.Recorder != nil && c.commit.Status.Closed() {
			t.options.Recorder.Forget(t.workflowID, c.run.Number)
		}
		t.view.Opened(c.run)
	}
	t.view.Prove(t.began)
	return nil
}

// summary is the row that a commit which opens or closes a run, or changes what the list has of it, has there. What later
// commits of the same put change is in the row of the one that opens the run.
func summary(workflowID string, c *change, later []*change) (*store.Summary, error) {
	run, commit := c.run, c.commit
	started, at := run.State.Started, run.State.StartTime
	if commit.Slot == 0 {
		started, at = commit.Opens(), commit.Time
	}
	build, shown := run.Pinned(commit), run.Shown(commit)
	if started == nil || commit.Slot > 0 && !commit.Status.Closed() && build == run.State.Pinned && shown.Equal(run.State.Shown) {
		return nil, nil
	}
	if commit.FromReset() {
		next := []*history.Commit{commit}
		for _, l := range later {
			next = append(next, l.commit)
		}
		shown = run.Shown(next...)
	}
	s := &store.Summary{
		Workflow: workflowID, Run: run.Number, RunID: string(commit.RunID), Type: started.WorkflowType,
		Status: commit.Status.String(), Started: at.Time(), Build: build,
	}
	if commit.Status.Closed() {
		s.Closed = commit.Time.Time()
	}
	var err error
	if s.Attributes, err = row(shown.SearchAttributes, len(shown.SearchAttributes)); err != nil {
		return nil, err
	}
	s.Memo, err = row(shown.Memo, len(shown.Memo))
	return s, err
}

// row is how a row has what a run shows; nothing where there is none of it.
func row(shown any, n int) (string, error) {
	if n == 0 {
		return "", nil
	}
	body, err := history.EncodeBody(shown)
	return string(body), err
}
