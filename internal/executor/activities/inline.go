package activities

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// inlineReserve is how much time an invocation has to have left, besides the attempt's own, for an activity to be run in
// it that follows: for the attempt to be given up, and its result to be committed.
const inlineReserve = runner.AttemptGrace + 5*time.Second

// continuation is an activity that follows from the result of another, and that the invocation which committed that
// result goes on with: no message is sent. It takes the place of that message: it has the causation id of the message that the
// invocation handles, so that this message, delivered again after a crash, sends what is still pending (session.repair).
type continuation struct {
	s    *session.Process
	of   *Attempt
	next *Attempt
}

// Take takes what a commit schedules, if that is an activity to go on with. It is, if its author has said so, if nothing
// else follows from the commit, and if there is time. An activity that may be tried only once is not: were this process
// to die, nobody would know that it had been begun. Nor is one where activities have a rate: it needs a slot, for which it may have to wait.
//
// It returns the messages that are to be sent all the same: all, or the one that ends the activity when its time is over.
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
		return false // it is of the run that follows, which has numbers of its own
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
