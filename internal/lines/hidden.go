package lines

import (
	"container/heap"
	"slices"
	"time"
)

// hidden has the delayed and in-flight messages of all queues. It is a heap: the message that
// becomes visible next is first. Of those visible at the same moment, the one that was hidden first
// comes first, so that a group keeps its order on the way to the dead letters.
type hidden []*message

// Len implements heap.Interface.
func (h hidden) Len() int { return len(h) }

// Less implements heap.Interface.
func (h hidden) Less(i, j int) bool {
	if c := h[i].visible.Compare(h[j].visible); c != 0 {
		return c < 0
	}
	return h[i].hid < h[j].hid
}

// Swap implements heap.Interface.
func (h hidden) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *hidden) Push(x any) {
	m := x.(*message)
	m.index = len(*h)
	*h = append(*h, m)
}

// Pop implements heap.Interface.
func (h *hidden) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}

// hide makes a message invisible until its time.
func (q *Queue) hide(m *message) {
	q.hides++
	m.hid = q.hides
	m.lane.hidden++
	m.line.hidden++
	if way := m.lane; way.ready { // a message in front of it is visible, see Restore
		m.line.ready = slices.DeleteFunc(m.line.ready, func(other *lane) bool { return other == way })
		way.ready = false
	}
	heap.Push(&q.hidden, m)
}

// show makes a hidden message visible. If it was in flight, its receipt becomes invalid.
func (q *Queue) show(m *message) {
	heap.Remove(&q.hidden, m.index)
	m.lane.hidden--
	m.line.hidden--
	q.land(m)
}

// land makes the receipt of a message invalid, if it is in flight.
func (q *Queue) land(m *message) {
	if m.delivery == 0 {
		return
	}
	delete(q.inFlight, m.delivery)
	m.line.flying--
	m.delivery = 0
}

// advance makes the messages visible that are due, or moves them to the dead letters, and returns
// the time.
func (q *Queue) advance() time.Time {
	now := q.options.Clock()
	for len(q.hidden) > 0 && !q.hidden[0].visible.After(now) {
		m := q.hidden[0]
		if !m.worn() {
			q.show(m)
			m.line.offer(m.lane)
			continue
		}
		k := Kept{ID: q.lastID + 1, Group: m.lane.group, Visible: now, Body: m.body}
		if !q.keepDeath(m, k, now) {
			m.visible = q.buryAfter
			heap.Fix(&q.hidden, 0)
			continue
		}
		q.lastID++
		q.show(m)
		q.examine(m)
		q.drop(m)
		q.enter(m.line.dead, k, now)
	}
	return now
}

// worn reports whether a message has reached its limit of receives.
func (m *message) worn() bool { return m.line.dead != nil && m.received >= m.line.MaxReceives }

// keepDeath records in the journal that a message moves to the dead letters, where it is stored as
// k. It returns false if the journal fails. Then no message moves for a while: memory must not have
// deaths that the disk does not have, and the deaths of a group keep their order.
func (q *Queue) keepDeath(m *message, k Kept, now time.Time) bool {
	if q.options.Journal == nil {
		return true
	}
	if q.buryAfter.After(now) {
		return false
	}
	if q.options.Journal.Moved(m.id, m.line.dead.name, k) != nil {
		q.buryAfter = now.Add(pause)
		return false
	}
	return true
}

// setAlarm schedules a Tick for when the next message is due, if the clock is the system's.
func (q *Queue) setAlarm() {
	switch {
	case q.alarm == nil:
	case len(q.hidden) > 0:
		q.alarm.Reset(time.Until(q.hidden[0].visible))
	default:
		q.alarm.Stop()
	}
}
