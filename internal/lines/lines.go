// Package lines is the common part of the in-memory and the embedded queue: the queues of a
// deployment in memory, with the port's semantics. They give the port's guarantees and no others,
// and check their callers: they report a call that breaks a rule of the port, at the latest in
// [Queue.Check] at the end of a test. A journal, if there is one, gets every change, so that the
// queues can be restored after a crash.
//
// Time passes only by the clock. After a move of its clock, a test calls [Queue.Tick], which
// delivers what has become visible to the waiting receivers.
package lines

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// MaxBody is the largest body that fits into a message of SQS in base64.
const MaxBody = 768 << 10

// Options are the options of a queue. The zero value works.
type Options struct {
	// Clock returns the time; nil means the system's clock, which needs no Tick.
	Clock func() time.Time
	// Violation is called with the rule of the port that a caller broke; nil panics. It must not
	// call the queue.
	Violation func(format string, args ...any)
	// MaxBody is the largest body; 0 means the constant MaxBody.
	MaxBody int
	// Journal gets every change; nil stores nothing.
	Journal Journal
	// BodyBytes is how many bytes of bodies are in memory, besides those being delivered. 0 means
	// no bound, as does a nil Journal. Further bodies are read from the journal when their messages
	// are delivered.
	BodyBytes int64
	// LastID is the highest number of a message in the journal.
	LastID uint64
}

// Journal gets every change. Except for Received, its methods are called in the order of the
// changes, and must not call the queue.
type Journal interface {
	// Sent stores messages that a queue has accepted.
	Sent(queue string, messages []Kept) error
	// Received stores the counts of a queue's messages, by their numbers. The queue delivers the
	// messages when it returns nil; if wait is set, the counts are then durable. After an error the
	// queue takes the messages back, and delivers them later.
	Received(queue string, counts map[uint64]int, wait bool) error
	// Deleted removes messages.
	Deleted(ids []uint64) error
	// Bodies returns the bodies of stored messages. It reports those that it cannot read, and
	// leaves them out.
	Bodies(ids []uint64) (map[uint64][]byte, error)
	// Moved moves a message to another queue, as a new message: to the dead letters, or back. If
	// message has no body, only the journal has it. After an error the message stays, and moves
	// later.
	Moved(id uint64, to string, message Kept) error
}

// Kept is a message in the form that a journal stores.
type Kept struct {
	// ID is its number: later messages have higher ones.
	ID       uint64
	Group    string
	Visible  time.Time
	Received int
	// Body is nil in a Restore or a Died if the body is not in memory.
	Body []byte
}

// Queue holds the queues of a deployment. It is safe for concurrent use.
type Queue struct {
	options Options
	seed    maphash.Seed
	// alarm calls Tick when the next message is due, if the clock is the system's. It is nil
	// otherwise.
	alarm *time.Timer

	mu     sync.Mutex
	lines  map[string]*line
	hidden hidden
	// inFlight has the messages in flight by the number of their delivery.
	inFlight   map[uint64]*message
	deliveries uint64
	hides      uint64
	bodies     int64 // bytes of bodies in memory
	lastID     uint64
	// buryAfter is the time before which no message moves to the dead letters, because the journal
	// failed to store a move.
	buryAfter time.Time
}

var _ interface {
	queue.Sender
	queue.Receiver
	queue.Inspector
	queue.Redriver
	queue.Browser
} = (*Queue)(nil)

