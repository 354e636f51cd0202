package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cron"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// Change is a commit to put into a run.
type Change struct {
	Run    *engine.Run
	Commit *history.Commit
	Body   []byte // nil until it is encoded
	// Over is the commit that it may replace; zero if none.
	Over [16]byte
	// Folds says that the commit has been checked: it folds after the others of the same put.
	Folds bool
}

// Writer returns the writer of a commit that these messages triggered, or a request: a fresh id and
// the clock.
func (t *Session) Writer(triggers ...*engine.Message) *engine.Writer {
	id := t.Process.World.ID()
	return &engine.Writer{
		Now: t.Process.Timestamp(), Commit: id, Build: t.Process.Options.Build, CausationIDs: engine.CausationIDs(triggers),
		NextRunID: history.NewRunID(t.View.Known.Highest+1, [8]byte(id[8:])),
		Retention: t.Process.Options.Retention, Options: t.Process.Options.Engine, NextTime: nextTime,
	}
}

// nextTime returns the next moment of a cron expression, or 0 if it cannot be parsed.
func nextTime(expression string, after history.Timestamp) history.Timestamp {
	schedule, err := cron.Parse(expression)
	if err != nil {
		return 0 // it was checked before the chain began: an older version knew what this one does not
	}
	return history.At(schedule.Next(after.Time()))
}

// Commit commits changes in one put, and sends the messages that they schedule. If triggers is
// empty, a request caused the changes, and Commit sends first: nobody would send the messages if
// the process died after the put. A crash before the put leaves messages that name a commit which
// is not in the log. Their receivers wait for it, and finally fence its slot.
//
// Otherwise these messages triggered the changes, and Commit puts first. A crash after the put is
// repaired by a trigger: it is redelivered, and its receiver sends what its causation id owes.
//
// After an error the instance of the code is dropped, because it may be ahead of the log.
func (t *Session) Commit(ctx context.Context, changes []*Change, triggers []*engine.Message) error {
	err := t.Encode(changes)
	if err == nil && len(triggers) == 0 {
		err = t.sendBefore(ctx, changes)
	}
	if err == nil {
		err = t.Put(ctx, changes)
	}
	switch {
	case err != nil:
	case len(triggers) > 0:
		err = t.sendAfter(ctx, changes, triggers)
	default:
		t.Process.refusals.Work(t.Process.Options.Logger, "requests are no longer refused because a store or a queue failed")
	}
	t.Committed(changes, err)
	return err
}

// sendBefore sends the messages scheduled by the changes of a request.
func (t *Session) sendBefore(ctx context.Context, changes []*Change) error {
	for _, c := range changes {
		if err := t.Process.Outbox.Send(ctx, c.Run.Messages(c.Commit)); err != nil {
			return err
		}
	}
	return nil
}

// sendAfter sends the messages scheduled by changes that messages triggered, and what else the run
// owes to these triggers.
func (t *Session) sendAfter(ctx context.Context, changes []*Change, triggers []*engine.Message) error {
	run := changes[0].Run
	messages, err := t.View.Owed(ctx, run, triggers, changes[0].Commit)
	if err != nil {
		return err
	}
	for _, c := range changes {
		messages = append(messages, c.Run.Messages(c.Commit)...)
	}
	if t.Follows != nil {
		// What Follows takes is not sent. If this process dies before that is done, the trigger is
		// redelivered and repairs.
		messages = t.Follows.Take(run, messages)
	}
	return t.Process.Outbox.Send(ctx, messages)
}

// Committed reports the outcome of changes to the code's tasks. After an error it drops the
// instance of the code, which may be ahead of the log.
func (t *Session) Committed(changes []*Change, err error) {
	ids := make([]history.CommitID, len(changes))
	for i, c := range changes {
		ids[i] = c.Commit.ID
	}
	t.Code.Tasks.Report(err, ids...)
	if err != nil {
		t.Code.Drop()
	}
}

// Encode encodes the bodies of commits. It returns an error for a commit that would not fold, a
// defect of this package, so that it never lands.
func (t *Session) Encode(changes []*Change) (err error) {
	total := 0
	for _, c := range changes {
		if err := c.Run.Accepts(c.Commit); err != nil && !c.Folds {
			return err
		}
		if c.Body == nil {
			if c.Body, err = history.Encode(c.Commit); err != nil {
				return err
			}
		}
		if total += len(c.Body); len(c.Body) > t.Process.Options.MaxCommit || total > t.Process.Options.MaxPut() {
			return outcome.ErrTooLarge
		}
	}
	if len(changes) > store.MaxAppend {
		return outcome.ErrTooLarge
	}
	return nil
}

// Fit reports whether a commit is small enough. It encodes the commit's body.
func (t *Session) Fit(c *Change) bool {
	body, err := history.Encode(c.Commit)
	if err != nil {
		return true // Encode says why it cannot be put
	}
	c.Body = body
	return len(body) <= t.Process.Options.MaxCommit
}

