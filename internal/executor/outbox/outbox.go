package outbox

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Options are the settings of an outbox.
type Options struct {
	// LongTimer is the delay from which a message is kept in the store of timers.
	LongTimer time.Duration
	// SendsAtOnce is how many requests to queues one call makes at once, at most.
	SendsAtOnce int
	// HasTaskQueue reports whether the deployment has a task queue.
	HasTaskQueue func(name string) bool
	// Logger gets what operators have to repair.
	Logger *slog.Logger
	// Observe gets events; nil if nobody wants them.
	Observe *observe.Hub
}

// Outbox sends messages.
type Outbox struct {
	queue   queue.Sender
	timers  store.Timers
	host    host.Host
	options Options
	results results
	late    observe.Outage // of the timers in the store
}

// New returns an outbox.
func New(q queue.Sender, timers store.Timers, h host.Host, o Options) *Outbox {
	return &Outbox{queue: q, timers: timers, host: h, options: o}
}

func (o *Outbox) now() history.Timestamp { return history.At(o.host.Now()) }

// Send sends messages. It returns nil only if all of them are durable in a queue or in the store of
// timers. A message that is sent again begins a new causation id. A copy keeps the send id of the
// message that it replaces.
//
// A result always goes to its queue, whose delay suffices for it: a large result in the store would
// need the bucket.
func (o *Outbox) Send(ctx context.Context, messages []engine.Message) error {
	for i := range messages {
		m := &messages[i]
		if m.Look == 0 || m.Send == 0 {
			m.Send = o.NewSendID()
		}
		if m.CausationID == 0 {
			m.CausationID = history.CausationID(m.Send)
		}
	}
	return o.sendWithin(ctx, messages, o.options.LongTimer)
}

// SendLater sends a copy of a message, to be delivered after a delay.
func (o *Outbox) SendLater(ctx context.Context, m *engine.Message, delay time.Duration) error {
	later := *m
	later.Due = o.now().Add(delay)
	return o.Send(ctx, []engine.Message{o.Copy(&later)})
}

// Copy returns a copy that takes the place of a message.
func (o *Outbox) Copy(m *engine.Message) engine.Message {
	later := *m
	if later.Look < MaxLook {
		later.Look++
		later.Copy = o.NewSendID()
	}
	return later
}

// MaxLook is the highest Look of a message. Copies beyond it are not distinguished from the one
// before.
const MaxLook = 1<<17 - 1

// NewSendID returns an id that distinguishes one send of a message from others.
func (o *Outbox) NewSendID() uint64 {
	id := o.host.ID()
	return binary.BigEndian.Uint64(id[:])
}

// Resume sends messages, all of them to their queues, in place of messages that were sent before
// and have waited in the store, or are handed back. What was done about those was done about these.
func (o *Outbox) Resume(ctx context.Context, messages []engine.Message) error {
	return o.sendWithin(ctx, messages, host.Forever)
}

// SendBack sends a message that was delivered before it was due.
//
// It stays the same sending: only the message that has ended an attempt sends the next attempt when
// it is redelivered. It goes to its queue however early it is. The sweep that has sent it may be
// about to delete its timer, and would delete one that is kept under the same name. A message is so
// early only if this process's clock is behind that of the sweep. A crash before the send leaves
// the message to be redelivered.
func (o *Outbox) SendBack(ctx context.Context, m *engine.Message) error {
	return o.Resume(ctx, []engine.Message{*m})
}

// postponed is the delay of a message that has not reached its run's build, although the build is
// there.
const postponed = 5 * time.Second

// Postpone sends a message again, with a short delay, that only another build may handle and that
// has not reached that build. When it returns nil the message may be deleted.
func (o *Outbox) Postpone(ctx context.Context, m *engine.Message) error {
	later := *m
	later.Due = max(m.Due, o.now().Add(postponed))
	return o.Resume(ctx, []engine.Message{later})
}

// ParkedFor is the interval at which a parked message looks for its build or its task queue.
const ParkedFor = 5 * time.Minute

// Park keeps a message for some minutes whose build is not deployed. When it returns nil the
// message may be deleted. However long the build is away, the message does not become a dead
// letter, and no attempt is counted.
//
// The message is kept in the store of timers. Its name follows from the message and the time, so
// that its deliveries of the same minutes become one. In a queue they would multiply for as long as
// the build is away.
//
// A crash before the put leaves the message in its queue. A crash after it leaves both, and the
// next Park makes them one.
func (o *Outbox) Park(ctx context.Context, m *engine.Message) error {
	later := *m
	later.Due = o.parkedUntil(m)
	body, err := encode(&later)
	if err != nil {
		return err
	}
	return o.keep(ctx, []store.Timer{{ID: parkedID(&later), Due: later.Due.Time(), Body: body}})
}

