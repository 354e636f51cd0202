package activities

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// inlineReserve is how much time an invocation must have left, beyond the attempt's own limit, to
// run the next activity inline: enough to abandon the attempt and commit its result.
const inlineReserve = runner.AttemptGrace + 5*time.Second

// continuation is an activity that follows from the result of another. The invocation that
// committed that result runs it, so no message is sent. It has the causation id of the message that
// the invocation handles: after a crash, the redelivered message sends what is still pending
// (inbox.Repair).
type continuation struct {
	s    *session.Process
	of   *Attempt
	next *Attempt
}

// Take takes the activity that a commit schedules if this invocation can run it:
//
//   - The activity's author allows it.
//   - Nothing else follows from the commit.
//   - Enough time is left.
//   - It may be attempted more than once. If this process died, nobody would know that the only
//     attempt had begun.
//   - Activities have no rate. It would need a reservation, and perhaps have to wait for it.
//
// It returns the messages that must still be sent: all of them, or the one that ends the activity
// at its timeout.
func (c *continuation) Take(run *engine.Run, messages []engine.Message) []engine.Message {
	if len(messages) == 0 || len(messages) > 2 || len(messages) == 2 && messages[1].Kind != engine.CloseActivity {
		return messages
	}
	if c.takes(run, messages[0]) {
		return messages[1:]
	}
	return messages
}

func (c *continuation) takes(run *engine.Run, m engine.Message) bool {
	if m.RunID != run.State.RunID {
		return false // it belongs to the next run, which numbers its own events
	}
	s, a := c.s, run.State.Activities[m.EventID]
	if m.Kind != engine.RunActivity || a == nil || !a.Inline || a.Retry.MaximumAttempts == 1 || a.TaskQueue != "" || c.of.Activity.TaskQueue != "" || rateOf(s, "").Limited() || s.Registry.Activity(a.ActivityType) == nil {
		return false
	}
	d := c.of.Delivery
	d.Message, d.Received = &m, 1
	w := NewAttempt(run, d, s.Timestamp())
	if !d.Deadline.IsZero() && d.Deadline.Sub(s.World.Now()) < w.limit+inlineReserve {
		return false
	}
	m.CausationID, m.Seen, m.Sent, m.Send = c.of.Delivery.CausationID, c.of.Delivery.Seen, s.Timestamp(), s.Outbox.NewSendID()
	c.next = w
	return true
}
