// Package lines is what the in-memory and the embedded queue share: the queues of a deployment in memory, with the port's
// semantics. They keep the promises of the port and no others, and check their callers: a call that
// breaks a rule of the port is reported, at the latest by [Queue.Check] at the end of a test. A
// journal, if there is one, gets every change, so that the queues can be rebuilt after a crash.
//
// Time is the clock's alone: whoever moves a clock calls [Queue.Tick], and whatever has become visible is delivered to
// those who wait for it.
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

// MaxBody is what a message of SQS takes in base64.
const MaxBody = 768 << 10

// Options are the options of a queue. The zero value works.
type Options struct {
	// Clock says what time it is; nil is the time of day, which needs no Tick.
	Clock func() time.Time
	// Violation is told what rule of the port a caller has broken; nil panics. It must not call the queue.
	Violation func(format string, args ...any)
	// MaxBody is the largest body; 0 is about what SQS takes.
	MaxBody int
	// Journal is told of what changes; nil keeps nothing.
	Journal Journal
	// BodyBytes is how many bytes of bodies are in memory, beside those that are being delivered; 0 is no bound, and there is none without a
	// Journal. A body beyond it is read from the journal when its message is delivered.
	BodyBytes int64
	// LastID is the highest number that the journal has given to a message.
	LastID uint64
}

// Journal is told of what changes. Except for Received its methods are called in the order of the changes, and must not
// call the queue.
type Journal interface {
	// Sent tells of messages that a queue has taken.
	Sent(queue string, messages []Kept) error
	// Received tells how often messages of a queue have been received. They are delivered when it returns nil. If wait is set, the counts
	// are kept by then. After an error they are taken back, and delivered later.
	Received(queue string, counts map[uint64]int, wait bool) error
	// Deleted tells of messages that are gone.
	Deleted(ids []uint64) error
	// Bodies returns the bodies of messages that were sent. It reports those that it cannot read, and leaves them out.
	Bodies(ids []uint64) (map[uint64][]byte, error)
	// Died tells of a message that is about to move to the dead letters of its queue, as a new one; without a body, the journal alone has
	// it. After an error the message stays, and moves later.
	Died(id uint64, to string, message Kept) error
}

// Kept is a message as a journal keeps it.
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
	// alarm calls Tick when the next message is due, where the clock is the time of day; otherwise it is nil.
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
	// buryAfter is the moment before which no message is moved to the dead letters: the journal could not keep that it was.
	buryAfter time.Time
}

var _ interface {
	queue.Sender
	queue.Receiver
} = (*Queue)(nil)

// New returns queues with these settings, all empty. It panics where a queue has a limit of receives and no queue of its
// kind for the dead letters.
func New(settings map[string]queue.Settings, o Options) *Queue {
	q := &Queue{options: o, seed: maphash.MakeSeed(), lines: map[string]*line{}, inFlight: map[uint64]*message{}, lastID: o.LastID}
	if o.Clock == nil {
		q.options.Clock = time.Now
		q.alarm = time.AfterFunc(queue.MaxDelay, q.Tick)
		q.alarm.Stop() // until there is something to wait for
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
			panic("queue: the dead letters of " + name + " have no queue of its kind")
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

// enter puts a message at the end of its lane. One that has been received as often as it may is hidden, for advance to bury.
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

// Restore puts messages back that a journal has kept, in the order of their numbers, before the queue is used. What was in
// flight is visible: whoever held it is gone. Messages that have been received as often as they may go to the dead letters: the
// process that held them last may have died of them. They go when Restored is called.
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
		case l.FIFO || k.Received > 0: // it was visible before
			k.Visible = now
		case k.Visible.After(latest):
			k.Visible = latest
		}
		q.enter(l, k, now).restored = true
	}
	return nil
}

// Restored ends what Restore began, for all queues.
func (q *Queue) Restored() { q.Tick() }

// Dump returns the messages of a queue in the order of their numbers, those in flight too, as a journal would have kept them.
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

// fetchBodies reads the bodies of deliveries that are not in memory from the journal. It leaves out those that the journal cannot read, and
// what follows them in their group: they stay in flight until their time-out, as if a handler had failed, and go to the dead letters.
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

// received is what a journal is told of a Receive.
type received struct {
	taken  []taken
	counts map[uint64]int
	// wait says that the journal has to keep the counts before the handlers begin. It need not if all messages are delivered for the
	// first time, and were sent in the life of this process: a process that dies of one of them leaves it to the next, which does wait.
	// So a message is received at most once more than its limit.
	wait bool
}

// taken is a message and the number of its delivery.
type taken struct {
	message  *message
	delivery uint64
}

// receive takes what is visible, or returns what is closed when there may be something.
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

// pause is how long after a failure of the journal what it concerned waits for the next try.
const pause = time.Second

// takeBack takes deliveries back that the journal could not keep: no handler has seen them. The messages keep their places, and are
// visible again after a pause.
func (q *Queue) takeBack(deliveries []taken) {
	q.mu.Lock()
	defer q.mu.Unlock()
	until := q.options.Clock().Add(pause)
	for _, d := range deliveries {
		m := d.message
		m.received--
		if m.delivery != d.delivery {
			continue // its time-out was over before the journal failed
		}
		delete(q.inFlight, d.delivery)
		m.delivery, m.visible = 0, until
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

// Tick looks at the clock: what has become visible goes to those who wait.
func (q *Queue) Tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance()
	q.setAlarm()
}

// Next returns when the next message that is delayed or in flight becomes visible; ok is false if
// there is none.
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

// Len is the number of messages that a queue holds, those delayed and in flight included.
func (q *Queue) Len(name string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance()
	if l := q.lines[name]; l != nil {
		return l.held
	}
	return 0
}
