package requests

import (
	"cmp"
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// topicPage is an answer to a reader of a topic in progress.
type topicPage struct {
	of      command.Topic
	session *session.Session
	latest  *engine.Run // of the workflow
	others  *otherRuns
	ctx     context.Context // of reads; nil in an answer that must not read

	answer *schema.TopicResponse
	size   int
	full   bool
	// fetched are commits that memory lacked, of the run fetchedOf.
	fetched   map[uint32]*history.Commit
	fetchedOf history.RunID
}

// read returns the answer of a run. If the items are those of a run before it, that is the run of
// the answer, and its reader follows from there.
func (p *topicPage) read(run *engine.Run) (*schema.TopicResponse, error) {
	name := p.of.Name()
	if run.State.Topics[name] == nil {
		if err := p.hasTopic(run); err != nil {
			return nil, err
		}
	}
	topic := topicOf(run, name)
	from, given := p.of.From()
	if from > topic.Next {
		return nil, refusal.Invalid.New("topic %q goes up to offset %d: give %d or less as from", name, topic.Next, topic.Next)
	}
	p.answer = &schema.TopicResponse{WorkflowID: p.of.Workflow(), Topic: name, Items: []schema.TopicItem{}}
	p.others.begin(run)
	var err error
	if p.answer.First, err = p.first(run); err != nil {
		return nil, err
	}
	from = min(max(from, p.answer.First), topic.Next)
	holder, anchor, err := p.holder(run, &from)
	if err != nil && !errors.Is(err, errTooFar) {
		return nil, err
	}
	p.answer.RunID, p.answer.Next = anchor.State.RunID, from
	if err != nil {
		p.answer.More = true
		return p.answer, nil
	}
	topic = topicOf(holder, name)
	from = p.skip(topic, from, given)
	p.answer.Next = from
	if err := p.take(holder, from, topic.Next); err != nil {
		return nil, err
	}
	if p.full {
		p.answer.More = true
		return p.answer, nil
	}
	p.answer.Next = topic.Next
	if holder != anchor {
		p.answer.More = true
		return p.answer, nil
	}
	return p.answer, p.end(holder)
}

// topicOf returns a topic of a run. It is empty if the run has published nothing on it.
func topicOf(run *engine.Run, name string) *engine.Topic {
	if t := run.State.Topics[name]; t != nil {
		return t
	}
	return &engine.Topic{Name: name}
}

// hasTopic refuses a topic that neither the log nor the contract has. A reader that has followed a
// run with the topic to one of another type waits there, because its chain may come back to it.
func (p *topicPage) hasTopic(run *engine.Run) error {
	_, given := p.of.From()
	follows := given && p.of.Run() != "" && run.State.Started.ContinuedFrom != ""
	s := p.session.Process
	if follows || namesOfRun(s, run).Allows(engine.TopicName, p.of.Name()) {
		return nil
	}
	all := topicNames(s, run)
	if len(all) == 0 {
		return refusal.NotFound.New("workflow %q has no topic %q: it has none", p.of.Workflow(), p.of.Name())
	}
	return refusal.NotFound.New("workflow %q has no topic %q: give one of %q", p.of.Workflow(), p.of.Name(), all).Knowing(all)
}

// skip returns the first offset from one on that a reset has not withdrawn. The answer says what
// was withdrawn if the reader may have read it.
func (p *topicPage) skip(topic *engine.Topic, from int64, given bool) int64 {
	for _, w := range topic.Withdrawn {
		if from < w.From || from > w.Before {
			continue
		}
		began := p.of.Run() == "" && given
		if w.From < from && (from < w.Before || began) {
			p.answer.Withdrawn = &schema.WithdrawnItems{From: w.From, Before: w.Before}
		}
		from = w.Before
	}
	return from
}

// take adds the items of a run from an offset on, before another one, as many as the answer holds.
// Items of which a reset has copied the events are in the log of the run that was reset.
func (p *topicPage) take(run *engine.Run, from, before int64) error {
	for _, b := range topicOf(run, p.of.Name()).From(from) {
		if b.Offset >= before || p.full {
			return nil
		}
		if b.Copied {
			if err := p.takeCopied(run, max(from, b.Offset), min(before, b.Offset+int64(b.Count))); err != nil {
				return err
			}
			continue
		}
		c, err := p.commit(run, b.Slot)
		if err != nil {
			return err
		}
		if err := p.takeBatch(run, c, b, max(from, b.Offset), before); err != nil {
			return err
		}
	}
	return nil
}

// takeCopied adds items of the run that was reset. If that is gone, so are they, and the answer
// begins behind them. If that is too far, the answer ends before them: the next one begins there,
// or in the run that this one has reached.
func (p *topicPage) takeCopied(run *engine.Run, from, before int64) error {
	reset, err := p.run(run.State.Reset.BaseRunID)
	switch {
	case errors.Is(err, errTooFar):
		if p.full = true; len(p.answer.Items) == 0 {
			p.answer.RunID, p.answer.Next = run.State.RunID, from
		}
		return nil
	case err != nil:
		return err
	case reset == nil:
		if len(p.answer.Items) == 0 {
			p.answer.First = max(p.answer.First, before)
		}
		return nil
	}
	return p.take(reset, from, before)
}

// takeBatch adds items of a commit of a run.
func (p *topicPage) takeBatch(run *engine.Run, c *history.Commit, b engine.TopicBatch, from, before int64) error {
	at, published, by := itemsAt(c, p.of.Name(), b.Offset)
	if published == nil {
		return outcome.ErrStale
	}
	if by != nil {
		by.RunID = cmp.Or(run.State.Started.OriginalRunID, run.State.RunID) // a reset copies the ids of activities
	}
	items, err := history.SplitItems(published, b.Count)
	if err != nil {
		return err
	}
	for i, item := range items {
		offset := b.Offset + int64(i)
		if offset < from || offset >= before {
			continue
		}
		if n := len(p.answer.Items); n == p.of.Limit() || n > 0 && p.size+len(item) > topicBytes {
			p.full = true
			return nil
		}
		p.size += len(item)
		p.answer.Items = append(p.answer.Items, schema.TopicItem{Offset: offset, At: at.Time(), Value: item, Activity: by})
		p.answer.Next = offset + 1
	}
	return nil
}

// itemsAt returns the items that a commit has published on a topic from an offset on, when, and the
// attempt that has published them, or nil.
func itemsAt(c *history.Commit, topic string, offset int64) (history.Timestamp, history.Payload, *schema.TopicActivity) {
	for part := range c.Parts() {
		for _, e := range part.InputEvents {
			if a, ok := e.Attributes.(*history.ActivityItemsPublished); ok && a.Topic == topic && a.Offset == offset {
				return part.Time, a.Items, &schema.TopicActivity{ScheduledEventID: a.ScheduledEventID, Attempt: a.Attempt, Execution: a.Execution}
			}
		}
		for _, e := range part.Commands {
			if a, ok := e.Attributes.(*history.TopicItemsPublished); ok && a.Topic == topic && a.Offset == offset {
				return part.Time, a.Items, nil
			}
		}
	}
	return 0, nil, nil
}

// commit returns a commit of a run. If memory lacks it, it reads that and those after it, about as
// many as an answer has items of.
func (p *topicPage) commit(run *engine.Run, slot uint32) (*history.Commit, error) {
	if c := run.Log[slot]; c != nil {
		return c, nil
	}
	if c := p.fetched[slot]; c != nil && p.fetchedOf == run.State.RunID {
		return c, nil
	}
	if p.ctx == nil {
		return nil, errReads
	}
	end := slot
	for size := int64(0); end < run.State.NextSlot && run.Log[end] == nil && size <= topicBytes; end++ {
		size += run.SizeOf(end)
	}
	p.fetched, p.fetchedOf = map[uint32]*history.Commit{}, run.State.RunID
	for c, err := range p.session.View.Between(p.ctx, run, slot, end) {
		if err != nil {
			return nil, err
		}
		p.fetched[c.Slot] = c
	}
	if c := p.fetched[slot]; c != nil {
		return c, nil
	}
	return nil, outcome.ErrStale
}

// end says in the answer that a run has closed, and which run goes on with the topic. An answer
// that says what a reset has withdrawn has no items.
func (p *topicPage) end(run *engine.Run) error {
	stale := p.ctx == nil && run.State.Next() == "" // another process may have reset the run
	if !run.State.Status.Closed() || stale {
		return nil
	}
	next, reset, err := p.follower(run)
	if errors.Is(err, errTooFar) {
		p.answer.More = true
		return nil
	}
	if err != nil {
		return err
	}
	if reset != nil {
		withdrawn := withdrawnBy(reset, p.of.Name(), p.answer.Next)
		if withdrawn != nil && len(p.answer.Items) > 0 {
			p.answer.More = true
			return nil
		}
		p.answer.Withdrawn = cmp.Or(p.answer.Withdrawn, withdrawn)
	}
	p.answer.Closed, p.answer.NewRunID = true, next
	return nil
}

// withdrawnBy returns what a reset has withdrawn of a topic that went up to an offset; nil is
// nothing. What was withdrawn in a run before does not count.
func withdrawnBy(reset *engine.Run, name string, before int64) *schema.WithdrawnItems {
	if before <= reset.State.TopicStart(name) {
		return nil
	}
	for _, w := range topicOf(reset, name).Withdrawn {
		if w.Before == before {
			return &schema.WithdrawnItems{From: w.From, Before: w.Before}
		}
	}
	return nil
}
