package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// An execution of an attempt that has been overtaken ends nothing: another execution has published
// items since it began, or since its own last batch. Otherwise a reader, who drops the items of
// earlier executions, would have half a stream, and the run the end of another execution.
//
//	the end                              it is refused by
//	a result, or a final failure         the condition of its commit
//	the same, in the workflow's queue    the condition of that commit: Message.Since
//	a failure before another attempt     a read, if the attempt has published
//	that the attempt goes on outside     a read, if the attempt has published
//
// Another process may publish after such a read. Then the next attempt takes over from that one.
// The holder of a token ends the attempt, whatever its executions have published.

// fenced reports whether another execution has taken over, or the activity has ended: nothing
// follows from this one.
func (p *publisher) fenced() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Is(p.ended, failure.ErrCanceled) || errors.Is(p.ended, failure.ErrActivityEnded)
}

// since returns what the execution knows of the batches of its activity: see
// engine.Execution.LetsEnd. published is the execution that has published the last batch, as far as
// is known. It may be this one, with a batch whose put was not answered.
func (p *publisher) since(published *engine.Execution) engine.Execution {
	p.mu.Lock()
	defer p.mu.Unlock()
	if published != nil && published.ID == p.execution {
		p.batch = max(p.batch, published.Batch)
	}
	if p.batch > 0 {
		return engine.Execution{ID: p.execution, Attempt: p.w.Number}
	}
	return p.w.since
}

// knows returns what an execution knows of the batches of its activity: see publisher.since.
func (w *Attempt) knows(published *engine.Execution) engine.Execution {
	if w.publisher == nil {
		return w.since
	}
	return w.publisher.since(published)
}

// last returns the event of the last batch of an attempt that has succeeded, which is written
// with its result; nil if nothing waits. If several topics have items, it writes the others. If a
// batch is refused for good, it writes all others, and returns why.
func (p *publisher) last(ctx context.Context) (*history.ActivityItemsPublished, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		return nil, p.ended
	}
	waiting := p.collected.waiting()
	if len(waiting) == 0 {
		return nil, nil
	}
	n := len(waiting) - 1
	err := p.writeAll(ctx, waiting[:n], p.writeWithin)
	if err == nil {
		return p.next(waiting[n]), nil
	}
	if isRefused(err) {
		if other := p.writeWithin(ctx, waiting[n]); other != nil && !isRefused(other) {
			return nil, other
		}
	}
	return nil, err
}

// publishRest publishes what is still collected in an attempt that goes on outside. It does so also
// if the attempt's time is over or it was asked to end: the token was handed out.
func publishRest(ctx context.Context, p *publisher) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		return p.ended
	}
	within, cancel := p.s.World.WithTimeout(context.WithoutCancel(ctx), p.s.Options.SoftLimit)
	defer cancel()
	return p.writeAll(within, p.collected.waiting(), p.writeWithin)
}

// commit commits the event of a last batch on its own. It returns outcome.ErrDropped if nothing
// follows from this execution.
func (p *publisher) commit(ctx context.Context, last *history.ActivityItemsPublished) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return dropped(p.put(ctx, last))
}

// dropped returns outcome.ErrDropped if an error says that nothing follows from an execution, and
// otherwise the error.
func dropped(err error) error {
	if errors.Is(err, failure.ErrCanceled) || errors.Is(err, failure.ErrActivityEnded) {
		return outcome.ErrDropped
	}
	return err
}

// close ends publishing, after the code has returned or was given up. It stops the timers, and
// waits for a batch that is being written.
func (p *publisher) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.collected {
		c.halt()
	}
}

// errOvertaken refuses the end of an execution from which another one has taken over.
var errOvertaken = fmt.Errorf("another execution of the attempt has published items: %w", outcome.ErrDropped)

// withLast returns the events of the end of an execution: its last batch, if it has one that is not
// in the log yet, and the end. It returns errOvertaken if another execution has taken over.
func withLast(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt, last *history.ActivityItemsPublished, e history.Event) ([]history.Event, error) {
	if last == nil && unanswered(w.publisher) {
		if err := t.RequireFresh(ctx, nil); err != nil {
			return nil, err
		}
	}
	published := run.State.Activities[w.Delivery.EventID].Publishing
	switch {
	case last == nil && !published.LetsEnd(w.Number, w.knows(published)):
		return nil, t.RequireFresh(ctx, errOvertaken)
	case last == nil, published != nil && published.ID == last.Execution && published.Batch >= last.Batch:
		return []history.Event{e}, nil
	case !published.Follows(last.Execution, last.Attempt, last.Batch):
		return nil, t.RequireFresh(ctx, errOvertaken)
	}
	return []history.Event{history.Of(last), e}, checkTopics(run, last.Topic)
}

