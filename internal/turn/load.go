package turn

import (
	"context"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// firstPage is how many items the first read of a workflow asks for, besides those that it is known to have: the commits
// of most runs, and not many of the runs before.
const firstPage = 128

// clockSkew is how far the clocks of two machines may be apart: a run is treated as gone that long before its expiry.
const clockSkew = 10 * time.Second

// known makes sure that something is known of the workflow, current or not.
func (t *session) known(ctx context.Context) error {
	if t.entry.run != nil {
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

// refresh brings what is known up to now, with a read that begins now.
func (t *session) refresh(ctx context.Context) error {
	until, limit := store.Key{}, firstPage+t.expect
	if r := t.entry.run; r != nil {
		until, limit = store.Key{Run: r.Number, Slot: r.State.NextSlot}, 0
	}
	items, err := t.readBack(ctx, until, limit)
	if err != nil {
		return err
	}
	if err := t.fold(items); err != nil {
		return err
	}
	t.fresh = true
	return nil
}

// readBack reads backwards to the first commit of the latest run that counts, or to until, and returns what it read in
// the order of the log.
func (t *session) readBack(ctx context.Context, until store.Key, limit int) ([]store.Item, error) {
	var items []store.Item
	before := store.Key{}
	for {
		page, err := t.Log.Backward(ctx, t.workflowID, before, until, limit)
		if err != nil {
			return nil, readProblem(err)
		}
		for _, item := range page.Items {
			items = append(items, item)
			if item.Slot == 0 && until == (store.Key{}) && !t.gone(item) && !isVoid(item) {
				page.More = false
				break
			}
		}
		if !page.More || len(page.Items) == 0 {
			slices.Reverse(items)
			return items, nil
		}
		before, limit = items[len(items)-1].Key, 0
	}
}

// gone reports whether an item belongs to a run whose expiry has passed. Such a run is not there any more, whatever of
// it is: its items are deleted late, and in no order.
func (s *Service) gone(item store.Item) bool {
	return !item.Expires.IsZero() && s.world.Now().Add(clockSkew).After(item.Expires)
}

// isVoid reports whether an item is the fence that made its run void.
func isVoid(item store.Item) bool {
	c, err := history.Decode(item.Slot, item.Body)
	return err == nil && c.Status == history.Void
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

// foldRun adds the items of one run. One that lacks some is being deleted, and is not there any more.
func (t *session) foldRun(number uint32, items []store.Item) error {
	e := t.entry
	e.highest = max(e.highest, number)
	e.first = e.first || number == 1 && items[0].Slot == 0
	if t.gone(items[0]) {
		return nil
	}
	run := e.run
	if run == nil || run.Number != number {
		run = engine.NewRun(t.workflowID, number)
	}
	if deleted(run, items) {
		return nil
	}
	for _, item := range items {
		c, err := history.Decode(item.Slot, item.Body)
		if err != nil {
			return err
		}
		if err := run.Append(c, len(item.Body)); err != nil {
			return err
		}
	}
	if run != e.run && !run.Void() {
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
	for number := run.Number - 1; number > 0; number-- {
		first, err := t.firstCommit(ctx, number)
		if first == nil || err != nil {
			return nil, err
		}
		if first.Status != history.Void {
			return t.other(ctx, first.RunID)
		}
	}
	return nil, nil
}

// other reads a run that is not the latest, or nil where there is none with this id. It is not kept.
func (t *session) other(ctx context.Context, id history.RunID) (*engine.Run, error) {
	run := engine.NewRun(t.workflowID, id.Number())
	for more := true; more; {
		from := store.Key{Workflow: t.workflowID, Run: run.Number, Slot: run.State.NextSlot}
		page, err := t.Log.Forward(ctx, from, 0)
		if err != nil {
			return nil, readProblem(err)
		}
		if gap(run, page.Items) {
			return nil, nil // it is being deleted
		}
		for _, item := range page.Items {
			if t.gone(item) {
				return nil, nil
			}
			c, err := history.Decode(item.Slot, item.Body)
			if err != nil {
				return nil, err
			}
			if err := run.Append(c, len(item.Body)); err != nil {
				return nil, err
			}
		}
		more = page.More && len(page.Items) > 0
	}
	if len(run.Log) == 0 || run.State.RunID != id || run.Void() || !run.State.Status.Closed() {
		return nil, nil // a run before the latest has closed: without its end it has been deleted while it was read
	}
	return run, nil
}

// firstCommit reads the first commit of a run that is not the latest; nil where there is none.
func (t *session) firstCommit(ctx context.Context, number uint32) (*history.Commit, error) {
	page, err := t.Log.Forward(ctx, store.Key{Workflow: t.workflowID, Run: number}, 1)
	if err != nil {
		return nil, readProblem(err)
	}
	if len(page.Items) == 0 || page.Items[0].Slot != 0 || t.gone(page.Items[0]) {
		return nil, nil
	}
	return history.Decode(0, page.Items[0].Body)
}
