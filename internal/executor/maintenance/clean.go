package maintenance

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/children"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/store"
)

// errAsked says that a closed run must be kept past its retention: an open run asks it for ids.
var errAsked = errors.New("executor: an open run asks this one for ids")

// clean deletes a closed run, and reports whether it did. part is what a scan has read of the run,
// with its last commit at the end: a closed run never changes. The order of the deletions makes it
// safe:
//
//  1. The run's attempts. They name the run by its number, which another run may get some day.
//  2. All commits but the last. A concurrent reader finds a closed run without its first slots, and
//     knows that it is gone (View.foldRun). Without its last commit the run would look open.
//  3. If the next number is free, a void run there, which expires. Run numbers must not go back
//     while a start is in progress: the start has read "the latest is run 7" and puts run 8.
//     Another start that reads after the last commit has gone would put run 1 beside it. With the
//     void run, the put of run 8 fails. A start that reads "the latest is run 8, void" puts run 9
//     and, in the same transaction, fills the first slot of run 1 (commit.beside). So the void run
//     may expire at any moment too.
//  4. The last commit.
//
// If an earlier round put the void run of step 3, it is renewed if it expires within two hours: a
// start that has read it must not find its place empty once the last commit has gone. It is put
// again if it has expired, even if there are void runs above it.
//
// A crash anywhere leaves the last commit, by which the next round finds the run. After step 3 it
// finds a run that is not the latest. Each deletion demands the commit that was read, so a very
// late one deletes nothing of a later run with the same number. Two processes that delete the same
// run delete it once.
//
// clean returns errAsked if the run was continued as new and the next run is open: that run asks it
// for the ids of updates and signals that may be sent again. It returns children.ErrAwaited if the
// run is a child whose parent waits for its outcome.
func clean(ctx context.Context, s *session.Process, part []store.Item) (bool, error) {
	if waits, err := children.LookForParent(ctx, s, part); err != nil {
		return false, err
	} else if waits {
		return false, children.ErrAwaited
	}
	last := part[len(part)-1]
	t, err := s.Open(ctx, last.Workflow)
	if err != nil {
		return false, err
	}
	defer t.Close()
	t.Forget() // no later session may use what is deleted now
	latest, err := s.Log.Backward(ctx, last.Workflow, store.Key{}, store.Key{}, 1)
	if err != nil || len(latest.Items) == 0 { // another process was faster
		return false, err
	}
	if asked, err := asks(ctx, t, latest.Items[0], last); err != nil {
		return false, err
	} else if asked {
		return false, errAsked
	}
	attempts, err := s.Ports.Attempts.ReadAttempts(ctx, last.Workflow, last.Run)
	if err == nil && len(attempts) > 0 {
		err = s.Eraser.Delete(ctx, nil, attempts)
	}
	if err == nil {
		err = deleteBefore(ctx, s, part, last)
	}
	if err == nil {
		err = takeNext(ctx, t, last.Run+1, latest.Items[0])
	}
	if err == nil {
		err = s.Eraser.Delete(ctx, []store.Item{last}, nil)
	}
	if err != nil {
		return false, err
	}
	return true, nil
}

// takeNext puts a void run at the number after a run that is being deleted if nothing is there, and
// renews one that expires within two hours. It does nothing below a run that is not void: the put
// that opened that run took the number as well. latest is the workflow's latest item. It costs a
// read if there are several void runs.
func takeNext(ctx context.Context, t *session.Session, number uint32, latest store.Item) error {
	next := latest
	switch {
	case latest.Run >= number && !runlog.IsVoid(latest):
		return nil
	case latest.Run > number:
		page, err := t.Process.Log.Forward(ctx, store.Key{Workflow: t.WorkflowID, Run: number}, 1)
		if err != nil {
			return err
		}
		next = store.Item{}
		if len(page.Items) > 0 {
			next = page.Items[0]
		}
	}
	switch {
	case next.Run != number:
		return putVoid(ctx, t, number, [16]byte{})
	case runlog.IsVoid(next) && next.Expires.Before(t.Process.Timestamp().Add(2*runlog.MaxAge).Time()):
		return putVoid(ctx, t, number, next.Commit)
	}
	return nil
}

// asks reports whether the run of the latest item of a workflow is open and continues the run that
// ends with last: it is the next run, or one that continues the next run after a reset.
func asks(ctx context.Context, t *session.Session, latest, last store.Item) (bool, error) {
	if latest.Run <= last.Run {
		return false, nil
	}
	c, err := history.Decode(latest.Slot, latest.Body)
	if err != nil || c.Status.Closed() {
		// The close may have opened a run that asks. It exists, but this read may not have seen it.
		return err == nil && c.OpenedWith() != "" && t.View.Reader.IsRecent(c.Time), err
	}
	c, err = history.Decode(last.Slot, last.Body)
	continued := err == nil && c.Status != history.Terminated && c.NextRun() != ""
	if !continued || latest.Run == last.Run+1 {
		return continued, err
	}
	first, err := t.View.Reader.FirstCommit(ctx, t.WorkflowID, latest.Run)
	if err != nil || first == nil || first.Opens() == nil {
		return false, err
	}
	return first.Opens().ContinuedFrom == c.RunID, nil
}

// deleteBefore deletes the commits of a run but the last. It reads those that the scan did not see:
// a page of the scan may begin in the middle of the run, or an earlier round may have deleted some.
func deleteBefore(ctx context.Context, s *session.Process, part []store.Item, last store.Item) error {
	if part[0].Slot == 0 {
		return deleteItems(ctx, s, part[:len(part)-1])
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
		if err := deleteItems(ctx, s, items); err != nil || !page.More || len(items) < len(page.Items) {
			return err
		}
		from.Slot = items[len(items)-1].Slot + 1
	}
}

func deleteItems(ctx context.Context, s *session.Process, items []store.Item) error {
	if len(items) > 0 && items[0].Slot == 0 && runlog.IsVoid(items[0]) {
		items = items[1:] // it replaced the deleted first commit, and keeps the number taken (commit.beside)
	}
	if len(items) == 0 {
		return nil
	}
	return s.Eraser.Delete(ctx, items, nil)
}

// putVoid makes a run void. It succeeds if a run has started there meanwhile, because that takes
// the number too. If over is not zero, it renews the void run with that commit, and fails if that
// run is no longer there.
func putVoid(ctx context.Context, t *session.Session, number uint32, over [16]byte) error {
	v := commit.Void(t, number)
	if err := t.Encode([]*session.Change{v}); err != nil {
		return err
	}
	err := t.Process.Log.Append(ctx, store.Item{
		Key:    store.Key{Workflow: t.WorkflowID, Run: number},
		Commit: v.Commit.ID, Body: v.Body, Expires: v.Commit.Expires.Time(), Over: over,
	})
	var conflict *store.Conflict
	if errors.As(err, &conflict) && over == ([16]byte{}) {
		return nil
	}
	return err
}
