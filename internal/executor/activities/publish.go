package activities

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

const (
	// collectFor is how long an item waits for others of its batch. collectItems and collectBytes
	// are how much a batch collects.
	collectFor   = time.Second
	collectItems = 100
	collectBytes = 64 << 10
	// batchBytes is the largest batch without large payloads.
	batchBytes = 380 << 10
)

// publisher publishes the items of an attempt, in batches. Each batch is a commit without a task.
// Its condition is that no other execution of the activity has taken over.
//
// An execution is one run of the attempt's code. A message that is delivered twice makes two of
// one attempt. The first batch of an execution takes over from the one before, unless that is
// one of a later attempt, whose batches would otherwise interleave with these.
type publisher struct {
	s      *session.Process
	w      *Attempt
	ctx    context.Context // of the attempt
	cancel context.CancelCauseFunc

	mu sync.Mutex
	// execution identifies this execution, and is empty before the first batch. batch is the last
	// batch that is in the log.
	execution string
	batch     int
	// ended is why the execution can publish nothing more; nil if it can.
	ended error
	// collected are items that wait for their batch, by topic, in the order of their first items.
	collected []*collected
}

// collected are items of one topic that wait for their batch.
type collected struct {
	topic string
	items history.Payload // as an event has them
	count int
	since time.Time
	stop  func() // stops the timer that publishes them
}

// newPublisher returns the publisher of an attempt with this context.
func newPublisher(ctx context.Context, cancel context.CancelCauseFunc, s *session.Process, w *Attempt) *publisher {
	return &publisher{s: s, w: w, ctx: ctx, cancel: cancel}
}

// Publish implements attempt.Publisher. Items of the topic that were collected before are in the
// same batch.
func (p *publisher) Publish(ctx context.Context, topic string, items [][]byte) error {
	if err := p.checkTopic(topic); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.of(topic)
	if len(items) == 0 && c.count == 0 {
		return p.endedBy(ctx)
	}
	before, count := slices.Clone(c.items), c.count
	for _, item := range items {
		if err := checkItem(topic, item); err != nil {
			c.items, c.count = before, count
			return err
		}
		c.add(item)
	}
	if err := p.write(ctx, c); err != nil {
		c.items, c.count = before, count // the caller knows that its items are not there
		return err
	}
	return nil
}

// endedBy returns why the execution can publish nothing more.
func (p *publisher) endedBy(ctx context.Context) error {
	if p.ended != nil {
		return p.ended
	}
	return context.Cause(ctx)
}

// Collect implements attempt.Publisher.
func (p *publisher) Collect(ctx context.Context, topic string, item []byte) error {
	if err := cmp.Or(p.checkTopic(topic), checkItem(topic, item)); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.endedBy(ctx); err != nil {
		return err
	}
	c, now := p.of(topic), p.s.World.Now()
	full := c.count >= collectItems || c.count > 0 && len(c.items)+len(item) > collectBytes
	if full || c.count > 0 && now.Sub(c.since) >= collectFor {
		if err := p.write(ctx, c); err != nil {
			return err
		}
	}
	if c.add(item); c.count == 1 {
		c.since = now
		p.later(c)
	}
	return nil
}

// Flush implements attempt.Publisher.
func (p *publisher) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.collected {
		if c.count > 0 {
			if err := p.write(ctx, c); err != nil {
				return err
			}
		}
	}
	return p.endedBy(ctx)
}

// of returns what is collected of a topic. The caller holds mu.
func (p *publisher) of(topic string) *collected {
	for _, c := range p.collected {
		if c.topic == topic {
			return c
		}
	}
	c := &collected{topic: topic}
	p.collected = append(p.collected, c)
	return c
}

// add adds an item.
func (c *collected) add(item history.Payload) {
	c.items = history.AppendItem(c.items, item)
	c.count++
}

// done forgets the items, which are in the log.
func (c *collected) done() {
	c.items, c.count = nil, 0
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
}