// Put puts commits into their slots, all or none. When it returns nil they are durable, and part of
// what is known. While the answer is unknown, it repeats the identical put and tries nothing else:
// a second attempt beside one that may still land could do the same thing twice.
func (t *Session) Put(ctx context.Context, changes []*Change) error {
	items := make([]store.Item, len(changes))
	for i, c := range changes {
		summary, err := summary(t.WorkflowID, c, changes[i+1:])
		if err != nil {
			return err
		}
		t.listed = t.listed || summary != nil
		items[i] = store.Item{
			Key:    store.Key{Workflow: t.WorkflowID, Run: c.Run.Number, Slot: c.Commit.Slot},
			Commit: c.Commit.ID, Body: c.Body, Summary: summary, Over: c.Over,
		}
		if c.Commit.Status == history.Void {
			items[i].Expires = c.Commit.Expires.Time() // nothing else expires
		}
	}
	for try, unknown := 0, false; ; try++ {
		if t.Process.World.Now().Sub(changes[0].Commit.Time.Time()) > oldestPut {
			return givenUp(unknown)
		}
		err := t.Process.Log.Append(ctx, items...)
		conflict, conflicts := errors.AsType[*store.Conflict](err)
		switch {
		case err == nil:
			return addLanded(ctx, t, changes)
		case conflicts && own(conflict, items):
			return addLanded(ctx, t, changes) // an earlier try of this put landed
		case conflicts:
			t.Process.Observed().Observe(ctx, &observe.LostRace{WorkflowID: t.WorkflowID})
			return outcome.ErrLost
		case errors.Is(err, store.ErrTooLarge):
			return outcome.ErrTooLarge
		case errors.Is(err, store.ErrUnknown):
			unknown = true
		case !unknown && (t.Process.Options.whyRefused(err) != "" || !errors.Is(err, store.ErrThrottled) && ctx.Err() == nil):
			return outcome.OfStore("put", err) // retrying is useless
		case unknown && t.Process.Options.whyRefused(err) != "":
			return &outcome.Unknown{Cause: refusal.ByStore, Err: fmt.Errorf("put: %w", err)} // the outcome stays unknown for now
		}
		if t.Process.World.Wait(ctx, host.Backoff(t.Process.World, try), nil) != nil || ctx.Err() != nil {
			return givenUp(unknown)
		}
	}
}

// oldestPut is the age of a commit from which on it is no longer put. A machine may sleep between
// the decision and the put. Readers know by the age of a commit whether others of its put may be
// missing (runlog.Reader.IsRecent). A put lands at most 15 minutes after this age, because AWS
// refuses older requests.
const oldestPut = 15 * time.Minute

// givenUp returns the error of a put that is not tried again. unknown says that an earlier try may
// have landed.
func givenUp(unknown bool) error {
	if unknown {
		return &outcome.Unknown{Cause: refusal.ByStore}
	}
	return &outcome.Busy{Cause: refusal.ByStore}
}

// own reports whether the conflicting item is one of the writer's own.
func own(conflict *store.Conflict, items []store.Item) bool {
	for _, item := range items {
		if item.Key == conflict.Existing.Key {
			return item.Commit == conflict.Existing.Commit
		}
	}
	return false
}

// addLanded adds commits that are in the log to what is known. Those who wait for them wake when
// the session releases the lock, because they need it to look.
func addLanded(ctx context.Context, t *Session, changes []*Change) error {
	reportLanded(ctx, t, changes)
	t.committed = true
	if t.Code.Tainted {
		t.Forget() // code that hangs holds the run: leave the run to it, and read the log again
		return nil
	}
	for _, c := range changes {
		if err := c.Run.Append(c.Commit, len(c.Body)); err != nil {
			return err
		}
		if c.Commit.Status == history.Void {
			t.View.Known.MadeVoid(c.Run.Number, c.Commit.ID)
			continue // a void run never was
		}
		if t.Process.Options.Recorder != nil && c.Commit.Status.Closed() {
			t.Process.Options.Recorder.Forget(t.WorkflowID, c.Run.Number)
		}
		t.View.Known.Opened(c.Run)
	}
	t.View.Known.Prove(t.began)
	return nil
}

// summary returns the list's row for a commit that opens or closes a run, or changes what the list
// has of it, and nil for others. Changes by later commits of the same put are in the row of the one
// that opens the run.
func summary(workflowID string, c *Change, later []*Change) (*store.Summary, error) {
	run, commit := c.Run, c.Commit
	if !run.Listed(commit) {
		return nil, nil
	}
	started, at := run.State.Started, run.State.StartTime
	if commit.Slot == 0 {
		started, at = commit.Opens(), commit.Time
	}
	build, visibility := run.Pinned(commit), run.Visibility(commit)
	next := []*history.Commit{commit}
	for _, l := range later {
		if l.Run == run {
			next = append(next, l.Commit)
		}
	}
	facts := run.Facts(next...)
	if commit.Status.Closed() {
		facts.Spent = run.Spent(commit, len(c.Body))
	}
	if commit.FromReset() {
		visibility = run.Visibility(next...)
	}
	s := &store.Summary{
		Workflow: workflowID, Run: run.Number, RunID: string(commit.RunID), Type: started.WorkflowType,
		Status: commit.Status.String(), Started: at.Time(), Build: build,
	}
	if commit.Status.Closed() {
		s.Closed = commit.Time.Time()
	}
	var err error
	if s.Attributes, err = row(visibility.SearchAttributes, len(visibility.SearchAttributes)); err != nil {
		return nil, err
	}
	if s.Memo, err = row(visibility.Memo, len(visibility.Memo)); err != nil || facts.Empty() {
		return s, err
	}
	s.Facts, err = row(facts, 1)
	return s, err
}

// row returns the encoded form of a run's visibility for a row, or "" if it is empty.
func row(visibility any, n int) (string, error) {
	if n == 0 {
		return "", nil
	}
	body, err := history.EncodeBody(visibility)
	return string(body), err
}
