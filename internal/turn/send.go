package turn

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// inlineInput is the largest input of an activity that its message carries; a larger one is taken from the log.
const inlineInput = 32 << 10

// send sends messages: those that are due soon to their queue, those that are due later to the store of timers. It
// returns nil only when all of them are on their way.
func (s *Service) send(ctx context.Context, messages []engine.Message) error {
	for i := range messages {
		messages[i].Send = s.sending()
	}
	return s.sendWithin(ctx, messages, s.options.LongTimer)
}

// sendOn sends messages, all of them to their queues, that take the place of such as were sent before: they have been kept in
// the store meanwhile, or are handed back. What was done about those was done about these.
func (s *Service) sendOn(ctx context.Context, messages []engine.Message) error {
	return s.sendWithin(ctx, messages, forever)
}

func (s *Service) sendWithin(ctx context.Context, messages []engine.Message, longest time.Duration) error {
	batches := map[string][]queue.Message{}
	var queues []string
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
		delay := max(m.Due.Sub(now), 0)
		if m.Due == 0 {
			delay = 0
		}
		if delay > longest || nowhere {
			id := timerID(m)
			if longest == forever {
				id = parkedID(m) // as it was before: see Park
			}
			later = append(later, store.Timer{ID: id, Due: m.Due.Time(), Body: body})
			continue
		}
		name, group := route(m)
		if batches[name] == nil {
			queues = append(queues, name)
		}
		batches[name] = append(batches[name], queue.Message{Body: body, Delay: roundUp(delay), Group: group})
	}
	if len(later) > 0 {
		if err := s.Timers.PutTimers(ctx, later); err != nil {
			return fmt.Errorf("%w: keep timers: %w", errBusy, err)
		}
	}
	for _, name := range queues {
		if err := s.sendBatches(ctx, name, batches[name]); err != nil {
			return fmt.Errorf("%w: send to %s: %w", errBusy, name, err)
		}
	}
	return nil
}

// nowhere reports whether a message is for a task queue that the deployment no longer has, and makes it due later: it is kept
// in the store, and looks for its queue again from time to time. Each time has a name of its own among the timers, so that
// what a sweep keeps is not what it deletes.
func (s *Service) nowhere(ctx context.Context, m *engine.Message) bool {
	if m.Kind != engine.RunActivity || s.options.Engine.HasTaskQueue(m.TaskQueue) {
		return false
	}
	m.Due = history.At(max(m.Due, s.now()).Time().Truncate(parkedFor).Add(parkedFor))
	s.options.Logger.ErrorContext(ctx, "an activity waits for a task queue that this deployment does not have: add it again, or reset the run to before it",
		"workflowId", m.WorkflowID, "runId", m.RunID, "eventId", m.EventID, "taskQueue", m.TaskQueue)
	return true
}

// sending makes the id that tells a sending from others of the same message.
func (s *Service) sending() uint64 {
	id := s.world.ID()
	return binary.BigEndian.Uint64(id[:])
}

func (s *Service) sendBatches(ctx context.Context, name string, messages []queue.Message) error {
	for len(messages) > 0 {
		n := min(len(messages), queue.MaxBatch)
		if err := s.Queue.Send(ctx, name, messages[:n]...); err != nil {
			return err
		}
		messages = messages[n:]
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

// timerID names a message among those that are due at the same moment. Sent again, it has the same name.
func timerID(m *engine.Message) string {
	id := fmt.Sprintf("%s-%d-%d-%d", hex.EncodeToString(m.Commit[:]), m.Kind, m.EventID, m.Attempt)
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
