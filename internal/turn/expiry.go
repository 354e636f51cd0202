package turn

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// The store deletes an item with an expiry at any time after it, item by item, in any order, or never. So a run has no expiry: it is
// deleted as a whole after its retention (see clean). Two kinds of items have one:
//
//   - a void run, which is one item;
//   - commits of runs with a deadline that an earlier version of Weft wrote. Each has the deadline and the retention of its writer.
//
// Nothing rests on a deletion by the store having happened, or not.

// leastRetention is the least retention that a deployment could have when commits had expiries.
const leastRetention = 24 * time.Hour

// gone reports whether the store may have deleted an item, or may at any time: its expiry has passed.
func (s *Service) gone(item store.Item) bool { return host.Expired(s.world, history.At(item.Expires)) }

// earliest is the first expiry of a run's commits; 0 is none.
func earliest(run *engine.Run, items []store.Item, commits []*history.Commit) history.Timestamp {
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

// decayed reports whether a run with expiries has to be taken for gone. commits follow what is known of the run.
//
//	the first expiry has passed              commits may have been deleted, or may be at any time
//	a slot is empty                          commits have been deleted
//	it looks open, and should have timed     its end may have been deleted: it had a shorter retention than the commits that
//	out a day ago                            are left
//
// The last is a guess. A run that was open while no process ran for a day after its deadline looks the same, and does not time out.
// The other way around a run that has completed would be open again, and carry out its activities again.
func (s *Service) decayed(run *engine.Run, items []store.Item, commits []*history.Commit) bool {
	first := earliest(run, items, commits)
	if first == 0 {
		return false
	}
	if host.Expired(s.world, first) || gap(run, items) {
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
	return end != 0 && s.now() > end.Add(leastRetention)
}

// decodeAll decodes items.
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

// noteVanishing notes a run that is no run, or is gone, and whose items may be deleted at any moment. first is the id of the commit in its
// first slot; zero is that the slot is empty.
func (e *entry) noteVanishing(number uint32, first [16]byte) {
	if e.vanishing == nil {
		e.vanishing = map[uint32][16]byte{}
	}
	e.vanishing[number] = first
}

// firstID returns the id of the commit in the first slot of a run of which items follow what is known, or zero if the slot is empty.
func firstID(run *engine.Run, items []store.Item) [16]byte {
	switch {
	case run.State.NextSlot > 0:
		return run.First().ID
	case items[0].Slot == 0:
		return items[0].Commit
	}
	return [16]byte{}
}

// beside returns the void runs that the put which opens run e.highest+1 also puts, so that no other run opens beside it.
//
// A start takes the highest number that it finds, plus one. What it finds may be deleted before its put: void runs, and runs that are
// gone. Another start, which reads after that, finds less, and takes a lower number. So the put takes each number that the other may
// take: the one after the run that stays, and the one after each that may be deleted. One of the two fails then.
//
//	found                          the start takes   beside
//	nothing                        1
//	run 4, closed                  5
//	run 4, closed; 5 is void       6                 5
//	1 is void                      2                 1
//	7 is void                      8                 1
//
// A number that is void stays so: the put renews it.
func (t *session) beside() (voids []*change) {
	e := t.entry
	stays := uint32(0)
	if e.run != nil {
		stays = e.run.Number
	}
	taken := map[uint32]bool{stays + 1: true}
	for number := range e.vanishing {
		if number > stays {
			taken[number+1] = true
		}
	}
	delete(taken, e.highest+1)
	numbers := slices.Sorted(maps.Keys(taken))
	if most := store.MaxAppend / 2; len(numbers) > most {
		numbers = numbers[:most] // nobody has seen so many
	}
	for _, number := range numbers {
		v := t.void(number)
		v.over, v.commit.Beside = e.vanishing[number], e.highest+1
		voids = append(voids, v)
	}
	return voids
}

// runBefore returns the first commit of the run before a number, void runs skipped; nil where there is none. What is missing between
// the two is skipped as well: a void run may have been deleted.
func (t *session) runBefore(ctx context.Context, number uint32) (*history.Commit, error) {
	for number > 1 {
		first, err := t.firstCommit(ctx, number-1)
		if err != nil || first != nil && first.Status != history.Void {
			return first, err
		}
		// The last item before that is of the next run that is there.
		page, err := t.Log.Backward(ctx, t.workflowID, store.Key{Run: number - 1}, store.Key{}, 1)
		if err != nil {
			return nil, outcome.OfRead(err)
		}
		if len(page.Items) == 0 {
			return nil, nil
		}
		number = page.Items[0].Run + 1
	}
	return nil, nil
}