// unanswered reports whether a batch of an execution may be in the log although its put was not
// answered. Only a read says whether it is. Without one, the end of the execution would be refused
// in the workflow's queue because of its own batch.
func unanswered(p *publisher) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended != nil
}

// checkOvertaken returns errOvertaken if another execution has taken over from one that ends with
// no commit. It costs a read if the execution has published, and nothing if the activity is not
// known to publish.
func checkOvertaken(ctx context.Context, s *session.Process, w *Attempt) error {
	published := w.publisher != nil && w.publisher.hasPublished()
	if !published && w.since.ID == "" {
		return nil
	}
	return s.At(ctx, w.Delivery.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, w.Delivery.Message)
		if err != nil || place != inbox.InLog || !run.Needed(w.Delivery.Message) {
			return err
		}
		if published {
			if err := t.RequireFresh(ctx, nil); err != nil {
				return err
			}
		}
		if by := run.State.Activities[w.Delivery.EventID].Publishing; !by.LetsEnd(w.Number, w.knows(by)) {
			return t.RequireFresh(ctx, errOvertaken)
		}
		return nil
	})
}

// hasPublished reports whether the execution has put a batch, whose put may not have been answered.
func (p *publisher) hasPublished() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.execution != ""
}

// learn ends an execution of whose activity a read shows that another execution published the last
// batch. It returns false if none has. before is what the execution knew before the read: if it has
// published its first batch since, the read says nothing.
func (p *publisher) learn(before engine.Execution, published *engine.Execution) bool {
	if published == nil || published.Attempt < p.w.Number || published.ID == before.ID || p.since(published) != before {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = failure.ErrCanceled
	}
	return true
}

// dropOvertaken sends a copy of the message of an execution that was overtaken, if Dropped sends
// none. The other execution may be one of the same message, which is deleted, and may die. A crash
// before the send leaves the message.
func dropOvertaken(ctx context.Context, s *session.Process, w *Attempt) error {
	m := w.Delivery.Message
	if m.Look == 0 {
		return nil
	}
	again, after := w.again()
	return s.Outbox.SendLater(ctx, &again, after)
}

// again returns the message that makes the attempt again after an execution of it was overtaken,
// and after how long.
//
// A first copy comes when no put of a dead writer can land any more. A copy of a copy comes when
// the other execution must have ended, and each further one after twice as long. Otherwise the
// copies of a long attempt would take over from each other for ever.
func (w *Attempt) again() (engine.Message, time.Duration) {
	m := *w.Delivery.Message
	after := landsWithin
	if m.Duplicate {
		after = max(landsWithin<<min(m.Yields, mostYields), min(w.lease(), landsWithin<<mostYields))
		m.Yields++
	}
	m.Duplicate = true
	return m, after
}

// mostYields is how often the time doubles after which an attempt is made again: up to ten days.
const mostYields = 10

// Again is the message of an attempt that is to be made again, and when.
type Again struct {
	message engine.Message
	after   time.Duration
}

// AttemptAgain returns the message of an attempt whose result was overtaken, to be sent in place of
// the result. The attempt's message was deleted when the result was sent. If it was delivered
// twice, the other execution has no message any more that would be redelivered if it died. The copy
// finds that the activity has ended, sends the next attempt if that execution has failed, or makes
// the attempt.
//
// It costs a read if the session has made none, because an older state lacks the batches of the
// execution itself.
func AttemptAgain(ctx context.Context, t *session.Session, run *engine.Run, m *engine.Message) (*Again, error) {
	if err := t.RequireFresh(ctx, nil); err != nil {
		return nil, err
	}
	of := *m
	of.Kind, of.Result, of.Since, of.Send, of.By = engine.RunActivity, nil, nil, m.By, 0
	a := &Again{}
	a.message, a.after = NewAttempt(run, inbox.Delivery{Message: &of}, t.Process.Timestamp()).again()
	return a, nil
}

// Send sends the message. A crash before it leaves the result.
func (a *Again) Send(ctx context.Context, s *session.Process) error {
	return s.Outbox.SendLater(ctx, &a.message, a.after)
}
