package turn

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// errAsked is a run that is kept although it might be deleted: an open one asks it for ids.
var errAsked = errors.New("turn: an open run asks this one for ids")

// clean deletes a closed run. part is what a scan has seen of it, its last commit at the end: a closed run never changes.
//
// The order is what makes it safe:
//
//  1. its attempts: they name the run by its number, and another run may have that some day;
//  2. all commits but the last. Whoever reads meanwhile finds a closed run that lacks its first slots, and knows that it is
//     gone (session.foldRun). Without its last commit it would look open;
//  3. if it is the workflow's latest, a void run in its place, which expires. Numbers of runs must not go back under a start
//     that is under way: it has read "the latest is run 7", puts run 8, and another start, which reads after the last commit
//     has gone, would put run 1 beside it. Now the put of run 8 fails, and whoever reads "the latest is run 8, void" puts
//     run 9, and, in the same transaction, something into the first slot of run 1 (session.start): so it does not matter
//     when the void run goes either;
//  4. the last commit.
//
// A crash anywhere leaves the last commit, and the next round finds the run by it; after 3 it finds it without being the
// latest. Each deletion demands the commit that was read, so one that comes very late deletes nothing of a later run that
// has the number again. Two processes that do the same do it once.
//
// A run that was continued as new is kept while the run after it is open, because that one asks it for the ids of updates
// and signals that may be sent again: the error is errAsked. clean reports whether it deleted the run.
func (s *Service) clean(ctx context.Context, part []store.Item) (bool, error) {
	last := part[len(part)-1]
	t, err := s.open(ctx, last.Workflow)
	if err != nil {
		return false, err
	}
	defer t.close()
	t.forget() // nobody here goes on with what is deleted now
	latest, err := s.Log.Backward(ctx, last.Workflow, store.Key{}, store.Key{}, 1)
	if err != nil || len(latest.Items) == 0 { // another process was faster
		return false, err
	}
	if asked, err := t.asks(ctx, latest.Items[0], last); err != nil {
		return false, err
	} else if asked {
		return false, errAsked
	}
	attempts, err := s.Attempts.ReadAttempts(ctx, last.Workflow, last.Run)
	if err == nil && len(attempts) > 0 {
		err = s.Eraser.Delete(ctx, nil, attempts)
	}
	if err == nil {
		err = s.deleteBefore(ctx, part, last)
	}
	if err == nil && latest.Items[0].Run == last.Run {
		err = t.putVoid(ctx, last.Run+1)
	}
	if err == nil {
		err = s.Eraser.Delete(ctx, []store.Item{last}, nil)
	}
	if err != nil {
		return false, err
	}
	s.options.Logger.Info("deleted a run", "workflowId", last.Workflow, "run", last.Run)
	return true, nil
}

// asks reports whether the run of the latest item of a workflow is open, and continues the one that ends with last: the run
// after it, or one that goes on from that after a reset.
func (t *session) asks(ctx context.Context, latest, last store.Item) (bool, error) {
	if latest.Run <= last.Run {
		return false, nil
	}
	c, err := history.Decode(latest.Slot, latest.Body)
	if err != nil || c.Status.Closed() {
		return false, err
	}
	c, err = history.Decode(last.Slot, last.Body)
	continued := err == nil && c.Status != history.Terminated && c.NextRun() != ""
	if !continued || latest.Run == last.Run+1 {
		return continued, err
	}
	first, err := t.firstCommit(ctx, latest.Run)
	if err != nil || first == nil || first.Opens() == nil {
		return false, err
	}
	return first.Opens().ContinuedFrom == c.RunID, nil
}

// deleteBefore deletes the commits of a run but the last. Where the scan did not see all of them, they are read: as a page
// of the scan began in the middle of the run, or an earlier round has deleted some.
func (s *Service) deleteBefore(ctx context.Context, part []store.Item, last store.Item) error {
	if part[0].Slot == 0 {
		return s.deleteItems(ctx, part[:len(part)-1])
	}
	for from := (store.Key{Workflow: last.Workflow, Run: last.Run}); ; {
		page, err := s.Log.Forward(ctx, from, 0)
		if err != nil {
			return err
		}
		items := page.Items
		for len(items) > 0 && items[len(items)-1].Slot >= last.Slot {
			items = items[:len(items)-1]
		}
		if err := s.deleteItems(ctx, items); err != nil || !page.More || len(items) < len(page.Items) {
			return err
		}
		from.Slot = items[len(items)-1].Slot + 1
	}
}

func (s *Service) deleteItems(ctx context.Context, items []store.Item) error {
	if len(items) == 0 {
		return nil
	}
	return s.Eraser.Delete(ctx, items, nil)
}

// putVoid makes a run void, if nothing stands there: a run that was started meanwhile does as well.
func (t *session) putVoid(ctx context.Context, number uint32) error {
	v := t.void(number)
	if err := t.encode([]*change{v}); err != nil {
		return err
	}
	err := t.Log.Append(ctx, store.Item{
		Key:    store.Key{Workflow: t.workflowID, Run: number},
		Commit: v.commit.ID, Body: v.body, Expires: v.commit.Expires.Time(),
	})
	var conflict *store.Conflict
	if errors.As(err, &conflict) {
		return nil
	}
	return err
}

// void is the fence that makes a run void which nobody has begun.
func (t *session) void(number uint32) *change {
	w := t.writer()
	random := t.world.ID()
	w.RunID = history.NewRunID(number, [8]byte(random[:8]))
	run := engine.NewRun(t.workflowID, number)
	c := run.Fence(w)
	c.Expires = w.Now.Add(t.keep())
	return &change{run: run, commit: c}
}

// first is what a start puts beside its run where the runs before it may vanish at any moment: a void run 1. A start that
// read after they had gone would put run 1, and two runs would be open. It is nil where that cannot be: something stands
// there, or nothing was there at all.
func (t *session) first() *change {
	if t.entry.run != nil || t.entry.highest < 2 || t.entry.first {
		return nil
	}
	return t.void(1)
}

// deleted reports whether items, which are all of a run from the end of what is known of it on, are the rest of a run that
// is being deleted: it is closed, and lacks some.
func deleted(run *engine.Run, items []store.Item) bool {
	last := items[len(items)-1]
	if !gap(run, items) {
		return false
	}
	c, err := history.Decode(last.Slot, last.Body)
	return err == nil && c.Status.Closed()
}

// gap reports whether a slot is missing between what is known of a run and items, or among them.
func gap(run *engine.Run, items []store.Item) bool {
	next := run.State.NextSlot
	for _, item := range items {
		if item.Slot != next {
			return true
		}
		next++
	}
	return false
}
