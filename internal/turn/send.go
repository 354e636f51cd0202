package turn

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// inlineInput is the largest input of an activity that its message carries; a larger one is taken from the log.
const inlineInput = 32 << 10

// sendLater sends a copy of a message, for after a delay.
func (s *Service) sendLater(ctx context.Context, m *engine.Message, delay time.Duration) error {
	again := later(m, s.now().Add(delay))
	return s.send(ctx, []engine.Message{s.copyOf(&again)})
}

// send sends messages: those that are due soon to their queue, those that are due later to the store of timers. It
// returns nil only when all of them are on their way. What is sent again begins a wave; a copy that takes a message's place
// keeps its sending. A result goes to its queue, which takes its
// delay: in the store a large one would need the bucket. Only Park keeps one there.
func (s *Service) send(ctx context.Context, messages []engine.Message) error {
	for i := range messages {
		m := &messages[i]
		if m.Look == 0 || m.Send == 0 {
			m.Send = s.sending()
		}
		if m.Wave == 0 {
			m.Wave = history.Wave(m.Send)
		}
	}
	return s.sendWithin(ctx, messages, s.options.LongTimer)
}

// sendOn sends messages, all of them to their queues, that take the place of such as were sent before: they have been kept in
// the store meanwhile, or are handed back. What was done about those was done about these.
func (s *Service) sendOn(ctx context.Context, messages []engine.Message) error {
	return s.sendWithin(ctx, messages, host.Forever)
}

// sendBack sends a message that was delivered before its time. It stays the same sending: the one that has ended an attempt sends the
// next one when it is delivered again, and no other does (see closeAttempt). It goes to its queue, however early it is: the sweep that has
// sent it may be about to delete the timer of its moment, and would delete one that is kept here. Only a clock that is behind that of the
// sweep's process finds a message so early. A crash before it leaves the message to be delivered again.
func (s *Service) sendBack(ctx context.Context, m *engine.Message) error {
	return s.sendOn(ctx, []engine.Message{*m})
}

func (s *Service) sendWithin(ctx context.Context, messages []engine.Message, longest time.Duration) error {
	var soon batches
	var later []store.Timer
	now := s.now()
	for i := range messages {
		m := &messages[i]
		if m.Sent == 0 {
			m.Sent = now
		}
		nowhere := s.nowhere(ctx, m)
		body, err := encodeMessage(m)
		if err != nil {
			return err
		}
		var delay time.Duration
		if m.Due != 0 {
			delay = max(m.Due.Sub(now), 0)
		}
		if nowhere || delay > longest && m.Kind != engine.TakeResult {
			later = append(later, keptTimer(m, body, longest == host.Forever))
			continue
		}
		name, group := route(m)
		soon.add(name, queue.Message{Body: body, Delay: roundUp(delay), Group: group})
	}
	if len(later) > 0 {
		if err := s.Timers.PutTimers(ctx, later); err != nil {
			return fmt.Errorf("%w: keep timers: %w", outcome.ErrBusy, err)
		}
	}
	return s.sendBatches(ctx, soon)
}

// keptTimer is a message as the store of timers keeps it: as it was before where it is kept again (see Park).
func keptTimer(m *engine.Message, body []byte, again bool) store.Timer {
	id := timerID(m)
	if again {
		id = parkedID(m)
	}
	return store.Timer{ID: id, Due: m.Due.Time(), Body: body}
}

// nowhere reports whether a message is for a task queue that the deployment no longer has, and makes it due later: it is kept
// in the store, and looks for its queue again from time to time.
func (s *Service) nowhere(ctx context.Context, m *engine.Message) bool {
	if m.Kind != engine.RunActivity || s.options.Engine.HasTaskQueue(m.TaskQueue) {
		return false
	}
	m.Due = s.parkedUntil(m)
	s.options.Logger.ErrorContext(ctx, "an activity waits for a task queue that this deployment does not have: add it again, or reset the run to before it",
		"workflowId", m.WorkflowID, "runId", m.RunID, "eventId", m.EventID, "taskQueue", m.TaskQueue)
	return true
}

