package runlog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// firstPage is how many items the first read of a workflow asks for, besides those that it is known
// to have: the commits of most runs, and not many of the runs before.
const firstPage = 128

// Owner is the session that a View belongs to.
type Owner interface {
	// BeforeRead is called before a read of the latest run.
	BeforeRead()
	// RunReplaced is called when the latest run is another one than before, or is gone. Its code is
	// of no use.
	RunReplaced()
	// Forget makes the session forget all that it knows.
	Forget()
}

// View is what a session knows of a workflow. It belongs to one session.
type View struct {
	Reader *Reader
	Known  *Known
	// Fresh says that the latest run was read since the session began. An answer that writes
	// nothing needs that.
	Fresh bool
	// Expect is how many commits the latest run has at least. The first read asks for that many.
	Expect int

	owner Owner
	// began is when the session did. No other session of this process has written to the workflow
	// since.
	began time.Time
	// moot has the numbers of the runs that the last read saw and that are void or gone.
	moot map[uint32]bool
}

// NewView returns the view of a session, which begins now, on what the process knows.
func NewView(r *Reader, k *Known, o Owner) View {
	return View{Reader: r, Known: k, owner: o, began: r.host.Now()}
}

// Reset replaces what is known. The session has not read it.
func (v *View) Reset(k *Known) { v.Known, v.Fresh = k, false }

// IsMoot reports whether the last read has seen that a run is void or gone.
func (v *View) IsMoot(number uint32) bool { return v.moot[number] }

// EnsureLoaded reads the latest run unless it is known, outdated or not. Half of a transaction is
// not enough: a message of a run that has closed would find nothing to repair in the run that the
// same put has opened.
func (v *View) EnsureLoaded(ctx context.Context) error {
	if v.Known.Run != nil && !v.Reader.isTorn(v.Known) {
		return nil
	}
	return v.Refresh(ctx)
}

// EnsureFresh reads the latest run unless this session has read it. An answer that writes nothing
// needs that.
func (v *View) EnsureFresh(ctx context.Context) error {
	if v.Fresh {
		return nil
	}
	return v.Refresh(ctx)
}

// Refresh reads what is new in the log. The read begins now. It is repeated while it sees a part of
// a transaction.
func (v *View) Refresh(ctx context.Context) error {
	v.owner.BeforeRead()
	err := v.Reader.whole(ctx, func() error { return refreshOnce(ctx, v) })
	v.Fresh = v.Fresh || err == nil
	if err == nil {
		v.Known.Prove(v.began)
	}
	return err
}

// refreshOnce is one read of Refresh. It returns errTorn if the read saw a part of a transaction.
// What was seen is committed and stays, so it becomes part of what is known in any case.
func refreshOnce(ctx context.Context, v *View) error {
	v.moot = nil
	until, limit := store.Key{}, firstPage+v.Expect
	if r := v.Known.Run; r != nil {
		until, limit = nextKey(r), 0
	}
	for before := (store.Key{}); ; {
		items, more, err := v.readBack(ctx, before, until, limit)
		if err != nil {
			return err
		}
		if r := v.Known.Run; r != nil && until.Slot < r.State.NextSlot {
			if len(items) == 0 || items[0].Run != r.Number || !r.Has(items[0].Slot, items[0].Commit) {
				// The run has been deleted. Nothing that was known of the workflow counts any more:
				// what this read has skipped may be the latest run.
				v.owner.Forget()
				until, limit = store.Key{}, firstPage
				continue
			}
			items = items[1:]
		}
		if until == (store.Key{}) && len(items) > 0 && items[0].Slot > 0 && more {
			err = v.foldLong(ctx, items)
		} else {
			err = v.fold(items)
		}
		if err != nil {
			return err
		}
		if v.Known.Run != nil || len(items) == 0 || !more && until == (store.Key{}) {
			break
		}
		// The run was being deleted, even if it was known. There may be one before it.
		before, until, limit = store.Key{Run: items[0].Run}, store.Key{}, firstPage
	}
	if v.Reader.isTorn(v.Known) {
		return errTorn
	}
	return nil
}