// New returns empty queues with these settings. It panics if a queue has a limit of receives and
// there is no queue of the same kind for its dead letters.
func New(settings map[string]queue.Settings, o Options) *Queue {
	q := &Queue{options: o, seed: maphash.MakeSeed(), lines: map[string]*line{}, inFlight: map[uint64]*message{}, lastID: o.LastID}
	if o.Clock == nil {
		q.options.Clock = time.Now
		q.alarm = time.AfterFunc(queue.MaxDelay, q.Tick)
		q.alarm.Stop() // until a message is hidden
	}
	if o.Violation == nil {
		q.options.Violation = func(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
	}
	if o.MaxBody == 0 {
		q.options.MaxBody = MaxBody
	}
	for name, s := range settings {
		q.lines[name] = &line{name: name, Settings: s, lanes: map[string]*lane{}}
	}
	for name, l := range q.lines {
		if l.MaxReceives == 0 {
			continue
		}
		if l.dead = q.lines[queue.DeadLetters(name)]; l.dead == nil || l.dead.FIFO != l.FIFO {
			panic("queue: there is no queue of its kind for the dead letters of " + name)
		}
	}
	return q
}

// Send implements queue.Sender.
func (q *Queue) Send(ctx context.Context, name string, messages ...queue.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.advance()
	l, err := q.line(name)
	if err != nil {
		return err
	}
	if err := q.inspect(l, messages); err != nil {
		return err
	}
	kept := make([]Kept, len(messages))
	for i, m := range messages {
		q.lastID++
		kept[i] = Kept{ID: q.lastID, Group: m.Group, Visible: now.Add(m.Delay), Body: m.Body}
	}
	if q.options.Journal != nil {
		if err := q.options.Journal.Sent(name, kept); err != nil {
			return err
		}
	}
	for _, k := range kept {
		q.enter(l, k, now)
	}
	q.setAlarm()
	return nil
}

// enter puts a message at the end of its lane. It hides one that has reached its limit of receives,
// so that advance moves it to the dead letters.
func (q *Queue) enter(l *line, k Kept, now time.Time) *message {
	m := &message{id: k.ID, digest: q.digest(k.Body), line: l, visible: k.Visible, received: k.Received}
	if q.options.Journal == nil || q.options.BodyBytes == 0 || q.bodies+int64(len(k.Body)) <= q.options.BodyBytes {
		m.body = k.Body
		q.bodies += int64(len(m.body))
	}
	l.add(m, k.Group)
	if k.Visible.After(now) || m.worn() {
		q.hide(m)
		return m
	}
	l.offer(m.lane)
	return m
}

// Restore adds the messages that a journal has stored, in the order of their numbers, before the
// queue is used. Messages that were in flight are visible, because their receivers are gone.
// Messages that have reached their limit of receives move to the dead letters when Restored is
// called: their last process may have died of them.
func (q *Queue) Restore(name string, messages []Kept) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, err := q.line(name)
	if err != nil {
		return err
	}
	now := q.options.Clock()
	for _, k := range messages {
		q.lastID = max(q.lastID, k.ID)
		// The clock may have been ahead when the message was sent.
		switch latest := now.Add(queue.MaxDelay); {
		case l.FIFO || k.Received > 0: // it has been visible
			k.Visible = now
		case k.Visible.After(latest):
			k.Visible = latest
		}
		q.enter(l, k, now).restored = true
	}
	return nil
}

// Restored completes the restoration of all queues.
func (q *Queue) Restored() { q.Tick() }