// later publishes the items when the oldest has waited for long enough. If that fails, they wait
// for the next call, or for the end of the attempt. The caller holds mu.
func (p *publisher) later(c *collected) {
	period, end := p.s.World.WithTimeout(p.ctx, collectFor)
	stop := context.AfterFunc(period, func() {
		if p.ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if c.count > 0 && p.s.World.Now().Sub(c.since) >= collectFor {
			_ = p.write(p.ctx, c) // a refusal ends the context of the attempt; anything else is tried again
		}
	})
	c.stop = func() {
		stop()
		end()
	}
}

// write commits a batch. The caller holds mu.
func (p *publisher) write(ctx context.Context, c *collected) error {
	if err := p.endedBy(ctx); err != nil {
		return err
	}
	if most := p.mostBytes(); len(c.items) > most {
		return failure.Newf(failure.ErrTooLarge.Type, "a batch of %d items of topic %q has %d bytes: the limit is %d; publish fewer at once", c.count, c.topic, len(c.items), most).Final()
	}
	if err := p.put(ctx, p.next(c)); err != nil {
		return err
	}
	c.done()
	return nil
}

// mostBytes returns the size of the largest batch.
func (p *publisher) mostBytes() int {
	if most := p.s.Options.MaxPayload; most > engine.MaxPayload {
		return most
	}
	return batchBytes
}

// checkItem refuses an item that is larger than a topic may have.
func checkItem(topic string, item []byte) error {
	if err := engine.CheckTopicItem(topic, item); err != nil {
		return failure.Newf(failure.ErrTooLarge.Type, "%v", err).Final()
	}
	return nil
}

// next returns the event of the next batch.
func (p *publisher) next(c *collected) *history.ActivityItemsPublished {
	if p.execution == "" {
		id := p.s.World.ID()
		p.execution = hex.EncodeToString(id[:8])
	}
	return &history.ActivityItemsPublished{
		Topic: c.topic, Count: c.count, Items: c.items,
		ScheduledEventID: p.w.Activity.EventID, Attempt: p.w.Number, Execution: p.execution, Batch: p.batch + 1,
	}
}

// put commits a batch. If a lost race or a lost answer makes it look again, it finds its own
// batch. After an error that does not say whether the batch is in the log, the execution
// publishes nothing more: its attempt has to fail, and the next one starts over.
func (p *publisher) put(ctx context.Context, batch *history.ActivityItemsPublished) error {
	err := p.s.At(context.WithoutCancel(ctx), p.w.Delivery.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, err := p.place(ctx, t, batch)
		if run == nil || err != nil {
			return err
		}
		change := &session.Change{Run: run, Commit: run.Batch(t.Writer(), batch)}
		// A crash before the put leaves nothing. One after it leaves the batch, and the next
		// execution starts over.
		return t.Commit(ctx, []*session.Change{change}, nil)
	})
	var application *failure.Error
	switch {
	case err == nil:
		p.batch = batch.Batch
		return nil
	case errors.Is(err, outcome.ErrBusy):
		return failure.Newf(failure.ErrBusy.Type, "the batch was not published: %v", err)
	case errors.Is(err, outcome.ErrTooLarge):
		return failure.Newf(failure.ErrTooLarge.Type, "a batch of topic %q is larger than a commit may be: publish fewer items at once", batch.Topic).Final()
	case errors.As(err, &application) && (errors.Is(err, failure.ErrInvalid) || errors.Is(err, failure.ErrTooLarge)):
		return err
	}
	p.ended = err
	if errors.Is(err, failure.ErrCanceled) || errors.Is(err, failure.ErrActivityEnded) {
		p.cancel(err)
	}
	return err
}

