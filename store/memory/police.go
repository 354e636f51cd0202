package memory

import (
	"hash/maphash"

	"github.com/seed-41655fb1/weft/store"
)

func (s *Store) violation(format string, args ...any) {
	s.options.Violation("store/memory: "+format, args...)
}

// inspect reports the rules that an Append breaks. It returns false if the Append cannot be carried
// out. The items are in order.
func (s *Store) inspect(items []store.Item) bool {
	if len(items) == 0 || len(items) > store.MaxAppend {
		s.violation("an Append of %d items", len(items))
		return false
	}
	for i, item := range items[1:] {
		if item.Key == items[i].Key {
			s.violation("an Append with two items at %v", item.Key)
			return false
		}
	}
	s.inspectCommits(items)
	for i, item := range items {
		if item.Run == 0 {
			s.violation("an Append at %v: the first run is number 1", item.Key)
			return false
		}
		s.inspectPlace(item.Key, items[:i])
		if row := item.Summary; row != nil && (row.Workflow != item.Workflow || row.Run != item.Run) {
			s.violation("the item at %v has the summary of %s/%d", item.Key, row.Workflow, row.Run)
		}
	}
	return true
}

// inspectPlace reports an item that leaves a gap before it: in its run or, if it opens a run, among
// the runs. Expired items are no gap. Earlier items of the same Append count.
func (s *Store) inspectPlace(k store.Key, before []store.Item) {
	var ends map[uint32]uint32
	if w := s.workflows[k.Workflow]; w != nil {
		ends = w.ends
	}
	end, earlier := ends[k.Run], false
	for _, item := range before {
		if item.Workflow == k.Workflow && item.Run == k.Run {
			end = max(end, item.Slot+1)
		}
		earlier = earlier || item.Workflow == k.Workflow && item.Run < k.Run
	}
	if k.Slot > end {
		s.violation("an Append at %v leaves a gap: the run has had %d slots", k, end)
	}
	if k.Slot > 0 || k.Run == 1 || earlier {
		return
	}
	for run := range ends {
		if run < k.Run {
			return
		}
	}
	s.violation("an Append at %v leaves a gap: there was no earlier run", k)
}

// inspectCommits reports a commit id that was used for another Append. All items of an Append may
// have the same id. Encoded bodies are not compared: if the data key was replaced between two tries
// of an Append, the second one encodes the same body with the new key (see internal/codec).
func (s *Store) inspectCommits(items []store.Item) {
	var digest uint64
	for _, item := range items {
		if s.options.Encoded != nil && s.options.Encoded(item.Body) {
			item.Body = nil
			if item.Summary != nil {
				open := *item.Summary
				open.Memo = ""
				item.Summary = &open
			}
		}
		digest = 31*digest + s.digest(item)
	}
	for _, item := range items {
		if first, used := s.commits[item.Commit]; used && first != digest {
			s.violation("the commit id %x is used again at %v: only the identical Append may repeat it", item.Commit, item.Key)
			continue
		}
		s.commits[item.Commit] = digest
	}
}

// digest returns a digest of an item. It differs between items, and after a change of an item.
func (s *Store) digest(item store.Item) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	maphash.WriteComparable(&h, item.Key)
	maphash.WriteComparable(&h, item.Commit)
	maphash.WriteComparable(&h, item.Expires.UnixMicro())
	if item.Summary != nil {
		maphash.WriteComparable(&h, *item.Summary)
	}
	_, _ = h.Write(item.Body)
	return h.Sum64()
}

func (s *Store) sum(body []byte) uint64 { return maphash.Bytes(s.seed, body) }

// examine reports an item that was changed after it was put.
func (s *Store) examine(r *record) {
	if s.digest(r.item) != r.digest {
		s.violation("the item at %v was changed after it was put", r.item.Key)
	}
}

// Check reports what callers changed after they had handed it over. A test calls it at its end.
func (s *Store) Check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workflows {
		for _, r := range w.records {
			s.examine(r)
		}
	}
	for _, attempts := range s.attempts {
		for _, a := range attempts {
			s.examineAttempt(a)
		}
	}
	for _, t := range s.timers {
		s.examineTimer(t)
	}
}

func (s *Store) examineAttempt(a *attempt) {
	if s.sum(a.Body) != a.sum {
		s.violation("the body of attempt %d of event %d in %s/%d was changed after it was recorded", a.Number, a.Event, a.Workflow, a.Run)
	}
}

func (s *Store) examineTimer(t *timer) {
	if s.sum(t.Body) != t.sum {
		s.violation("the body of timer %s was changed after it was put", t.ID)
	}
}
