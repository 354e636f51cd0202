package outbox

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// inlineInput is the largest input of an activity that its message carries. The receiver reads a
// larger one from the log.
const inlineInput = 32 << 10

// timer returns a message as the store of timers keeps it. kept says that it has been kept before:
// see Park.
func timer(m *engine.Message, body []byte, kept bool) store.Timer {
	id := timerID(m)
	if kept {
		id = parkedID(m)
	}
	return store.Timer{ID: id, Due: m.Due.Time(), Body: body}
}

// timerID names a message among those that are due at the same moment. A message that is sent again
// has the same name. Copies of one message have different names: only the copy that has claimed the
// attempt goes on with it.
func timerID(m *engine.Message) string {
	id := fmt.Sprintf("%s-%d-%d-%d", hex.EncodeToString(m.Commit[:]), m.Kind, m.EventID, m.Attempt)
	if m.Look > 0 {
		id += fmt.Sprintf("-%x-%d-%x", m.Send, m.Look, m.Copy)
	}
	if m.Result != nil {
		id += fmt.Sprintf("-%d", m.Result.Type()) // two events come of a child: that it has started, and how it ended
	}
	return id
}

// parkedID names a parked message. Messages of one causation id share a name, because each
// causation id answers for what it has started. Messages that begin or end an attempt share a name
// only if they are copies of one sending, because one of them may be the only one that sends the
// next attempt.
func parkedID(m *engine.Message) string {
	switch m.Kind {
	case engine.RunActivity, engine.RetryTask, engine.CloseAttempt:
		return fmt.Sprintf("%s-%x", timerID(m), m.Send)
	case engine.FireTimer, engine.EndRun, engine.TakeResult, engine.StartTask, engine.CloseActivity, engine.StartOrCloseChild, engine.NotifyParent, engine.DeliverExternal, engine.NotifyCaller:
	}
	return fmt.Sprintf("%s-%x", timerID(m), m.CausationID)
}

// route returns the queue of a message, and its group there. A result that comes from the dead
// letters waits on the timer queue, since a FIFO queue delays nothing. It goes there also when its
// wait is over: the rights of a function name the queues that it sends to, so they must not depend
// on the clock.
func route(m *engine.Message) (name, group string) {
	switch {
	case m.Kind == engine.RunActivity, m.Kind == engine.NotifyCaller:
		return queue.ForTasks(m.TaskQueue), ""
	case m.Kind == engine.TakeResult && m.Due == 0:
		return queue.Workflow, m.WorkflowID
	}
	return queue.Timers, ""
}

// roundUp rounds a delay up to milliseconds, so that a timer's message does not arrive before its
// moment. SQS delays by whole seconds; its adapter rounds up again.
func roundUp(d time.Duration) time.Duration {
	return min((d + time.Millisecond - 1).Truncate(time.Millisecond), queue.MaxDelay)
}

// encode returns the body of a message, without a large input.
func encode(m *engine.Message) ([]byte, error) {
	if m.Activity != nil && len(m.Activity.Input) > inlineInput {
		light := *m
		light.Activity = nil
		m = &light
	}
	return history.EncodeBody(m)
}

// Decode reads the body of a message. An error wraps history.ErrCorrupt, or says that a newer
// version wrote it.
func Decode(body []byte) (*engine.Message, error) {
	m := &engine.Message{}
	if err := history.DecodeBody(body, m); err != nil {
		return nil, err
	}
	if m.WorkflowID == "" || m.RunID.Number() == 0 || m.Attempt < 1 || (m.Kind == engine.TakeResult) != resolves(m) {
		return nil, fmt.Errorf("%w: a message that names no run, or lacks what its kind needs", history.ErrCorrupt)
	}
	return m, nil
}

// resolves reports whether a message has the result of the event that it names.
func resolves(m *engine.Message) bool {
	if m.Result == nil {
		return false
	}
	about := history.ResolutionOf(m.Result.Attributes)
	if started, ok := m.Result.Attributes.(*history.ChildWorkflowExecutionStarted); ok {
		about.Child = started.InitiatedEventID
	}
	return about.Timer == 0 && about.ID() != 0 && about.ID() == m.EventID
}