// place returns the run to which a batch is added, or nil if the batch is there already. It
// returns ErrActivityEnded if the activity is no longer pending, and ErrCanceled if another
// execution has taken over.
func (p *publisher) place(ctx context.Context, t *session.Session, batch *history.ActivityItemsPublished) (*engine.Run, error) {
	run, place, err := inbox.Locate(ctx, t, p.w.Delivery.Message)
	switch {
	case err != nil:
		return nil, err
	case place != inbox.InLog || run.State.Status.Closed() || run.State.Activities[batch.ScheduledEventID] == nil:
		return nil, t.RequireFresh(ctx, failure.ErrActivityEnded)
	}
	last := run.State.Activities[batch.ScheduledEventID].Publishing
	if last != nil && last.ID == batch.Execution && last.Batch >= batch.Batch {
		return nil, nil
	}
	if !last.Follows(batch.Execution, batch.Attempt, batch.Batch) {
		return nil, t.RequireFresh(ctx, failure.ErrCanceled)
	}
	return run, checkTopics(run, batch.Topic)
}

// checkTopics refuses a topic too many.
func checkTopics(run *engine.Run, topic string) error {
	if run.State.Topics[topic] == nil && len(run.State.Topics) >= engine.MaxTopics {
		return failure.Newf(failure.ErrInvalid.Type, "topic %q is one too many: a run has at most %d", topic, engine.MaxTopics).Final()
	}
	return nil
}

// checkTopic refuses a topic that the binding of the workflow type omits. A process that does not
// have the type accepts any topic.
func (p *publisher) checkTopic(topic string) error {
	if err := engine.CheckName("name of a topic", topic); err != nil {
		return failure.Newf(failure.ErrInvalid.Type, "%v", err).Final()
	}
	w := p.s.Registry.Workflow(p.w.run.Type)
	if w == nil || w.Names.Allows(engine.TopicName, topic) {
		return nil
	}
	known := "it names none"
	if all := w.Names.Of(engine.TopicName); len(all) > 0 {
		known = "it names " + strings.Join(all, ", ")
	}
	return failure.Newf(failure.ErrInvalid.Type, "workflow type %q does not name topic %q, %s: add its declaration to workflow.Names of the Bind at %s", w.Name, topic, known, w.Names.Where).Final()
}

// fenced reports whether another execution has taken over, or the activity has ended: nothing
// follows from this one.
func (p *publisher) fenced() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Is(p.ended, failure.ErrCanceled) || errors.Is(p.ended, failure.ErrActivityEnded)
}

// last returns the event of the last batch of an attempt that has succeeded, which is written
// with its result; nil if nothing waits. If several topics have items, it writes the others.
func (p *publisher) last(ctx context.Context) (*history.ActivityItemsPublished, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		return nil, p.ended
	}
	waiting := slices.DeleteFunc(slices.Clone(p.collected), func(c *collected) bool { return c.count == 0 })
	for i, c := range waiting {
		if i == len(waiting)-1 {
			return p.next(c), nil
		}
		if err := p.write(ctx, c); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// close stops the timers of an attempt that has ended, and waits for a batch that is being
// written.
func (p *publisher) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.collected {
		if c.stop != nil {
			c.stop()
			c.stop = nil
		}
	}
}

// withLast returns the events of a result: its last batch, if the attempt has one that is not in
// the log yet, and the result. It returns outcome.ErrDropped if another execution has taken
// over.
func withLast(ctx context.Context, t *session.Session, run *engine.Run, last *history.ActivityItemsPublished, e history.Event) ([]history.Event, error) {
	if last == nil {
		return []history.Event{e}, nil
	}
	published := run.State.Activities[last.ScheduledEventID].Publishing
	switch {
	case published != nil && published.ID == last.Execution && published.Batch >= last.Batch:
		return []history.Event{e}, nil
	case !published.Follows(last.Execution, last.Attempt, last.Batch):
		return nil, t.RequireFresh(ctx, fmt.Errorf("another execution has published items: %w", outcome.ErrDropped))
	}
	return []history.Event{history.Of(last), e}, checkTopics(run, last.Topic)
}

// refused returns outcome.ErrDropped if an error says that nothing follows from this execution,
// and otherwise the error.
func (p *publisher) refused(err error) error {
	if errors.Is(err, failure.ErrCanceled) || errors.Is(err, failure.ErrActivityEnded) {
		return outcome.ErrDropped
	}
	return err
}
