package engine

import (
	"iter"
	"slices"

	"github.com/seed-41655fb1/weft/engine/history"
)

// Commits are commits of a run, in order, as they are read. An error is the last element.
type Commits = iter.Seq2[*history.Commit, error]

// Commits returns the commits of a run. Trim must not have dropped any.
func (r *Run) Commits() Commits {
	return func(yield func(*history.Commit, error) bool) {
		for _, c := range r.Log {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// outline is what remains of a commit that Trim has dropped.
type outline struct {
	id    history.CommitID
	time  history.Timestamp
	first int64 // the id of its first event
	// batches is how many batches of events the commits before it have.
	batches uint32
}

const (
	// decoded is about how many bytes of memory a byte of a stored commit takes.
	decoded = 4
	// outlined is about how many bytes of memory a commit takes that Trim has dropped: its outline,
	// its size, its place in Log, and its slot among those of its causation id.
	outlined = 128
	// heldEach is about how many bytes of memory the state takes for each pending event, or for an
	// update, without its payloads.
	heldEach = 256
	// heldBatch is about how many bytes it takes for the place of a topic's items.
	heldBatch = 64
)

// Trim drops commits of a run whose stored size is above most. It keeps the first commit, and as
// many of the last ones as take up to a sixteenth of most. The state stays, and an outline of each
// dropped commit. A caller that needs a dropped commit has to read it again.
func (r *Run) Trim(most int64) {
	if r.State.Bytes <= most {
		return
	}
	from := r.lacking() + 1
	for slot := from; slot < len(r.Log)-1 && r.kept-int64(r.sizes[0]) > most/16; slot++ {
		c := r.Log[slot]
		r.outlines = append(r.outlines, outline{c.ID, c.Time, c.FirstEventID, r.batches})
		r.batches += uint32(c.Batches())
		r.kept -= int64(r.sizes[slot])
		r.indexCausationIDs()
		r.Log[slot] = nil
	}
}

// lacking returns how many commits Trim has dropped: those from the second on.
func (r *Run) lacking() int { return len(r.outlines) }

// Lacks returns how many commits Trim has dropped from a slot on, up to the first one that is kept.
func (r *Run) Lacks(slot uint32) int {
	if slot == 0 || int(slot) > r.lacking() {
		return 0
	}
	return r.lacking() + 1 - int(slot)
}

// Footprint returns about how many bytes of memory the run takes.
func (r *Run) Footprint() int {
	if r.lacking() == 0 {
		return int(r.State.Bytes) * decoded
	}
	s := r.State
	held := len(s.Activities) + len(s.Timers) + len(s.Children) + len(s.Externals) + len(s.Updates) + len(s.signals)
	batches := 0
	for _, topic := range s.Topics {
		batches += len(topic.Batches)
	}
	return int(r.kept)*decoded + r.lacking()*outlined + s.payloads + held*heldEach + batches*heldBatch
}

// First returns the first commit, or nil in a run without commits.
func (r *Run) First() *history.Commit {
	if len(r.Log) == 0 {
		return nil
	}
	return r.Log[0]
}

// Last returns the last commit, or nil in a run without commits.
func (r *Run) Last() *history.Commit {
	if len(r.Log) == 0 {
		return nil
	}
	return r.Log[len(r.Log)-1]
}

// Has reports whether a commit is in a slot of the run.
func (r *Run) Has(slot uint32, commit history.CommitID) bool {
	return slot < r.State.NextSlot && r.outline(slot).id == commit
}

// TimeOf returns the time of the commit in a slot, which the run must have.
func (r *Run) TimeOf(slot uint32) history.Timestamp { return r.outline(slot).time }

// SizeOf returns the stored size of the commit in a slot, which the run must have.
func (r *Run) SizeOf(slot uint32) int64 { return int64(r.sizes[slot]) }

// outline returns the outline of the commit in a slot, dropped or not. It does not count batches.
func (r *Run) outline(slot uint32) outline {
	if c := r.Log[slot]; c != nil {
		return outline{id: c.ID, time: c.Time, first: c.FirstEventID}
	}
	return r.outlines[slot-1]
}

// SlotOf returns the slot of the commit that has an event. It returns false if the run does not
// have the event.
func (r *Run) SlotOf(event int64) (uint32, bool) {
	if event <= 0 || event >= r.State.NextEventID {
		return 0, false
	}
	low, high := uint32(0), r.State.NextSlot // it is in a slot from low on, and before high
	for high-low > 1 {
		if middle := low + (high-low)/2; r.outline(middle).first > event {
			high = middle
		} else {
			low = middle
		}
	}
	return low, true
}

// BatchesBefore returns how many batches of events the commits before a slot have.
func (r *Run) BatchesBefore(slot uint32) int {
	switch {
	case slot == 0:
		return 0
	case r.Lacks(slot) > 0:
		return int(r.outlines[slot-1].batches)
	}
	n := int(r.batches)
	for _, c := range r.Log[r.lacking()+1 : slot] {
		n += c.Batches()
	}
	return n
}

// scanned is how many commits a run may have for Caused to look at all of them. A longer run has an
// index.
const scanned = 512

// Caused returns the slots of the commits that the causation ids of messages have caused, in order,
// without those before Message.Seen: messages that these commits schedule may be owed. In a closed
// run it returns the last slot or none, because only the last commit still schedules messages.
func (r *Run) Caused(triggers []*Message) (slots []uint32) {
	first := 0
	if r.State.Status.Closed() {
		first = len(r.Log) - 1
	}
	if r.causationIDs == nil && len(r.Log)-first <= scanned {
		for _, c := range r.Log[first:] {
			if causedBy(c, triggers) >= 0 {
				slots = append(slots, c.Slot)
			}
		}
		return slots
	}
	r.indexCausationIDs()
	for _, m := range triggers {
		for _, slot := range r.causationIDs[m.CausationID] {
			if int(slot) >= first && slot >= m.Seen {
				slots = append(slots, slot)
			}
		}
	}
	slices.Sort(slots)
	return slices.Compact(slots)
}

// causedBy returns the index of the message whose causation id has caused a commit, or -1.
func causedBy(c *history.Commit, triggers []*Message) int {
	return slices.IndexFunc(triggers, func(m *Message) bool { return c.Slot >= m.Seen && slices.Contains(c.CausationIDs, m.CausationID) })
}

// indexCausationIDs builds the index of the causation ids, if there is none yet.
func (r *Run) indexCausationIDs() {
	if r.causationIDs != nil {
		return
	}
	r.causationIDs = map[history.CausationID][]uint32{}
	for _, c := range r.Log {
		r.indexCausationIDsOf(c)
	}
}

func (r *Run) indexCausationIDsOf(c *history.Commit) {
	for _, causation := range c.CausationIDs {
		r.causationIDs[causation] = append(r.causationIDs[causation], c.Slot)
	}
}
