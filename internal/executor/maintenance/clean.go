package maintenance

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/children"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/notify"
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
//  1. The run's attempts. They name the run by its number, which another run may get some day. A
//     process that slept in the middle of an attempt may still record it after this: the record
//     stays, and no other run reads it, because it has the run's id too.
//  2. All commits but the last. A concurrent reader finds a closed run without its first slots, and
//     knows that it is gone (View.foldRun). Without its last commit the run would look open.
//  3. The last commit: a void commit replaces it, which expires. Run numbers must not go back while
//     a start is in progress. The start has read "the latest is run 7" and puts run 8. Another
//     start that reads after the deletion would put run 1 beside it. With the void commit, it reads
//     "the latest is run 7, void", and puts run 8 too: one of the two puts fails. In the same
//     transaction it fills the first slot of run 1 (commit.beside), so the void commit may expire
//     at any moment. A process that knows run 7 reads its last commit again (View.Refresh), and
//     sees the void one.
//
// There are two exceptions from step 3. If a later run is not void, that one keeps the numbers
// taken, and the last commit is deleted. If the last commit is large, no process reads it again
// (runlog.ReadsLast). Then a void run at the next number makes the put of run 8 fail (takeNext),
// and the last commit is deleted after that.
//
// A crash anywhere leaves the last commit, by which the next round finds the run, or nothing but a
// void commit. Each write demands the commit that was read, so a very late one changes nothing of a
// later run with the same number. Two processes that delete the same run delete it once: each takes
// what the other has done for its own. If the answer of a write is lost, the next round finds its
// effect, or repeats it.
//
// clean returns errAsked if the run was continued as new and the next run is open: that run asks it
// for the ids of updates and signals that may be sent again. It returns children.ErrAwaited if the
// run is a child whose parent waits for its outcome, and notify.ErrNeeded if it delivers a
// notification of a run that is still there.
func clean(ctx context.Context, s *session.Process, part []store.Item) (bool, error) {
	if waits, err := children.LookForParent(ctx, s, part); err != nil {
		return false, err
	} else if waits {
		return false, children.ErrAwaited
	}
	if needed, err := notify.IsNeeded(ctx, s, part); err != nil {
		return false, err
	} else if needed {
		return false, notify.ErrNeeded
	}
	last := part[len(part)-1]
	t, err := s.Open(ctx, last.Workflow)
	if err != nil {
		return false, err
	}
	defer t.Close()
	t.Forget() // no later session may use what is deleted now
	began := s.World.Now()
	page, err := s.Log.Backward(ctx, last.Workflow, store.Key{}, store.Key{}, 1)
	if err != nil || len(page.Items) == 0 {
		return false, err
	}
	latest := page.Items[0]
	if latest.Run < last.Run || latest.Run == last.Run && latest.Commit != last.Commit {
		return false, nil // another process was faster
	}
	if asked, err := asks(ctx, t, latest, last); err != nil {
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
		err = deleteLast(ctx, t, last, latest, began)
	}
	if err != nil {
		return false, err
	}
	return true, nil
}

// errSlept says that the process has slept in the middle of a deletion.
var errSlept = errors.New("executor: the deletion of a run has taken too long")

// deleteLast deletes the last commit of a run, of which nothing else is left (step 3 of clean).
// latest is the latest item of the workflow, which was read after began.
func deleteLast(ctx context.Context, t *session.Session, last, latest store.Item, began time.Time) error {
	above := latest.Run > last.Run && !runlog.IsVoid(latest)
	if !above && runlog.ReadsLast(len(last.Body)) {
		return replaceLast(ctx, t, last, latest, began)
	}
	if !above {
		if err := takeNext(ctx, t, last.Run+1, latest); err != nil {
			return err
		}
	}
	err := t.Process.Eraser.Delete(ctx, []store.Item{last}, nil)
	if errors.Is(err, store.ErrStale) {
		return nil // another process has read the log before the run above, and made the commit void
	}
	return err
}

// replaceLast puts a void commit over the last one. The put would also land in an empty slot. So it
// is not tried if the last commit has gone, or if the process has slept: another run might have the
// number by now. If another process deletes the last commit between the read and the put, it has
// seen a run above, and the void commit makes no difference below that.
func replaceLast(ctx context.Context, t *session.Session, last, latest store.Item, began time.Time) error {
	if latest.Key != last.Key {
		began = t.Process.World.Now()
		page, err := t.Process.Log.Forward(ctx, last.Key, 1)
		if err != nil || len(page.Items) == 0 || page.Items[0].Commit != last.Commit {
			return err
		}
	}
	if t.Process.World.Now().Sub(began) > runlog.LongestRead {
		return errSlept
	}
	return putVoid(ctx, t, last.Key, last.Commit)
}

// takeNext puts a void run at the number after a run that is being deleted if nothing is there. It
// renews one that expires within two hours: a start that has read it must not find its place empty
// once the last commit has gone. It is put again if it has expired, even if there are void runs
// above it. latest is the workflow's latest item, and no run above is not void. It costs a read if
// there are several void runs.
func takeNext(ctx context.Context, t *session.Session, number uint32, latest store.Item) error {
	next := latest
	if latest.Run > number {
		page, err := t.Process.Log.Forward(ctx, store.Key{Workflow: t.WorkflowID, Run: number}, 1)
		if err != nil {
			return err
		}
		next = store.Item{}
		if len(page.Items) > 0 {
			next = page.Items[0]
		}
	}
	key := store.Key{Workflow: t.WorkflowID, Run: number}
	switch {
	case next.Run != number:
		return putVoid(ctx, t, key, [16]byte{})
	case runlog.IsVoid(next) && next.Expires.Before(t.Process.Timestamp().Add(2*runlog.MaxAge).Time()):
		return putVoid(ctx, t, next.Key, next.Commit)
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

// putVoid puts a void commit, in the place of the commit over if that is not zero. It succeeds if
// another process has done that, or has started a run there meanwhile, because that takes the
// number too. It fails if another commit is in the place of over that is not void.
func putVoid(ctx context.Context, t *session.Session, key store.Key, over [16]byte) error {
	v := commit.Void(t, key.Run)
	if err := t.Encode([]*session.Change{v}); err != nil {
		return err
	}
	err := t.Process.Log.Append(ctx, store.Item{
		Key: key, Commit: v.Commit.ID, Body: v.Body, Expires: v.Commit.Expires.Time(), Over: over,
	})
	if conflict, is := errors.AsType[*store.Conflict](err); is && (over == ([16]byte{}) || runlog.IsVoid(conflict.Existing)) {
		return nil
	}
	return err
}
