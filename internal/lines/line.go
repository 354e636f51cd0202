package lines

import (
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// message is a message that was sent and is not deleted.
type message struct {
	// body is the sender's own slice, which the sender must not change, or nil if only the journal
	// has it. digest is its digest when it was sent.
	id       uint64
	body     []byte
	digest   uint64
	line     *line
	lane     *lane
	prev     *message
	next     *message
	received int
	// restored is set if an earlier process sent the message.
	restored bool
	// visible is when a delayed or in-flight message becomes visible.
	visible time.Time
	hid     uint64 // the count of hidden messages when it was hidden
	index   int    // its index in hidden
	// delivery is the number of its delivery while it is in flight, and 0 otherwise.
	delivery uint64
}

// lane is a sequence of messages that are delivered in order: a group of a FIFO queue, or one
// message of a standard queue. It is ready if it has messages and none of them is hidden.
type lane struct {
	group  string
	first  *message
	last   *message
	hidden int
	ready  bool // it is in line.ready
}

// line is one queue.
type line struct {
	queue.Settings
	name  string
	dead  *line            // its queue of dead letters, or nil
	lanes map[string]*lane // of a FIFO queue, by group; never without messages
	ready []*lane          // the one that was ready first comes first
	held  int              // messages
	// hidden is how many of them are delayed or in flight, and flying how many are in flight.
	hidden, flying int
	// changed is closed when a lane becomes ready; nil while nobody waits.
	changed chan struct{}
}

// add puts a message at the end of its lane.
func (l *line) add(m *message, group string) {
	way := l.lanes[group]
	if way == nil {
		way = &lane{group: group}
		if l.FIFO {
			l.lanes[group] = way
		}
	}
	m.lane = way
	if m.prev = way.last; m.prev != nil {
		m.prev.next = m
	} else {
		way.first = m
	}
	way.last = m
	l.held++
}

// remove takes a message out of its lane, which may make the lane ready.
func (l *line) remove(m *message) {
	way := m.lane
	if m.prev != nil {
		m.prev.next = m.next
	} else {
		way.first = m.next
	}
	if m.next != nil {
		m.next.prev = m.prev
	} else {
		way.last = m.prev
	}
	m.prev, m.next = nil, nil
	if l.held--; way.first == nil {
		delete(l.lanes, way.group)
	}
	l.offer(way)
}

// offer adds a lane to the ready ones, if it is ready, and wakes the waiting receivers.
func (l *line) offer(way *lane) {
	if way.ready || way.hidden > 0 || way.first == nil {
		return
	}
	way.ready = true
	l.ready = append(l.ready, way)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// next takes the lane that was ready first, or returns nil if none is ready.
func (l *line) next() *lane {
	if len(l.ready) == 0 {
		return nil
	}
	way := l.ready[0]
	l.ready[0] = nil
	l.ready = l.ready[1:]
	way.ready = false
	return way
}

// wait returns a channel that is closed when a lane becomes ready.
func (l *line) wait() <-chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}