// nextKey returns where a read of what is new begins that knows a run: behind its last commit, or
// with that commit if the run has closed (ReadsLast). A closed run that is known has to be seen to
// be there: maintenance makes its last commit a void one, and when that has expired, another
// process finds no run, and takes the number 1.
func nextKey(r *engine.Run) store.Key {
	next := store.Key{Run: r.Number, Slot: r.State.NextSlot}
	if last := next.Slot - 1; r.State.Status.Closed() && ReadsLast(int(r.SizeOf(last))) {
		next.Slot = last
	}
	return next
}

// readBack reads backwards from a key, to the first commit of the latest run that counts or to
// until, and returns the items in the order of the log. more says that it did not read to until. If
// nothing is known of the workflow, it stops early at a log that is longer than memory keeps.
func (v *View) readBack(ctx context.Context, before, until store.Key, limit int) (items []store.Item, more bool, err error) {
	for size := 0; ; {
		page, err := v.Reader.log.Backward(ctx, v.Known.WorkflowID, before, until, limit)
		if err != nil {
			return nil, false, outcome.OfRead(err)
		}
		for _, item := range page.Items {
			items, size = append(items, item), size+len(item.Body)
			if item.Slot == 0 && until == (store.Key{}) && !v.Reader.IsGone(item) && !IsVoid(item) {
				slices.Reverse(items)
				return items, true, nil
			}
		}
		if !page.More || len(page.Items) == 0 {
			slices.Reverse(items)
			return items, false, nil
		}
		if last := items[len(items)-1]; size > v.Reader.options.LogBytes && until == (store.Key{}) && last.Slot > 0 && !hasExpiry(last) {
			slices.Reverse(items)
			return items, true, nil
		}
		before, limit = items[len(items)-1].Key, 0
	}
}

// foldLong adds a run with a long log, of which items are the end. It reads the log from its
// beginning on, and keeps no more of it than memory may. If it cannot read on, what it has added
// stays.
func (v *View) foldLong(ctx context.Context, items []store.Item) error {
	number, known := items[0].Run, engine.NewRun(v.Known.WorkflowID, items[0].Run)
	for next := uint32(0); next < items[0].Slot; {
		page, err := v.Reader.log.Forward(ctx, store.Key{Workflow: v.Known.WorkflowID, Run: number, Slot: next}, int(items[0].Slot-next))
		if err != nil {
			return outcome.OfRead(err)
		}
		if len(page.Items) == 0 || hasGap(known, page.Items) {
			// The end of the log shows what it means that something is missing. The page may have
			// the first commit, and overlap the end.
			from, _ := slices.BinarySearchFunc(page.Items, items[0].Slot, func(i store.Item, slot uint32) int { return cmp.Compare(i.Slot, slot) })
			return v.fold(append(page.Items[:from:from], items...))
		}
		if err := v.fold(page.Items); err != nil {
			return err
		}
		run := v.Known.Run
		if run == nil || run.Number != number { // it is void, or gone
			others := slices.IndexFunc(items, func(i store.Item) bool { return i.Run != number })
			if others < 0 {
				return nil
			}
			return v.fold(items[others:])
		}
		run.Trim(int64(v.Reader.options.LogBytes))
		known, next = run, run.State.NextSlot
	}
	return v.fold(items)
}

// fold adds items, in the order of the log, to what is known.
func (v *View) fold(items []store.Item) error {
	for len(items) > 0 {
		number := items[0].Run
		end := slices.IndexFunc(items, func(i store.Item) bool { return i.Run != number })
		if end < 0 {
			end = len(items)
		}
		if err := v.foldRun(number, items[:end]); err != nil {
			return err
		}
		items = items[end:]
	}
	return nil
}

// foldRun adds the items of one run. A void run is none, and so is one whose last commit is void:
// it was deleted, perhaps while it was read. A run that lacks items is being deleted, and counts as
// gone.
func (v *View) foldRun(number uint32, items []store.Item) error {
	k := v.Known
	k.Highest = max(k.Highest, number)
	run := k.Run
	if run == nil || run.Number != number {
		run = engine.NewRun(v.Known.WorkflowID, number)
	}
	commits, err := decodeAll(items)
	if err != nil {
		return err
	}
	void := slices.ContainsFunc(commits, isVoid) || v.Reader.hasDecayed(run, items, commits)
	if !void && v.Reader.isTornRun(run, items) {
		return errTorn
	}
	if void || isDeleted(run, items, commits) {
		v.foldMoot(run, items, commits[0])
		return nil
	}
	for i, c := range commits {
		if err := run.Append(c, len(items[i].Body)); err != nil {
			return err
		}
	}
	delete(k.vanishing, number)
	if run != k.Run {
		v.owner.RunReplaced()
		k.Run = run
	}
	return nil
}

