package lines

import (
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// message is a message that was sent and not deleted.
type message struct {
	// body is the sender's own, who must not change it, or nil if the journal alone has it; digest is what it was.
	id       uint64
	body     []byte
	digest   uint64
	line     *line
	lane     *lane
	prev     *message
	next     *message
	received int
	// restored says that an earlier process sent it.
	restored bool
	// visible is when a message that is delayed or in flight becomes visible.
	visible time.Time
	hid     uint64 // when it was hidden, counted
	index   int    // its place among the hidden ones
	// delivery is the number of its delivery while it is in flight, otherwise 0.
	delivery uint64
}

// lane is what is delivered in order: a group of a FIFO queue, or a single message of a standard one. It is ready when
// it has messages and none of them is hidden.
type lane struct {
	group  string
	first  *message
	last   *message
	hidden int
	ready  bool // it stands among the line's ready ones
}

// line is one queue.
type line struct {
	queue.Settings
	name  string
	dead  *line            // its dead letters; nil if it has none
	lanes map[string]*lane // of a FIFO queue, by group; those without messages are not kept
	ready []*lane          // the one that has been ready for longest first
	held  int              // messages
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

// remove takes a message out of its lane. What comes after it may be ready then.
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

// offer puts a lane among the ready ones, if it is, and wakes those who wait.
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

// next takes the lane that has been ready for longest; nil if none is.
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

// wait returns what is closed when a lane becomes ready.
func (l *line) wait() <-chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}
