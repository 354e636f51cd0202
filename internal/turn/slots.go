package turn

import (
	"context"
	"fmt"
	"iter"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// Of a run with a long log this process keeps the state, the code and the last commits (Options.LogBytes, engine.Run.Trim). What needs
// another commit reads it here: from the store, which has it for as long as the run is there.

// commits are the commits of a run from a slot on, in order. Those that the run lacks are read, page by page, as far as somebody asks for
// them.
func (t *session) commits(ctx context.Context, run *engine.Run, from uint32) engine.Commits {
	return func(yield func(*history.Commit, error) bool) {
		for page, err := range t.pages(ctx, run, from) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// pages is commits, in pages as they are read. What the run keeps is a page, too.
func (t *session) pages(ctx context.Context, run *engine.Run, from uint32) iter.Seq2[[]*history.Commit, error] {
	return func(yield func([]*history.Commit, error) bool) {
		var decoder history.Decoder
		for from < run.State.NextSlot {
			page, err := t.page(ctx, run, from, run.Lacks(from), &decoder)
			from += uint32(len(page))
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// page reads commits that a run lacks, from a slot on: at most limit. If that is 0, the run does not lack the commit in that slot, and page
// returns those from there on that it keeps. It returns outcome.ErrStale if the store has not what it had.
func (t *session) page(ctx context.Context, run *engine.Run, from uint32, limit int, decoder *history.Decoder) ([]*history.Commit, error) {
	if limit == 0 {
		if from == 0 && run.Lacks(1) > 0 {
			return run.Log[:1], nil
		}
		return run.Log[from:], nil
	}
	read, err := t.Log.Forward(ctx, store.Key{Workflow: t.workflowID, Run: run.Number, Slot: from}, limit)
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	commits := make([]*history.Commit, len(read.Items))
	for i, item := range read.Items {
		if item.Slot != from+uint32(i) || !run.Has(item.Slot, item.Commit) {
			return nil, t.changed(run, from)
		}
		if commits[i], err = decoder.Decode(item.Slot, item.Body); err != nil {
			return nil, err
		}
	}
	if len(commits) == 0 {
		return nil, t.changed(run, from)
	}
	return commits, nil
}

// changed forgets all that is known, because a commit is not there that was: the run has been deleted, or the store has been restored from
// a backup.
func (t *session) changed(run *engine.Run, slot uint32) error {
	t.options.Logger.Warn("a commit is not there that was", "workflowId", t.workflowID, "runId", run.State.RunID, "slot", slot)
	t.forget()
	return fmt.Errorf("%w: the commit in slot %d is not there that was", outcome.ErrStale, slot)
}

// commitIn returns the commit in a slot of a run, which the run must have.
func (t *session) commitIn(ctx context.Context, run *engine.Run, slot uint32) (*history.Commit, error) {
	page, err := t.page(ctx, run, slot, min(run.Lacks(slot), 1), &history.Decoder{})
	if err != nil {
		return nil, err
	}
	return page[0], nil
}

// command returns the command of a run that has an event; nil if there is none.
func (t *session) command(ctx context.Context, run *engine.Run, event int64) (history.Attributes, error) {
	slot, ok := run.SlotOf(event)
	if !ok {
		return nil, nil
	}
	c, err := t.commitIn(ctx, run, slot)
	if err != nil {
		return nil, err
	}
	return engine.Command(c, event), nil
}

// owed is what a run owes on behalf of messages: see engine.Run.Owed.
func (t *session) owed(ctx context.Context, run *engine.Run, triggers []*engine.Message, except *history.Commit) ([]engine.Message, error) {
	var caused []*history.Commit
	for _, slot := range run.Caused(triggers) {
		c, err := t.commitIn(ctx, run, slot)
		if err != nil {
			return nil, err
		}
		caused = append(caused, c)
	}
	return run.Owed(triggers, caused, except), nil
}

// sendOwed sends what a run owes on behalf of messages.
func (t *session) sendOwed(ctx context.Context, run *engine.Run, triggers []*engine.Message) error {
	owed, err := t.owed(ctx, run, triggers, nil)
	if err != nil {
		return err
	}
	return t.outbox.Send(ctx, owed)
}

// catchUp replays what a run lacks of its log and its code has not seen, page by page. The rest of the log is left to whoever runs the code
// next, who also finds out that the code has failed. The caller has made sure that the code may run.
//
// It returns the failure of code that did not come back, or that took its goroutine with it: there is no instance any more then, and the
// code is not to be run for the caller. A page that cannot be read is an error. The code stays where it is then: whoever tries again goes on
// from there.
func (t *session) catchUp(ctx context.Context, run *engine.Run, kind CodeKind) (lost *failure.Failure, err error) {
	seen := uint32(0)
	if in := t.entry.instance; in != nil && in.RunID() == run.State.RunID {
		seen = in.Slot()
	}
	if run.Lacks(max(seen, 1)) == 0 {
		return nil, nil
	}
	in := t.instance(run, nil, run.State.Started)
	for page, err := range t.pages(ctx, run, seen) {
		if err != nil {
			return nil, err
		}
		if page[0].Slot > 0 && run.Lacks(page[0].Slot) == 0 {
			break
		}
		came := make(chan error, 1) // not a variable: code that does not come back may still write to it
		note := t.noteBegin(kind, t.workflowID, in.RunID(), 0)
		ended := t.guard(in, func() { defer t.leaves(in, note); came <- replay(in, page) })
		if !ended || len(came) == 0 {
			lost = t.lost(in, ended, t.options.DeadlockAfter)
			t.dropInstance()
			return lost, nil
		}
		if <-came != nil {
			break
		}
	}
	return nil, nil
}

// replay replays commits.
func replay(in *engine.Instance, commits []*history.Commit) error {
	for _, c := range commits {
		if err := in.Replay(c); err != nil {
			return err
		}
	}
	return nil
}
