package lines

import "slices"

// Purge deletes all messages of a queue, including delayed ones and those in flight, as an operator
// can. It is for tests, and does not inform the journal.
func (q *Queue) Purge(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.advance()
	l := q.lines[name]
	if l == nil {
		return
	}
	for way := l.next(); way != nil; way = l.next() {
		for m := way.first; m != nil; m = m.next {
			q.deliver(m, now)
		}
	}
	for _, m := range slices.Clone(q.hidden) {
		if m.line == l {
			q.show(m)
			q.drop(m)
		}
	}
	q.setAlarm()
}
