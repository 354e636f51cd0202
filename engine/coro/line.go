package coro

// line is a queue whose elements can leave from anywhere, in constant time. The zero value is
// empty.
type line[T any] struct {
	head, tail *link[T]
}

// link is an element of a line.
type link[T any] struct {
	value      T
	prev, next *link[T]
	in         *line[T] // nil once it has left
}

func (l *line[T]) empty() bool { return l.head == nil }

// add adds a value at the end.
func (l *line[T]) add(value T) *link[T] {
	e := &link[T]{value: value, prev: l.tail, in: l}
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	return e
}

// leave takes the element out of its line, if it is in one.
func (e *link[T]) leave() {
	l := e.in
	if l == nil {
		return
	}
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.in, e.prev, e.next = nil, nil, nil
}
