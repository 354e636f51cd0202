package runlog

import (
	"context"
	"fmt"
	"iter"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// Of a run with a long log, memory keeps the state, the code and the last commits
// (Options.LogBytes, engine.Run.Trim). Any other commit is read here: the store has it for as long
// as the run is there.

// Commits returns the commits of a run from a slot on, in order. It reads those that the run lacks,
// page by page, while the caller goes on.
func (v *View) Commits(ctx context.Context, run *engine.Run, from uint32) engine.Commits {
	return v.Between(ctx, run, from, run.State.NextSlot)
}

// Between is Commits before the slot end. It reads no commits from there on.
func (v *View) Between(ctx context.Context, run *engine.Run, from, end uint32) engine.Commits {
	return func(yield func(*history.Commit, error) bool) {
		for page, err := range v.pages(ctx, run, from, end) {
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

// Pages is Commits in pages as they are read. What the run keeps is a page as well.
func (v *View) Pages(ctx context.Context, run *engine.Run, from uint32) iter.Seq2[[]*history.Commit, error] {
	return v.pages(ctx, run, from, run.State.NextSlot)
}

// pages is Pages before the slot end.
func (v *View) pages(ctx context.Context, run *engine.Run, from, end uint32) iter.Seq2[[]*history.Commit, error] {
	return func(yield func([]*history.Commit, error) bool) {
		var decoder history.Decoder
		for from < end {
			page, err := readPage(ctx, v, run, from, min(run.Lacks(from), int(end-from)), &decoder)
			page = page[:min(len(page), int(end-from))]
			from += uint32(len(page))
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// readPage reads up to limit commits that a run lacks, from a slot on. If limit is 0, the run has
// the commit in that slot, and readPage returns those from there on that it keeps. It returns
// outcome.ErrStale if the store no longer has a commit.
func readPage(ctx context.Context, v *View, run *engine.Run, from uint32, limit int, decoder *history.Decoder) ([]*history.Commit, error) {
	if limit == 0 {
		if from == 0 && run.Lacks(1) > 0 {
			return run.Log[:1], nil
		}
		return run.Log[from:], nil
	}
	read, err := v.Reader.log.Forward(ctx, store.Key{Workflow: v.Known.WorkflowID, Run: run.Number, Slot: from}, limit)
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	commits := make([]*history.Commit, len(read.Items))
	for i, item := range read.Items {
		if item.Slot != from+uint32(i) || !run.Has(item.Slot, item.Commit) {
			return nil, forgetChanged(v, run, from)
		}
		if commits[i], err = decoder.Decode(item.Slot, item.Body); err != nil {
			return nil, err
		}
	}
	if len(commits) == 0 {
		return nil, forgetChanged(v, run, from)
	}
	return commits, nil
}

// forgetChanged forgets all that is known, because a commit is missing that was there: the run has
// been deleted, or the store was restored from a backup.
func forgetChanged(v *View, run *engine.Run, slot uint32) error {
	v.Reader.options.Logger.Warn("a commit is missing that was there", "workflowId", v.Known.WorkflowID, "runId", run.State.RunID, "slot", slot)
	v.owner.Forget()
	return fmt.Errorf("%w: the commit in slot %d is missing that was there", outcome.ErrStale, slot)
}

// Commit returns the commit in a slot of a run, which the run must have.
func (v *View) Commit(ctx context.Context, run *engine.Run, slot uint32) (*history.Commit, error) {
	page, err := readPage(ctx, v, run, slot, min(run.Lacks(slot), 1), &history.Decoder{})
	if err != nil {
		return nil, err
	}
	return page[0], nil
}

// Command returns the command of a run that has an event, or nil.
func (v *View) Command(ctx context.Context, run *engine.Run, event int64) (history.Attributes, error) {
	slot, ok := run.SlotOf(event)
	if !ok {
		return nil, nil
	}
	c, err := v.Commit(ctx, run, slot)
	if err != nil {
		return nil, err
	}
	return engine.Command(c, event), nil
}

// Owed returns the messages that a run owes on behalf of triggers: see engine.Run.Owed.
func (v *View) Owed(ctx context.Context, run *engine.Run, triggers []*engine.Message, except *history.Commit) ([]engine.Message, error) {
	var caused []*history.Commit
	for _, slot := range run.Caused(triggers) {
		c, err := v.Commit(ctx, run, slot)
		if err != nil {
			return nil, err
		}
		caused = append(caused, c)
	}
	return run.Owed(triggers, caused, except), nil
}
