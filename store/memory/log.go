package memory

import (
	"cmp"
	"slices"

	"github.com/seed-41655fb1/weft/store"
)

// record is an item that was put.
type record struct {
	// item is what the caller passed. Body and summary are the caller's own, who must not change
	// them.
	item store.Item
	// digest is the item's digest when it was put.
	digest uint64
	// number is the number of the put in the order of all puts.
	number int
	// perishable is nil if it never expires.
	perishable *perishable
}

// read returns the item for a reader to keep.
func (r *record) read() store.Item {
	item := r.item
	item.Body = slices.Clone(item.Body)
	item.Expires = roundUp(item.Expires)
	if item.Summary != nil {
		summary := *item.Summary
		item.Summary = &summary
	}
	return item
}

func (r *record) size() int { return len(r.item.Body) + len(r.item.Workflow) + overhead }

// workflow is the log of one workflow. Its methods treat nil as a workflow without items.
type workflow struct {
	records []*record // in order
	// ends has, for each run that ever existed, the slot after its last one. It survives the items.
	ends map[uint32]uint32
}

func compare(a, b store.Key) int {
	if c := cmp.Compare(a.Run, b.Run); c != 0 {
		return c
	}
	return cmp.Compare(a.Slot, b.Slot)
}

// find returns the index of the first record that is not before a key, and whether it is at that
// key.
func (w *workflow) find(k store.Key) (int, bool) {
	return slices.BinarySearchFunc(w.records, k, func(r *record, k store.Key) int { return compare(r.item.Key, k) })
}

func (w *workflow) at(k store.Key) *record {
	if w == nil {
		return nil
	}
	if i, found := w.find(k); found {
		return w.records[i]
	}
	return nil
}

// has reports whether a run has items.
func (w *workflow) has(run uint32) bool {
	i, _ := w.find(store.Key{Run: run})
	return i < len(w.records) && w.records[i].item.Run == run
}

func (w *workflow) insert(r *record) {
	if !w.has(r.item.Run) {
		w.ends[r.item.Run] = 0 // a run whose items have expired may begin anew
	}
	w.ends[r.item.Run] = max(w.ends[r.item.Run], r.item.Slot+1)
	i, _ := w.find(r.item.Key)
	w.records = slices.Insert(w.records, i, r)
}

func (w *workflow) remove(r *record) {
	i, _ := w.find(r.item.Key)
	w.records = slices.Delete(w.records, i, i+1)
}

func (w *workflow) backward(before, until store.Key, limit int) store.Page {
	if w == nil {
		return store.Page{}
	}
	first, _ := w.find(until)
	end := len(w.records)
	if before.Run != 0 || before.Slot != 0 {
		end, _ = w.find(before)
	}
	return page(end-first, limit, func(i int) *record { return w.records[end-1-i] })
}

func (w *workflow) forward(from store.Key, limit int) store.Page {
	if w == nil {
		return store.Page{}
	}
	first, _ := w.find(from)
	rest := w.records[first:]
	return page(len(rest), limit, func(i int) *record {
		if rest[i].item.Run != from.Run {
			return nil
		}
		return rest[i]
	})
}

// page returns a page of the first of n records, as far as at returns one. A page that has limit
// items always has More, without a further look, as in DynamoDB.
func page(n, limit int, at func(i int) *record) store.Page {
	var p store.Page
	size, most := 0, n
	if limit > 0 {
		most = min(n, limit)
	}
	if most > 0 {
		p.Items = make([]store.Item, 0, min(most, 256))
	}
	for i := range n {
		r := at(i)
		if r == nil {
			return p
		}
		if size += r.size(); size > pageBytes && i > 0 {
			p.More = true
			return p
		}
		p.Items = append(p.Items, r.read())
		if limit > 0 && len(p.Items) == limit {
			p.More = true
			return p
		}
	}
	return p
}