// ParkUntil keeps a message until the time of an attempt is over that another delivery has begun.
// When it returns nil the message may be deleted. The deliveries of one sending become one message,
// copies too: any of them may send what follows.
//
// A process whose clock is behind gets a message that was kept until that moment, and keeps it once
// more. It keeps it until a later moment, because the sweep that has sent it may be about to delete
// its timer, and would delete one of the same name.
func (o *Outbox) ParkUntil(ctx context.Context, m *engine.Message, at history.Timestamp) error {
	later := *m
	if at <= m.Due {
		at = m.Due.Add(SweepEvery)
	}
	later.Due = at
	body, err := encode(&later)
	if err != nil {
		return err
	}
	sending := later
	sending.Copy = 0
	return o.keep(ctx, []store.Timer{{ID: parkedID(&sending), Due: at.Time(), Body: body}})
}

// parkedUntil returns the moment until which a message is parked. It is later than the message's
// own moment, also if the clock of the sweep is ahead and has delivered the message early: the
// sweep that has sent the message then deletes the timer of that moment, and would delete this one.
func (o *Outbox) parkedUntil(m *engine.Message) history.Timestamp {
	return history.At(max(m.Due, o.now()).Time().Truncate(ParkedFor).Add(ParkedFor))
}

// sendWithin sends messages that are due within longest to their queues, and the others to the
// store of timers.
func (o *Outbox) sendWithin(ctx context.Context, messages []engine.Message, longest time.Duration) error {
	var soon batches
	var later []store.Timer
	now := o.now()
	for i := range messages {
		m := &messages[i]
		if m.Sent == 0 {
			m.Sent = now
		}
		homeless := o.delayHomeless(ctx, m)
		body, err := encode(m)
		if err != nil {
			return err
		}
		var delay time.Duration
		if m.Due != 0 {
			delay = max(m.Due.Sub(now), 0)
		}
		if homeless || delay > longest && m.Kind != engine.TakeResult {
			later = append(later, timer(m, body, longest == host.Forever))
			continue
		}
		name, group := route(m)
		soon.add(name, queue.Message{Body: body, Delay: roundUp(delay), Group: group})
	}
	if err := o.keep(ctx, later); err != nil {
		return err
	}
	return o.sendBatches(ctx, soon)
}

// delayHomeless makes a message due later if it is for a task queue that the deployment no longer
// has, and returns true then. The message is kept in the store, and looks for its queue again when
// it is due.
func (o *Outbox) delayHomeless(ctx context.Context, m *engine.Message) bool {
	if m.Kind != engine.RunActivity || o.options.HasTaskQueue(m.TaskQueue) {
		return false
	}
	m.Due = o.parkedUntil(m)
	o.options.Logger.ErrorContext(ctx, "an activity waits for a task queue that this deployment does not have: add it again, or reset the run to before it",
		"workflowId", m.WorkflowID, "runId", m.RunID, "eventId", m.EventID, "taskQueue", m.TaskQueue)
	return true
}

// keep puts timers into the store.
func (o *Outbox) keep(ctx context.Context, timers []store.Timer) error {
	if len(timers) == 0 {
		return nil
	}
	if err := o.timers.PutTimers(ctx, timers); err != nil {
		return outcome.OfStore("keep timers", err)
	}
	return nil
}

// batch is what one request sends to a queue.
type batch struct {
	queue    string
	messages []queue.Message
}

// batches are in the order of their first messages.
type batches []batch

func (b *batches) add(name string, m queue.Message) {
	for i := len(*b) - 1; i >= 0; i-- {
		if last := &(*b)[i]; last.queue == name && len(last.messages) < queue.MaxBatch {
			last.messages = append(last.messages, m)
			return
		}
	}
	*b = append(*b, batch{name, []queue.Message{m}})
}

// sendBatches sends SendsAtOnce batches at once. The batches of the workflow queue go one after the
// other, because it keeps their order.
func (o *Outbox) sendBatches(ctx context.Context, all batches) error {
	lanes := make([]batches, min(len(all), o.options.SendsAtOnce))
	next := 0
	for _, b := range all {
		lane := 0
		if b.queue != queue.Workflow {
			lane = next % len(lanes)
			next++
		}
		lanes[lane] = append(lanes[lane], b)
	}
	errs := make([]error, len(lanes))
	sends := make([]func(), len(lanes))
	for i, lane := range lanes {
		sends[i] = func() { errs[i] = o.sendLane(ctx, lane) }
	}
	o.host.Together(sends...)
	return errors.Join(errs...)
}

func (o *Outbox) sendLane(ctx context.Context, lane batches) error {
	for _, b := range lane {
		if err := o.queue.Send(ctx, b.queue, b.messages...); err != nil {
			return outcome.OfQueue("send to "+b.queue, err)
		}
	}
	return nil
}
