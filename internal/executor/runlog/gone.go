package runlog

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/store"
)

// The store deletes an item with an expiry at any time after it, item by item, in any order, or
// never. So a run has no expiry: maintenance deletes it as a whole after its retention. Two kinds
// of items have one:
//
//   - a void run, which is one item;
//   - commits of runs with a deadline that an earlier version of Weft wrote. Each has the deadline
//     and the retention of its writer.
//
// Nothing depends on whether the store has deleted something.
//
// A void run is a commit in the first slot, by which nobody can open the run, or in the last one:
// maintenance has deleted the run. The number of the run stays taken until that commit expires.

// leastRetention is the least retention that a deployment could have when commits had expiries.
const leastRetention = 24 * time.Hour

// IsGone reports whether the store may have deleted an item, or may at any time: its expiry has
// passed.
func (r *Reader) IsGone(item store.Item) bool { return host.Expired(r.host, history.At(item.Expires)) }

// readsLastTo is the largest stored commit that ReadsLast allows, in bytes. With its key and its
// row in the list it fits into 4 KB, so a read that begins with it takes a read unit, as one that
// finds nothing does. All versions of Weft that run together must agree on it.
const readsLastTo = 3 << 10

// ReadsLast reports whether a process that knows a closed run reads its last commit again, which
// has this stored size, whenever it reads what is new. So maintenance may delete the run by a void
// commit in the place of the last one: such a process sees it. It would miss it after a larger
// commit, which nobody reads twice.
func ReadsLast(size int) bool { return size <= readsLastTo }

// IsVoid reports whether an item is the commit that makes its run void. It reads only the status.
func IsVoid(item store.Item) bool {
	var c struct {
		Status history.Status `cbor:"5,keyasint,omitempty"`
	}
	return history.DecodeBody(item.Body, &c) == nil && c.Status == history.Void
}

func isVoid(c *history.Commit) bool { return c.Status == history.Void }

// hasDecayed reports whether a run with expiries has to be taken for gone. commits follow what is
// known of the run.
//
//	the first expiry has passed         commits may have been deleted, or may be at any time
//	a slot is empty                     commits have been deleted
//	it looks open, and should have      its end may have been deleted: it had a shorter retention
//	timed out a day ago                 than the commits that are left
//
// The last is a guess. A run that was open while no process ran for a day after its deadline looks
// the same, and does not time out. Without the guess a run that has completed would be open again,
// and repeat its activities.
func (r *Reader) hasDecayed(run *engine.Run, items []store.Item, commits []*history.Commit) bool {
	first := firstExpiry(run, items, commits)
	if first == 0 {
		return false
	}
	if host.Expired(r.host, first) || hasGap(run, items) {
		return true
	}
	if commits[len(commits)-1].Status.Closed() {
		return false
	}
	whole := run
	if run.State.NextSlot == 0 {
		whole = engine.NewRun(run.WorkflowID, run.Number)
		if whole.Append(commits[0], 0) != nil || whole.State.Started == nil {
			return false
		}
	}
	end := whole.Deadline()
	return end != 0 && r.now() > end.Add(leastRetention)
}

// firstExpiry returns the first expiry of a run's commits, or 0.
func firstExpiry(run *engine.Run, items []store.Item, commits []*history.Commit) history.Timestamp {
	first := run.State.Expires
	take := func(expires history.Timestamp) {
		if expires != 0 && (first == 0 || expires < first) {
			first = expires
		}
	}
	for i, item := range items {
		take(history.At(item.Expires))
		take(commits[i].Expires)
	}
	return first
}

// hasExpiry reports whether an item is of a run with expiries. What becomes of such a run depends
// on all its commits together: see hasDecayed.
func hasExpiry(item store.Item) bool {
	c, err := history.Decode(item.Slot, item.Body)
	return err == nil && (c.Expires != 0 || !item.Expires.IsZero())
}

// isDeleted reports whether items, which follow what is known of a run, are the rest of a run that
// is being deleted: it is closed, and lacks some.
func isDeleted(run *engine.Run, items []store.Item, commits []*history.Commit) bool {
	return hasGap(run, items) && commits[len(commits)-1].Status.Closed()
}

// hasGap reports whether a slot is missing between what is known of a run and items, or among the
// items.
func hasGap(run *engine.Run, items []store.Item) bool {
	next := run.State.NextSlot
	for _, item := range items {
		if item.Slot != next {
			return true
		}
		next++
	}
	return false
}

// firstID returns the id of the commit in the first slot of a run, of which items follow what is
// known. It is zero if the slot is empty.
func firstID(run *engine.Run, items []store.Item) [16]byte {
	switch {
	case run.State.NextSlot > 0:
		return run.First().ID
	case items[0].Slot == 0:
		return items[0].Commit
	}
	return [16]byte{}
}
