package requests

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

const (
	// topicPause is the shortest interval between two reads for one listener.
	topicPause = time.Second
	// topicBytes limits the bytes of the items of an answer. An answer has at least one item.
	topicBytes = 1 << 20
)

// Topics returns the topics of a run: those that have had items, and those that the binding names.
func (s *Reports) Topics(ctx context.Context, of command.Target) (*schema.TopicsResponse, error) {
	answer := &schema.TopicsResponse{WorkflowID: of.Workflow()}
	err := lookIn(ctx, s.Process, besideAfter, s.Process.World.Now().Add(s.Process.Options.SoftLimit), of.Workflow(), of.Run(), func(_ *session.Session, run *engine.Run) error {
		answer.RunID, answer.Topics = run.State.RunID, []schema.TopicSummary{}
		for _, name := range topicNames(s.Process, run) {
			row := schema.TopicSummary{Name: name}
			if t := run.State.Topics[name]; t != nil {
				row.First, row.Next, row.Items, row.Bytes = t.First, t.Next, t.Items, t.Bytes
			}
			answer.Topics = append(answer.Topics, row)
		}
		return nil
	})
	return answer, err
}

// topicNames returns the names of the topics of a run, sorted.
func topicNames(s *session.Process, run *engine.Run) []string {
	names := namesOfRun(s, run).Of(engine.TopicName)
	for name := range run.State.Topics {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// namesOfRun returns what the binding of a run's workflow type names here; nil if that is not
// known, or not the binding that the run has.
func namesOfRun(s *session.Process, run *engine.Run) *engine.Names {
	pinned := run.State.Pinned
	if w := s.Registry.Workflow(run.State.Started.WorkflowType); w != nil && (pinned == "" || pinned == s.Options.Build) {
		return w.Names
	}
	return nil
}

// Topic returns items of a topic, from an offset on, in order. If the command waits and there are
// none, it waits until there is one, or until the run has closed, but no longer than the soft
// limit.
//
//   - The first look of a reader reads at once. Between two reads is a second at least, also if
//     they are those of two requests: one that names the run goes on, and its reader has just read.
//   - A commit of this process wakes the reader at once, without a read.
//   - A read is one of what is new in the log. Items of the runs before cost a read for each run
//     back to theirs.
func (s *Requests) Topic(ctx context.Context, of command.Topic) (*schema.TopicResponse, error) {
	r := &topicReader{process: s.Process, of: of, runID: of.Run()}
	return r.await(ctx)
}

// topicReader is a reader of a topic.
type topicReader struct {
	process *session.Process
	of      command.Topic
	runID   history.RunID         // empty until it has looked, unless the reader names the run
	end     time.Time             // of the wait
	page    *schema.TopicResponse // what it has seen
}

// await looks until there is something to answer with.
func (r *topicReader) await(ctx context.Context) (*schema.TopicResponse, error) {
	world := r.process.World
	now := world.Now()
	r.end = now.Add(min(r.of.Wait(), r.process.Options.SoftLimit))
	due := now // the next read
	if r.of.Run() != "" {
		due = earliest(now.Add(topicPause), r.end)
	}
	for {
		watched := r.process.Watchers.Watch(r.of.Workflow())
		err := r.next(ctx, &due)
		now := world.Now()
		over := !now.Before(r.end)
		if errors.Is(err, refusal.Busy) && r.page != nil && over {
			err = nil // what it has seen before stands
		}
		if err != nil || r.page != nil && (over || r.found()) {
			watched.Stop()
			return r.page, err
		}
		until := due
		if r.page != nil {
			until = earliest(due, r.end)
		}
		err = world.Wait(ctx, until.Sub(now), watched.Changed)
		watched.Stop()
		switch left := err != nil; {
		case left && r.page == nil: // the caller left, or the server stops, before the first look
			return nil, r.process.Problem(outcome.ErrBusy)
		case left, r.page != nil && !world.Now().Before(r.end):
			return r.page, nil
		}
	}
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// found reports whether there is something to answer with.
func (r *topicReader) found() bool {
	return len(r.page.Items) > 0 || r.page.Closed || r.page.More || r.page.Withdrawn != nil
}

// next looks at what this process knows, or reads if that is due.
func (r *topicReader) next(ctx context.Context, due *time.Time) error {
	now := r.process.World.Now()
	if now.Before(*due) {
		if err := r.glance(due.Sub(now)); !errors.Is(err, errReads) {
			return err
		}
	}
	*due = now.Add(topicPause)
	return r.look(ctx)
}

// look reads.
func (r *topicReader) look(ctx context.Context) error {
	patience, end := besideAfter, r.end
	if r.of.Wait() == 0 {
		end = r.process.World.Now().Add(r.process.Options.SoftLimit)
	} else if r.page != nil {
		patience = r.end.Sub(r.process.World.Now())
	}
	return lookIn(ctx, r.process, patience, end, r.of.Workflow(), r.runID, func(t *session.Session, run *engine.Run) error {
		return r.see(run, &topicPage{of: r.of, session: t, latest: t.Run(), other: func(id history.RunID) (*engine.Run, error) { return t.View.Other(ctx, id) }, log: func(run *engine.Run, from, end uint32) engine.Commits {
			return t.View.Between(ctx, run, from, end)
		}})
	})
}

// errReads says that an answer needs a read.
var errReads = errors.New("it takes a read")

// glance looks at what this process knows, if that has something to answer with. It waits for the
// workflow's lock no longer than this. It returns errReads if the answer needs a read.
func (r *topicReader) glance(wait time.Duration) error {
	t, err := r.process.OpenWithin(context.Background(), wait, r.of.Workflow())
	if err != nil {
		return nil // it reads when that is due
	}
	defer t.Close()
	run := t.Run()
	if run == nil || run.State.RunID != r.runID {
		return nil
	}
	from, _ := r.of.From()
	topic := run.State.Topics[r.of.Name()]
	if topic == nil || topic.Next < from || topic.Next == from && !run.State.Status.Closed() {
		return nil
	}
	return r.see(run, &topicPage{of: r.of, session: t, latest: run})
}

// see takes what a run has for the reader.
func (r *topicReader) see(run *engine.Run, p *topicPage) error {
	page, err := p.read(run)
	if err == nil {
		r.page, r.runID = page, run.State.RunID // the same run, also if another one follows
	}
	return err
}

// topicPage is an answer to a reader of a topic in progress.
type topicPage struct {
	of      command.Topic
	session *session.Session
	latest  *engine.Run // of the workflow
	// other reads another run of the workflow; nil if it is gone. log reads commits of a run that
	// memory lacks. Both are nil in an answer that must not read.
	other func(history.RunID) (*engine.Run, error)
	log   func(run *engine.Run, from, end uint32) engine.Commits

	answer *schema.TopicResponse
	size   int
	full   bool
	// fetched are commits that memory lacked, of the run fetchedOf.
	fetched   map[uint32]*history.Commit
	fetchedOf history.RunID
}

// run returns another run of the workflow; nil if it is gone.
func (p *topicPage) run(id history.RunID) (*engine.Run, error) {
	switch {
	case id == p.latest.State.RunID:
		return p.latest, nil
	case p.other == nil:
		return nil, errReads
	}
	return p.other(id)
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
	p.answer = &schema.TopicResponse{WorkflowID: p.of.Workflow(), Topic: name, Items: []schema.TopicItem{}, First: topic.First}
	from = max(from, topic.First)
	holder, anchor, err := p.holder(run, &from)
	if err != nil {
		return nil, err
	}
	p.answer.RunID = anchor.State.RunID
	topic = topicOf(holder, name)
	if err := p.take(holder, p.skip(topic, from, given), topic.Next); err != nil {
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

// holder returns the run that has the item at an offset, or that a reset has made of it: this one,
// or one that it continues. If the runs that had the item are gone, it raises the offset.
//
// anchor is the run with which the reader goes on: the holder, if following the runs from there
// leads to this run. After a reset it may not.
func (p *topicPage) holder(run *engine.Run, from *int64) (holder, anchor *engine.Run, err error) {
	holder, anchor = run, run
	for {
		start := holder.State.TopicStart(p.of.Name())
		if *from >= start {
			return holder, anchor, nil
		}
		before, err := p.run(holder.State.Started.ContinuedFrom)
		if err != nil {
			return nil, nil, err
		}
		if before == nil {
			*from, p.answer.First = start, start
			return holder, anchor, nil
		}
		if anchor == holder && before.State.Next() == holder.State.RunID {
			anchor = before
		}
		holder = before
	}
}

// hasTopic refuses a topic that neither the log nor the contract has.
func (p *topicPage) hasTopic(run *engine.Run) error {
	s := p.session.Process
	names := namesOfRun(s, run)
	if names.Allows(engine.TopicName, p.of.Name()) {
		return nil
	}
	has := "it has none"
	if all := topicNames(s, run); len(all) > 0 {
		has = "its topics are " + strings.Join(all, ", ")
	}
	return refusal.NotFound.New("workflow %q has no topic %q: %s", p.of.Workflow(), p.of.Name(), has)
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
		if err := p.takeBatch(c, b, max(from, b.Offset), before); err != nil {
			return err
		}
	}
	return nil
}

// takeCopied adds items of the run that was reset. If that is gone, so are they.
func (p *topicPage) takeCopied(run *engine.Run, from, before int64) error {
	reset, err := p.run(run.State.Reset.BaseRunID)
	if reset == nil || err != nil {
		return err
	}
	return p.take(reset, from, before)
}

// takeBatch adds items of a commit.
func (p *topicPage) takeBatch(c *history.Commit, b engine.TopicBatch, from, before int64) error {
	at, published, by := itemsAt(c, p.of.Name(), b.Offset)
	if published == nil {
		return outcome.ErrStale
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
	if p.log == nil {
		return nil, errReads
	}
	end := slot
	for size := int64(0); end < run.State.NextSlot && run.Log[end] == nil && size <= topicBytes; end++ {
		size += run.SizeOf(end)
	}
	p.fetched, p.fetchedOf = map[uint32]*history.Commit{}, run.State.RunID
	for c, err := range p.log(run, slot, end) {
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
	if !run.State.Status.Closed() {
		return nil
	}
	next, reset, err := p.follower(run)
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
// nothing.
func withdrawnBy(reset *engine.Run, name string, before int64) *schema.WithdrawnItems {
	for _, w := range topicOf(reset, name).Withdrawn {
		if w.Before == before {
			return &schema.WithdrawnItems{From: w.From, Before: w.Before}
		}
	}
	return nil
}

// follower returns the run that goes on with the topics of a closed one, or empty. If that is by a
// reset, it returns the new run as well. A run that was reset after it had closed does not name the
// new run: that is found from the latest run back.
func (p *topicPage) follower(run *engine.Run) (next history.RunID, reset *engine.Run, err error) {
	if next = run.State.Next(); next != "" {
		if a, ok := run.State.Close.(*history.WorkflowExecutionTerminated); !ok || a.ResetEventID == 0 {
			return next, nil, nil
		}
		if reset, err = p.run(next); reset == nil {
			return "", nil, err // it is gone
		}
		return next, reset, nil
	}
	for r := p.latest; r != nil && r.Number > run.Number; {
		before := r.State.Started.ContinuedFrom
		if r.State.Reset != nil {
			before = r.State.Reset.BaseRunID
		}
		switch before {
		case "":
			return "", nil, nil
		case run.State.RunID:
			return r.State.RunID, r, nil
		}
		if r, err = p.run(before); err != nil {
			return "", nil, err
		}
	}
	return "", nil, nil
}
