package turn

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// firstPage is how many items the first read of a workflow asks for, besides those that it is known to have: the commits
// of most runs, and not many of the runs before.
const firstPage = 128

// known makes sure that something is known of the workflow, current or not. Half of a transaction is not enough: a message of a run that
// has closed would find nothing to repair in the run that the same put has opened.
func (t *session) known(ctx context.Context) error {
	if t.entry.run != nil && !t.torn() {
		return nil
	}
	return t.refresh(ctx)
}

// current makes sure that what is known was read in this session: an answer that writes nothing needs that.
func (t *session) current(ctx context.Context) error {
	if t.fresh {
		return nil
	}
	return t.refresh(ctx)
}

// refresh brings what is known up to now, with a read that begins now. A read that sees a part of a transaction is repeated, see
// errTorn.
func (t *session) refresh(ctx context.Context) error {
	if t.tainted {
		t.forget() // code that hangs holds the run: leave it to it
	}
	err := t.whole(ctx, func() error { return t.refreshOnce(ctx) })
	t.fresh = t.fresh || err == nil
	if err == nil {
		t.entry.prove(t.began)
	}
	return err
}

// refreshOnce is one read of refresh. It returns errTorn if the read saw a part of a transaction. What is known grows in any case:
// what was seen is committed, and stays.
func (t *session) refreshOnce(ctx context.Context) error {
	t.moot = nil
	until, limit := store.Key{}, firstPage+t.expect
	if r := t.entry.run; r != nil {
		until, limit = store.Key{Run: r.Number, Slot: r.State.NextSlot}, 0
	}
	for before := (store.Key{}); ; {
		items, more, err := t.readBack(ctx, before, until, limit)
		if err != nil {
			return err
		}
		if until == (store.Key{}) && len(items) > 0 && items[0].Slot > 0 && more {
			err = t.foldLong(ctx, items)
		} else {
			err = t.fold(items)
		}
		if err != nil {
			return err
		}
		if t.entry.run != nil || len(items) == 0 || !more && until == (store.Key{}) {
			break
		}
		// The run was being deleted, also if it was known: one before it may be there.
		before, until, limit = store.Key{Run: items[0].Run}, store.Key{}, firstPage
	}
	if t.torn() {
		return errTorn
	}
	return nil
}

// foldLong adds a run with a long log to what is known, of which items are the end. It reads the log from its beginning on, and keeps no more
// of it than the cache does. If it cannot read on, what it has added stays.
func (t *session) foldLong(ctx context.Context, items []store.Item) error {
	number, known := items[0].Run, engine.NewRun(t.workflowID, items[0].Run)
	for next := uint32(0); next < items[0].Slot; {
		page, err := t.Log.Forward(ctx, store.Key{Workflow: t.workflowID, Run: number, Slot: next}, int(items[0].Slot-next))
		if err != nil {
			return outcome.OfRead(err)
		}
		if len(page.Items) == 0 || gap(known, page.Items) {
			// The end of the log tells what it means that something is missing. The page may have the first commit, and overlap the end.
			from, _ := slices.BinarySearchFunc(page.Items, items[0].Slot, func(i store.Item, slot uint32) int { return cmp.Compare(i.Slot, slot) })
			return t.fold(append(page.Items[:from:from], items...))
		}
		if err := t.fold(page.Items); err != nil {
			return err
		}
		run := t.entry.run
		if run == nil || run.Number != number { // it is void, or gone
			others := slices.IndexFunc(items, func(i store.Item) bool { return i.Run != number })
			if others < 0 {
				return nil
			}
			return t.fold(items[others:])
		}
		run.Trim(int64(t.options.LogBytes))
		known, next = run, run.State.NextSlot
	}
	return t.fold(items)
}

// expires reports whether an item is of a run that has expiries, as earlier versions of Weft wrote them. What such a run comes to depends on
// all its commits together: see decayed.
func expires(item store.Item) bool {
	c, err := history.Decode(item.Slot, item.Body)
	return err == nil && (c.Expires != 0 || !item.Expires.IsZero())
}

// readBack reads backwards from a key, to the first commit of the latest run that counts, or to until, and returns what it read in
// the order of the log. more says that it did not read to until. It stops before that if a log is longer than may be kept, and nothing is
// known of the workflow.
func (t *session) readBack(ctx context.Context, before, until store.Key, limit int) (items []store.Item, more bool, err error) {
	for size := 0; ; {
		page, err := t.Log.Backward(ctx, t.workflowID, before, until, limit)
		if err != nil {
			return nil, false, outcome.OfRead(err)
		}
		for _, item := range page.Items {
			items, size = append(items, item), size+len(item.Body)
			if item.Slot == 0 && until == (store.Key{}) && !t.gone(item) && !isVoid(item) {
				slices.Reverse(items)
				return items, true, nil
			}
		}
		if !page.More || len(page.Items) == 0 {
			slices.Reverse(items)
			return items, false, nil
		}
		if last := items[len(items)-1]; size > t.options.LogBytes && until == (store.Key{}) && last.Slot > 0 && !expires(last) {
			slices.Reverse(items)
			return items, true, nil
		}
		before, limit = items[len(items)-1].Key, 0
	}
}

// isVoid reports whether an item is the fence that made its run void. It reads no more than the status.
func isVoid(item store.Item) bool {
	var c struct {
		Status history.Status `cbor:"5,keyasint,omitempty"`
	}
	return history.DecodeBody(item.Body, &c) == nil && c.Status == history.Void
}