// Dump returns the messages of a queue, including those in flight, in the order of their numbers
// and in the form of a journal.
func (q *Queue) Dump(name string) []Kept {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, err := q.line(name)
	if err != nil {
		return nil
	}
	lanes := map[*lane]bool{}
	for _, m := range q.hidden {
		lanes[m.lane] = m.line == l
	}
	for _, way := range l.ready {
		lanes[way] = true
	}
	var all []Kept
	for way, its := range lanes {
		for m := way.first; its && m != nil; m = m.next {
			all = append(all, Kept{ID: m.id, Group: way.group, Visible: m.visible, Received: m.received, Body: m.body})
		}
	}
	slices.SortFunc(all, func(a, b Kept) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Receive implements queue.Receiver.
func (q *Queue) Receive(ctx context.Context, name string, limit int) ([]queue.Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		deliveries, received, changed, err := q.receive(name, limit)
		if err != nil {
			return nil, err
		}
		if len(deliveries) > 0 {
			if q.options.Journal != nil {
				deliveries, err = q.fetchBodies(deliveries, received.taken)
				if err == nil {
					err = q.options.Journal.Received(name, received.counts, received.wait)
				}
				if err != nil {
					q.takeBack(received.taken)
					return nil, err
				}
			}
			if len(deliveries) > 0 {
				return deliveries, nil
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// fetchBodies reads missing bodies of deliveries from the journal. It leaves out a delivery that
// the journal cannot read, and those behind it in its group: they stay in flight until their
// time-out, as if a handler had failed, and later move to the dead letters.
func (q *Queue) fetchBodies(deliveries []queue.Delivery, taken []taken) ([]queue.Delivery, error) {
	var ids []uint64
	for i, d := range deliveries {
		if d.Body == nil {
			ids = append(ids, taken[i].message.id)
		}
	}
	if len(ids) == 0 {
		return deliveries, nil
	}
	bodies, err := q.options.Journal.Bodies(ids)
	if err != nil {
		return nil, err
	}
	blocked := map[string]bool{}
	sound := deliveries[:0]
	for i, d := range deliveries {
		if d.Body == nil {
			d.Body = bodies[taken[i].message.id]
		}
		if d.Body == nil {
			blocked[d.Group] = d.Group != ""
		} else if !blocked[d.Group] {
			sound = append(sound, d)
		}
	}
	return sound, nil
}

// drop removes a message, with its body.
func (q *Queue) drop(m *message) {
	m.line.remove(m)
	q.bodies -= int64(len(m.body))
	m.body = nil
}

// received describes a Receive to the journal.
type received struct {
	taken  []taken
	counts map[uint64]int
	// wait is set if the counts have to be durable before the handlers begin. They need not be if
	// all messages are delivered for the first time and were sent by this process: if one of them
	// ends the process, the next process does wait. So a message is received at most once more than
	// its limit.
	wait bool
}

// taken is a message with the number of its delivery.
type taken struct {
	message  *message
	delivery uint64
}

// receive takes visible messages. If there are none, it returns a channel that is closed when there
// may be some.
func (q *Queue) receive(name string, limit int) ([]queue.Delivery, received, <-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.advance()
	l, err := q.line(name)
	if err != nil {
		return nil, received{}, nil, err
	}
	if limit < 1 || limit > queue.MaxBatch {
		return nil, received{}, nil, fmt.Errorf("%w: a Receive of %d messages", queue.ErrInvalid, limit)
	}
	var deliveries []queue.Delivery
	r := received{counts: map[uint64]int{}}
	for len(deliveries) < limit {
		way := l.next()
		if way == nil {
			break
		}
		for m := way.first; m != nil && len(deliveries) < limit; m = m.next {
			deliveries = append(deliveries, q.deliver(m, now))
			r.taken = append(r.taken, taken{m, m.delivery})
			r.counts[m.id] = m.received
			r.wait = r.wait || m.restored || m.received > 1
		}
	}
	q.setAlarm()
	if len(deliveries) > 0 {
		return deliveries, r, nil, nil
	}
	return nil, received{}, l.wait(), nil
}

// pause is the time between a failure of the journal and the next try.
const pause = time.Second

// takeBack takes back deliveries whose counts the journal could not store. No handler has seen
// them. The messages keep their places, and are visible again after a pause.
func (q *Queue) takeBack(deliveries []taken) {
	q.mu.Lock()
	defer q.mu.Unlock()
	until := q.options.Clock().Add(pause)
	for _, d := range deliveries {
		m := d.message
		m.received--
		if m.delivery != d.delivery {
			continue // its time-out passed before the journal failed
		}
		q.land(m)
		m.visible = until
		heap.Fix(&q.hidden, m.index)
	}
	q.setAlarm()
}

func (q *Queue) deliver(m *message, now time.Time) queue.Delivery {
	q.examine(m)
	q.deliveries++
	m.received++
	m.delivery, m.visible = q.deliveries, now.Add(m.line.Visibility)
	q.inFlight[m.delivery] = m
	m.line.flying++
	q.hide(m)
	return queue.Delivery{
		Body: bytes.Clone(m.body), Receipt: receipt(m.line.name, m.delivery), Received: m.received, Group: m.lane.group,
	}
}

// Delete implements queue.Receiver.
func (q *Queue) Delete(ctx context.Context, name string, receipts ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance()
	if _, err := q.line(name); err != nil {
		return err
	}
	if len(receipts) > queue.MaxBatch {
		return fmt.Errorf("%w: a Delete of %d messages", queue.ErrInvalid, len(receipts))
	}
	var ids []uint64
	for _, r := range receipts {
		if m := q.find(name, r); m != nil {
			q.examine(m)
			q.show(m)
			q.drop(m)
			ids = append(ids, m.id)
		}
	}
	q.setAlarm()
	if q.options.Journal != nil && len(ids) > 0 {
		return q.options.Journal.Deleted(ids)
	}
	return nil
}

// Extend implements queue.Receiver.
func (q *Queue) Extend(ctx context.Context, name, r string, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.advance()
	if _, err := q.line(name); err != nil {
		return err
	}
	if d < 0 {
		return fmt.Errorf("%w: an Extend by %v", queue.ErrInvalid, d)
	}
	if m := q.find(name, r); m != nil {
		m.visible = now.Add(d)
		heap.Fix(&q.hidden, m.index)
		q.advance() // with 0 it is visible now
	}
	q.setAlarm()
	return nil
}

// Tick delivers what has become visible according to the clock to the waiting receivers.
func (q *Queue) Tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance()
	q.setAlarm()
}

// Next returns when the next delayed or in-flight message becomes visible; ok is false if there is
// none.
func (q *Queue) Next() (at time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance()
	if len(q.hidden) == 0 {
		return at, false
	}
	return q.hidden[0].visible, true
}

// Ready reports whether a Receive would not wait.
func (q *Queue) Ready(name string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance()
	l := q.lines[name]
	return l != nil && len(l.ready) > 0
}

// Len returns the number of messages in a queue, including delayed ones and those in flight.
func (q *Queue) Len(name string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance()
	if l := q.lines[name]; l != nil {
		return l.held
	}
	return 0
}