// foldMoot notes a run that is void or gone.
func (v *View) foldMoot(run *engine.Run, items []store.Item, first *history.Commit) {
	k := v.Known
	k.noteVanishing(run.Number, firstID(run, items))
	if v.moot == nil {
		v.moot = map[uint32]bool{}
	}
	v.moot[run.Number] = true
	if first.Beside > k.beside {
		k.beside, k.besideAt = first.Beside, first.Time
	}
	if run == k.Run {
		v.owner.RunReplaced()
		k.Run = nil
	}
}

// decodeAll decodes the commits of items.
func decodeAll(items []store.Item) ([]*history.Commit, error) {
	commits := make([]*history.Commit, len(items))
	var decoder history.Decoder
	for i, item := range items {
		var err error
		if commits[i], err = decoder.Decode(item.Slot, item.Body); err != nil {
			return nil, err
		}
	}
	return commits, nil
}

// Before returns the run that a run continues, or nil if it continues none or that one is gone. It
// knows the ids of updates and signals that may be sent again.
func (v *View) Before(ctx context.Context, run *engine.Run) (*engine.Run, error) {
	id := run.State.Started.ContinuedFrom
	if id == "" || v.Known.looked == id {
		return v.Known.before, nil
	}
	before, err := v.Other(ctx, id)
	if err == nil {
		v.Known.before, v.Known.looked = before, id
	}
	return before, err
}

// Previous reads the run before another of the same workflow, whether that continues it or not. It
// returns nil if there is none, or if it is gone.
func (v *View) Previous(ctx context.Context, run *engine.Run) (*engine.Run, error) {
	first, err := v.Reader.RunBefore(ctx, v.Known.WorkflowID, run.Number)
	if first == nil || err != nil {
		return nil, err
	}
	return v.Other(ctx, first.RunID)
}

// Other reads a run that is not the latest, or nil if there is none with this id. It is not kept.
// The read is repeated while it sees a part of a transaction.
func (v *View) Other(ctx context.Context, id history.RunID) (run *engine.Run, err error) {
	err = v.Reader.whole(ctx, func() (err error) {
		run, err = otherOnce(ctx, v, id)
		return err
	})
	return run, err
}

// otherOnce is one read of Other.
func otherOnce(ctx context.Context, v *View, id history.RunID) (*engine.Run, error) {
	run := engine.NewRun(v.Known.WorkflowID, id.Number())
	var decoder history.Decoder
	for more := true; more; {
		from := store.Key{Workflow: v.Known.WorkflowID, Run: run.Number, Slot: run.State.NextSlot}
		page, err := v.Reader.log.Forward(ctx, from, 0)
		if err != nil {
			return nil, outcome.OfRead(err)
		}
		if v.Reader.isTornRun(run, page.Items) {
			return nil, errTorn
		}
		if hasGap(run, page.Items) {
			return nil, nil // it is being deleted
		}
		for _, item := range page.Items {
			if v.Reader.IsGone(item) {
				return nil, nil
			}
			c, err := decoder.Decode(item.Slot, item.Body)
			if err != nil {
				return nil, err
			}
			if isVoid(c) {
				return nil, nil // it was deleted while it was read, or never was
			}
			if err := run.Append(c, len(item.Body)); err != nil {
				return nil, err
			}
		}
		run.Trim(int64(v.Reader.options.LogBytes))
		more = page.More && len(page.Items) > 0
	}
	switch {
	case run.State.NextSlot == 0, run.State.RunID != id:
		return nil, nil
	case run.State.Status.Closed():
		return run, nil
	case v.Reader.closesLate(v.Known, run):
		return nil, errTorn
	}
	return nil, nil // a run before the latest has closed: without its end it was deleted while it was read
}