// sending makes the id that tells a sending from others of the same message.
func (s *Service) sending() uint64 {
	id := s.world.ID()
	return binary.BigEndian.Uint64(id[:])
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

// sendBatches sends so many batches at once. Those of the workflow queue go one after the other: it keeps their order.
func (s *Service) sendBatches(ctx context.Context, all batches) error {
	lanes := make([]batches, min(len(all), s.options.SendsAtOnce))
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
		sends[i] = func() { errs[i] = s.sendLane(ctx, lane) }
	}
	s.world.Together(sends...)
	return errors.Join(errs...)
}

func (s *Service) sendLane(ctx context.Context, lane batches) error {
	for _, b := range lane {
		if err := s.Queue.Send(ctx, b.queue, b.messages...); err != nil {
			return fmt.Errorf("%w: send to %s: %w", outcome.ErrBusy, b.queue, err)
		}
	}
	return nil
}

// roundUp rounds a delay up to the milliseconds, so that a timer's message does not arrive before its moment. (SQS delays
// by whole seconds; its adapter rounds up again.)
func roundUp(d time.Duration) time.Duration {
	return min((d + time.Millisecond - 1).Truncate(time.Millisecond), queue.MaxDelay)
}

// route is the queue of a message, and its group there. A result that comes back from the dead letters waits on the timer
// queue: a FIFO queue delays nothing. It goes there also when its wait is over, so that which queues a function sends to
// does not depend on the clock: its rights name them.
func route(m *engine.Message) (name, group string) {
	switch {
	case m.Kind == engine.RunActivity:
		return queue.ForTasks(m.TaskQueue), ""
	case m.Kind == engine.TakeResult && m.Due == 0:
		return queue.Workflow, m.WorkflowID
	}
	return queue.Timers, ""
}

// timerID names a message among those that are due at the same moment. Sent again, it has the same name. Copies that take the place of
// one message differ: the one that has claimed the attempt is the only one that goes on with it (see claim).
func timerID(m *engine.Message) string {
	id := fmt.Sprintf("%s-%d-%d-%d", hex.EncodeToString(m.Commit[:]), m.Kind, m.EventID, m.Attempt)
	if m.Look > 0 {
		id += fmt.Sprintf("-%x-%d-%x", m.Send, m.Look, m.Copy)
	}
	if m.Result != nil {
		id += fmt.Sprintf("-%d", m.Result.Type()) // of a child there is news twice: that it has started, and how it ended
	}
	return id
}

// encodeMessage returns the body of a message. A large input stays behind.
func encodeMessage(m *engine.Message) ([]byte, error) {
	if m.Activity != nil && len(m.Activity.Input) > inlineInput {
		light := *m
		light.Activity = nil
		m = &light
	}
	return history.EncodeBody(m)
}

// DecodeMessage reads the body of a message.
func DecodeMessage(body []byte) (*engine.Message, error) {
	m := &engine.Message{}
	if err := history.DecodeBody(body, m); err != nil {
		return nil, err
	}
	if m.WorkflowID == "" || m.RunID.Number() == 0 || m.Attempt < 1 || (m.Kind == engine.TakeResult) != resolves(m) {
		return nil, fmt.Errorf("%w: a message that names no run, or lacks what its kind needs", history.ErrCorrupt)
	}
	return m, nil
}

// resolves reports whether a message brings news of what it names.
func resolves(m *engine.Message) bool {
	if m.Result == nil {
		return false
	}
	about := engine.Resolves(*m.Result)
	if started, ok := m.Result.Attributes.(*history.ChildWorkflowExecutionStarted); ok {
		about.Child = started.InitiatedEventID
	}
	return about.Timer == 0 && about.ID() != 0 && about.ID() == m.EventID
}
