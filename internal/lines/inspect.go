package lines

import (
	"bytes"
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/queue"
)

// Depth implements queue.Inspector. Its counts are exact.
func (q *Queue) Depth(ctx context.Context, name string) (queue.Depth, error) {
	if err := ctx.Err(); err != nil {
		return queue.Depth{}, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance()
	q.setAlarm()
	l, err := q.line(name)
	if err != nil {
		return queue.Depth{}, err
	}
	return queue.Depth{Waiting: int64(l.held - l.hidden), InFlight: int64(l.flying), Delayed: int64(l.hidden - l.flying)}, nil
}

// redriveAtOnce is how many messages Redrive moves before others may use the queue.
const redriveAtOnce = 100

// Redrive implements queue.Redriver. It returns when all dead letters that were visible have been
// moved. They are durable as after a Send.
func (q *Queue) Redrive(ctx context.Context, name string) error {
	left := q.Len(queue.DeadLetters(name)) // those that arrive meanwhile may stay
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		moved, err := q.redrive(name, min(left, redriveAtOnce))
		if left -= moved; err != nil || moved == 0 {
			return err
		}
	}
}

// redrive moves at most limit visible dead letters of a queue back to it, and returns how many.
func (q *Queue) redrive(name string, limit int) (moved int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.advance()
	defer q.setAlarm()
	l, err := q.line(name)
	if err != nil {
		return 0, err
	}
	if l.dead == nil {
		return 0, fmt.Errorf("%w: the queue %q has no dead letters", queue.ErrInvalid, name)
	}
	for ; moved < limit; moved++ {
		way := l.dead.next()
		if way == nil {
			break
		}
		m := way.first
		k := Kept{ID: q.lastID + 1, Group: way.group, Visible: now, Body: m.body}
		if q.options.Journal != nil {
			if err := q.options.Journal.Moved(m.id, name, k); err != nil {
				l.dead.offer(way)
				return moved, err
			}
		}
		q.lastID++
		q.examine(m)
		q.drop(m) // offers the rest of its group again
		q.enter(l, k, now)
	}
	return moved, nil
}

// Browse implements queue.Browser. It leaves out messages whose bodies the journal cannot read.
func (q *Queue) Browse(ctx context.Context, name string, limit int) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.mu.Lock()
	_, err := q.line(name)
	q.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case limit < 1:
		return nil, fmt.Errorf("%w: a Browse of %d messages", queue.ErrInvalid, limit)
	}
	q.Tick()
	all := q.Dump(name)
	all = all[:min(len(all), limit)]
	stored, err := q.storedBodies(all)
	if err != nil {
		return nil, err
	}
	bodies := make([][]byte, 0, len(all))
	for _, k := range all {
		if k.Body != nil {
			bodies = append(bodies, bytes.Clone(k.Body))
		} else if body := stored[k.ID]; body != nil {
			bodies = append(bodies, body)
		}
	}
	return bodies, nil
}

// storedBodies reads the bodies of messages that only the journal has.
func (q *Queue) storedBodies(messages []Kept) (map[uint64][]byte, error) {
	var ids []uint64
	for _, k := range messages {
		if k.Body == nil {
			ids = append(ids, k.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return q.options.Journal.Bodies(ids)
}