// fold adds items, in the order of the log, to what is known.
func (t *session) fold(items []store.Item) error {
	for len(items) > 0 {
		number := items[0].Run
		end := slices.IndexFunc(items, func(i store.Item) bool { return i.Run != number })
		if end < 0 {
			end = len(items)
		}
		if err := t.foldRun(number, items[:end]); err != nil {
			return err
		}
		items = items[end:]
	}
	return nil
}

// foldRun adds the items of one run. A void one is no run, and one that lacks some is being deleted, and is not there any more.
func (t *session) foldRun(number uint32, items []store.Item) error {
	e := t.entry
	e.highest = max(e.highest, number)
	run := e.run
	if run == nil || run.Number != number {
		run = engine.NewRun(t.workflowID, number)
	}
	commits, err := decodeAll(items)
	if err != nil {
		return err
	}
	void := commits[0].Status == history.Void || t.decayed(run, items, commits)
	if !void && t.tornRun(run, items) {
		return errTorn
	}
	if void || deleted(run, items, commits) {
		e.noteVanishing(number, firstID(run, items))
		if t.moot == nil {
			t.moot = map[uint32]bool{}
		}
		t.moot[number] = true
		if commits[0].Beside > e.beside {
			e.beside, e.besideAt = commits[0].Beside, commits[0].Time
		}
		if run == e.run {
			t.dropInstance()
			e.run = nil
		}
		return nil
	}
	for i, c := range commits {
		if err := run.Append(c, len(items[i].Body)); err != nil {
			return err
		}
	}
	delete(e.vanishing, number)
	if run != e.run {
		t.dropInstance()
		e.run = run
	}
	return nil
}

// before is the run that a run continues: it knows the ids of updates and signals that may be sent again. It is nil where
// the run continues none, or that one is gone.
func (t *session) before(ctx context.Context, run *engine.Run) (*engine.Run, error) {
	id := run.State.Started.ContinuedFrom
	if id == "" || t.entry.looked == id {
		return t.entry.before, nil
	}
	before, err := t.other(ctx, id)
	if err == nil {
		t.entry.before, t.entry.looked = before, id
	}
	return before, err
}

// previous is the run before another of the same workflow, whether that continues it or not. It is nil where there is none, or
// it is gone.
func (t *session) previous(ctx context.Context, run *engine.Run) (*engine.Run, error) {
	first, err := t.runBefore(ctx, run.Number)
	if first == nil || err != nil {
		return nil, err
	}
	return t.other(ctx, first.RunID)
}

// other reads a run that is not the latest, or nil where there is none with this id. It is not kept. A read that sees a part of a
// transaction is repeated, see errTorn.
func (t *session) other(ctx context.Context, id history.RunID) (run *engine.Run, err error) {
	err = t.whole(ctx, func() (err error) {
		run, err = t.otherOnce(ctx, id)
		return err
	})
	return run, err
}

// otherOnce is one read of other.
func (t *session) otherOnce(ctx context.Context, id history.RunID) (*engine.Run, error) {
	run := engine.NewRun(t.workflowID, id.Number())
	var decoder history.Decoder
	for more := true; more; {
		from := store.Key{Workflow: t.workflowID, Run: run.Number, Slot: run.State.NextSlot}
		page, err := t.Log.Forward(ctx, from, 0)
		if err != nil {
			return nil, outcome.OfRead(err)
		}
		if t.tornRun(run, page.Items) {
			return nil, errTorn
		}
		if gap(run, page.Items) {
			return nil, nil // it is being deleted
		}
		for _, item := range page.Items {
			if t.gone(item) {
				return nil, nil
			}
			c, err := decoder.Decode(item.Slot, item.Body)
			if err != nil {
				return nil, err
			}
			if err := run.Append(c, len(item.Body)); err != nil {
				return nil, err
			}
		}
		run.Trim(int64(t.options.LogBytes))
		more = page.More && len(page.Items) > 0
	}
	switch {
	case run.State.NextSlot == 0, run.State.RunID != id, run.Void():
		return nil, nil
	case run.State.Status.Closed():
		return run, nil
	case t.closesLate(run):
		return nil, errTorn
	}
	return nil, nil // a run before the latest has closed: without its end it has been deleted while it was read
}

// lastCommit reads the last commit of a run before the latest; nil where none of the run is there. It may miss the one that has
// closed the run while the put of that appears in parts.
func (t *session) lastCommit(ctx context.Context, id history.RunID) (*history.Commit, error) {
	page, err := t.Log.Backward(ctx, t.workflowID, store.Key{Workflow: t.workflowID, Run: id.Number() + 1}, store.Key{Workflow: t.workflowID, Run: id.Number()}, 1)
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	if len(page.Items) == 0 || page.Items[0].Run != id.Number() {
		return nil, nil
	}
	return history.Decode(page.Items[0].Slot, page.Items[0].Body)
}

// firstCommit reads the first commit of a run that is not the latest; nil where there is none.
func (t *session) firstCommit(ctx context.Context, number uint32) (first *history.Commit, err error) {
	err = t.whole(ctx, func() (err error) {
		first, err = t.firstCommitOnce(ctx, number)
		return err
	})
	return first, err
}

// firstCommitOnce is one read of firstCommit.
func (t *session) firstCommitOnce(ctx context.Context, number uint32) (*history.Commit, error) {
	page, err := t.Log.Forward(ctx, store.Key{Workflow: t.workflowID, Run: number}, 1)
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	if t.tornRun(engine.NewRun(t.workflowID, number), page.Items) {
		return nil, errTorn
	}
	if len(page.Items) == 0 || page.Items[0].Slot != 0 || t.gone(page.Items[0]) {
		return nil, nil
	}
	return history.Decode(0, page.Items[0].Body)
}
