package activities

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
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
	// collectRetry is the longest wait before a batch that is due is tried again, after the store
	// has refused it for now.
	collectRetry = 30 * time.Second
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
	// ended is why the execution can publish nothing more; nil if it can. closed says that the code
	// has returned, or was given up.
	ended  error
	closed bool
	// collected are items that wait for their batch, by topic, in the order of their first items.
	collected collections
}

// collections are what is collected of each topic.
type collections []*collected

// collected are items of one topic that wait for their batch.
type collected struct {
	topic string
	items history.Payload // as an event has them
	count int
	due   time.Time // when the timer publishes them
	tries int       // how often the timer has failed to
	timer int       // counts timers: an earlier one does nothing
	stop  func()    // stops the timer
}

// newPublisher returns the publisher of an attempt with this context.
func newPublisher(ctx context.Context, cancel context.CancelCauseFunc, s *session.Process, w *Attempt) *publisher {
	return &publisher{s: s, w: w, ctx: ctx, cancel: cancel}
}

// Publish implements attempt.Publisher. Items of the topic that were collected before are in the
// same batch, or in one of their own before it if both do not fit together.
func (p *publisher) Publish(ctx context.Context, topic string, items [][]byte) error {
	if err := p.checkTopic(topic); err != nil {
		return err
	}
	own := &collected{topic: topic}
	for _, item := range items {
		if err := checkItem(topic, item); err != nil {
			return err
		}
		own.add(item)
	}
	if err := own.check(p.s.Options); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.collected.of(topic)
	switch {
	case c.count == 0 && own.count == 0:
		return p.endedBy(ctx)
	case c.count == 0:
		return p.write(ctx, own)
	case own.count == 0:
		return p.write(ctx, c)
	}
	both := &collected{topic: topic, items: slices.Clone(c.items), count: c.count}
	for _, item := range items {
		both.add(item)
	}
	if err := p.write(ctx, both); !errors.Is(err, failure.ErrTooLarge) {
		if err == nil {
			c.done()
		}
		return err
	}
	if err := p.write(ctx, c); err != nil {
		return err
	}
	return p.write(ctx, own)
}

// endedBy returns why the execution can publish nothing more.
func (p *publisher) endedBy(ctx context.Context) error {
	switch {
	case p.ended != nil:
		return p.ended
	case p.closed:
		return failure.Newf(failure.ErrActivityEnded.Type, "the attempt has ended: publish before the activity's function returns")
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
	c := p.collected.of(topic)
	var err error
	switch full := c.count >= collectItems || c.count > 0 && len(c.items)+len(item) > collectBytes; {
	case full:
		err = p.write(ctx, c)
	case c.count > 0 && !p.s.World.Now().Before(c.due): // the timer is late
		err = p.publishDue(ctx, c)
	}
	if err != nil {
		return err
	}
	if c.add(item); c.count == 1 {
		p.later(c, collectFor)
	}
	return nil
}

// Flush implements attempt.Publisher.
func (p *publisher) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.writeAll(ctx, p.collected.waiting(), p.write); err != nil {
		return err
	}
	return p.endedBy(ctx)
}

// waiting returns what is collected of the topics that have items.
func (all collections) waiting() collections {
	return slices.DeleteFunc(slices.Clone(all), func(c *collected) bool { return c.count == 0 })
}

// of returns what is collected of a topic.
func (all *collections) of(topic string) *collected {
	for _, c := range *all {
		if c.topic == topic {
			return c
		}
	}
	c := &collected{topic: topic}
	*all = append(*all, c)
	return c
}

// add adds an item.
func (c *collected) add(item history.Payload) {
	c.items = history.AppendItem(c.items, item)
	c.count++
}

// done forgets the items, which are in the log.
func (c *collected) done() {
	c.items, c.count, c.tries = nil, 0, 0
	c.halt()
}

// halt stops the timer.
func (c *collected) halt() {
	c.timer++
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
}

