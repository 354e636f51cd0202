package memory

import (
	"container/heap"
	"time"
)

// perishable is something that may be deleted after a moment.
type perishable struct {
	at time.Time
	// remove removes it from the store.
	remove func()
	// index is its index in expiry.waiting or in expiry.due.
	index int
	due   bool
}

// expiry has everything in the store that may be deleted. It finds each one in time that does not
// grow with the others.
type expiry struct {
	waiting perishables
	due     []*perishable // in no order
}

func (e *expiry) add(p *perishable) { heap.Push(&e.waiting, p) }

// drop removes one that was overwritten; nil does nothing.
func (e *expiry) drop(p *perishable) {
	switch {
	case p == nil:
	case !p.due:
		heap.Remove(&e.waiting, p.index)
	default:
		last := len(e.due) - 1
		e.due[p.index] = e.due[last]
		e.due[p.index].index = p.index
		e.due[last] = nil
		e.due = e.due[:last]
	}
}

// take removes the one that pick selects of those whose moment is before now. It returns false if
// there is none.
func (e *expiry) take(now time.Time, pick func(n int) int) bool {
	for len(e.waiting) > 0 && e.waiting[0].at.Before(now) {
		p := heap.Pop(&e.waiting).(*perishable)
		p.due, p.index = true, len(e.due)
		e.due = append(e.due, p)
	}
	if len(e.due) == 0 {
		return false
	}
	p := e.due[pick(len(e.due))]
	e.drop(p)
	p.remove()
	return true
}

// perishables is a heap with the earliest one first.
type perishables []*perishable

// Len implements heap.Interface.
func (h perishables) Len() int { return len(h) }

// Less implements heap.Interface.
func (h perishables) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

// Swap implements heap.Interface.
func (h perishables) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *perishables) Push(x any) {
	p := x.(*perishable)
	p.index = len(*h)
	*h = append(*h, p)
}

// Pop implements heap.Interface.
func (h *perishables) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