// later publishes the items after a while. The caller holds mu.
func (p *publisher) later(c *collected, after time.Duration) {
	c.halt()
	timer := c.timer
	c.due = p.s.World.Now().Add(after)
	period, end := p.s.World.WithTimeout(p.ctx, after)
	stop := context.AfterFunc(period, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ctx.Err() == nil && c.timer == timer {
			_ = p.publishDue(p.ctx, c) // it is for the next call, or for the end of the attempt
		}
	})
	c.stop = func() {
		stop()
		end()
	}
}

// publishDue publishes items whose time has come. If the store refuses that for now, it returns
// nil, and the timer tries again after twice as long, up to collectRetry, until the attempt ends.
// Meanwhile items are collected behind them, up to the size of a batch. The caller holds mu.
func (p *publisher) publishDue(ctx context.Context, c *collected) error {
	err := p.write(ctx, c)
	if errors.Is(err, failure.ErrBusy) {
		c.tries++
		p.later(c, min(collectFor<<min(c.tries, 10), collectRetry))
		return nil
	}
	return err
}

// write commits a batch, for at most the soft limit: also if ctx ends meanwhile. The caller holds
// mu.
func (p *publisher) write(ctx context.Context, c *collected) error {
	if err := p.endedBy(ctx); err != nil {
		return err
	}
	within, cancel := p.s.World.WithTimeout(context.WithoutCancel(ctx), p.s.Options.SoftLimit)
	defer cancel()
	return p.writeWithin(within, c)
}

// writeWithin is write until ctx ends, also after the code has returned.
func (p *publisher) writeWithin(ctx context.Context, c *collected) error {
	if err := c.check(p.s.Options); err != nil {
		return err
	}
	if err := p.put(ctx, p.next(c)); err != nil {
		return err
	}
	c.done()
	return nil
}

// writeAll commits batches. If one is refused for good, it commits those after it, and returns why.
// After any other error it returns at once. The caller holds mu.
func (p *publisher) writeAll(ctx context.Context, all collections, write func(context.Context, *collected) error) (refused error) {
	for _, c := range all {
		err := write(ctx, c)
		if err != nil && !isRefused(err) {
			return err
		}
		if refused == nil {
			refused = err
		}
	}
	return refused
}

// isRefused reports whether a batch is refused for good: the same batch again would be, too.
func isRefused(err error) bool {
	return errors.Is(err, failure.ErrInvalid) || errors.Is(err, failure.ErrTooLarge)
}

// check refuses a batch that is larger than one may be.
func (c *collected) check(options session.Options) error {
	if most := mostBytes(options); len(c.items) > most {
		return failure.Newf(failure.ErrTooLarge.Type, "a batch of %d items of topic %q has %d bytes: the limit is %d; publish fewer at once", c.count, c.topic, len(c.items), most).Final()
	}
	return nil
}

// mostBytes returns the size of the largest batch.
func mostBytes(options session.Options) int {
	if most := options.MaxPayload; most > engine.MaxPayload {
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

// put commits a batch, until ctx ends. If a lost race or a lost answer makes it look again, it
// finds its own batch. After an error that does not say whether the batch is in the log, the
// execution publishes nothing more: its attempt has to fail, and the next one starts over.
func (p *publisher) put(ctx context.Context, batch *history.ActivityItemsPublished) error {
	err := p.s.At(ctx, p.w.Delivery.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, err := p.place(ctx, t, batch)
		if run == nil || err != nil {
			return err
		}
		change := &session.Change{Run: run, Commit: run.Batch(t.Writer(), batch)}
		// A crash before the put leaves nothing. One after it leaves the batch, and the next
		// execution starts over.
		return t.Commit(ctx, []*session.Change{change}, nil)
	})
	switch {
	case err == nil:
		p.batch = batch.Batch
		return nil
	case errors.Is(err, outcome.ErrBusy):
		return failure.Newf(failure.ErrBusy.Type, "the batch was not published: %v", err)
	case errors.Is(err, outcome.ErrTooLarge):
		return failure.Newf(failure.ErrTooLarge.Type, "a batch of topic %q is larger than a commit may be: publish fewer items at once", batch.Topic).Final()
	case isRefused(err):
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
