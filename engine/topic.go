package engine

import (
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

const (
	// MaxTopics is how many topics a run may have.
	MaxTopics = 100
	// MaxTopicItem is the largest item of a topic, in bytes.
	MaxTopicItem = 256 << 10

	// suggestTopicItems and suggestTopicBytes are how many items, and how many bytes of items, a
	// run publishes before SuggestContinueAsNew is set.
	suggestTopicItems = 10_000
	suggestTopicBytes = 4 << 20
)

// Topics are the topics of a run, by name.
type Topics map[string]*Topic

// Topic is what a run's log says about one topic.
type Topic struct {
	Name string
	// Next is the offset of the next item. First is that of the oldest item that was not
	// truncated.
	First, Next int64
	// Items is how many items the log of the run has, truncated ones included, and Bytes is their
	// size.
	Items int
	Bytes int64
	// Withdrawn are the items that resets have withdrawn, in order.
	Withdrawn []Withdrawn
	// Batches are the places of the items, in order. Those of runs before this one are not in it.
	Batches []TopicBatch
}

// Withdrawn are the offsets of items that a reset has withdrawn: another run had published them
// after the task to which it was reset.
type Withdrawn struct{ From, Before int64 }

// TopicBatch is the place of items whose offsets follow each other.
type TopicBatch struct {
	Offset int64
	Count  int
	// Slot is the commit with the items.
	Slot uint32
	// Copied is set if a reset has copied the event: the log of the run that was reset has the
	// items.
	Copied bool
}

// topic returns the topic of a name, which it adds if there is none yet.
func (t Topics) topic(name string) *Topic {
	if t[name] == nil {
		t[name] = &Topic{Name: name}
	}
	return t[name]
}

// continued folds in the topics of the run before.
func (t Topics) continued(all []history.TopicOffset) {
	for _, o := range all {
		topic := t.topic(o.Name)
		topic.First, topic.Next = o.First, o.Next
		if o.Withdrawn > 0 {
			topic.Withdrawn = append(topic.Withdrawn, Withdrawn{From: o.Next - o.Withdrawn, Before: o.Next})
		}
	}
}

// reset folds in the topics of a run that was reset.
func (t Topics) reset(all []history.TopicOffset) {
	for _, o := range all {
		topic := t.topic(o.Name)
		if topic.Next < o.Next {
			topic.Withdrawn = append(topic.Withdrawn, Withdrawn{From: topic.Next, Before: o.Next})
			topic.Next = o.Next
		}
	}
}

// batch folds in items of an activity.
func (t Topics) batch(slot uint32, a *history.ActivityItemsPublished) error {
	return t.published(slot, &history.TopicItemsPublished{Topic: a.Topic, Offset: a.Offset, Count: a.Count, Items: a.Items})
}

// published folds in items. It returns an error if they do not follow the last one.
func (t Topics) published(slot uint32, a *history.TopicItemsPublished) error {
	topic := t.topic(a.Topic)
	if a.Offset != topic.Next || a.Count < 0 {
		return corrupt("%d items of topic %q have offset %d, want %d", a.Count, a.Topic, a.Offset, topic.Next)
	}
	topic.Next += int64(a.Count)
	if a.Items != nil {
		topic.Items += a.Count
		topic.Bytes += int64(len(a.Items))
	}
	topic.Batches = append(topic.Batches, TopicBatch{Offset: a.Offset, Count: a.Count, Slot: slot, Copied: a.Items == nil})
	return nil
}

// truncated folds in a truncation.
func (t Topics) truncated(a *history.TopicTruncated) {
	topic := t.topic(a.Topic)
	topic.First = max(topic.First, min(a.Before, topic.Next))
}

// offsets returns where all topics that had items go on, sorted by name; nil if there are none.
func (t Topics) offsets() (all []history.TopicOffset) {
	for _, name := range sortedKeys(t) {
		if topic := t[name]; topic.Next > 0 {
			all = append(all, history.TopicOffset{Name: name, Next: topic.Next, First: topic.First, Withdrawn: topic.withdrawnLast()})
		}
	}
	return all
}

// withdrawnLast returns how many items right before the next one resets have withdrawn. A reader
// who has those, and begins again in a run that follows, has to be told.
func (t *Topic) withdrawnLast() int64 {
	if n := len(t.Withdrawn); n > 0 && t.Withdrawn[n-1].Before == t.Next {
		return t.Next - t.Withdrawn[n-1].From
	}
	return 0
}

// fold folds in an event of a commit in a slot.
func (t Topics) fold(slot uint32, a history.Attributes) error {
	switch a := a.(type) {
	case *history.WorkflowExecutionStarted:
		t.continued(a.Topics)
	case *history.TopicItemsPublished:
		return t.published(slot, a)
	case *history.ActivityItemsPublished:
		return t.batch(slot, a)
	case *history.TopicTruncated:
		t.truncated(a)
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // publish nothing
	}
	return nil
}

// long reports whether the topics have so much that the run should continue as new.
func (t Topics) long() bool {
	items, bytes := 0, int64(0)
	for _, topic := range t {
		items, bytes = items+topic.Items, bytes+topic.Bytes
	}
	return items >= suggestTopicItems || bytes >= suggestTopicBytes
}

// From returns the batches that have items from an offset on.
func (t *Topic) From(offset int64) []TopicBatch {
	i, _ := slices.BinarySearchFunc(t.Batches, offset, func(b TopicBatch, offset int64) int {
		if b.Offset+int64(b.Count) <= offset {
			return -1
		}
		return 1
	})
	return t.Batches[i:]
}

// topics returns the topics of the run, to change them.
func (s *State) topics() Topics {
	if s.Topics == nil {
		s.Topics = Topics{}
	}
	return s.Topics
}

// TopicStart returns the offset at which a topic of the run began: the items before it are those
// of the runs that this one continues.
func (s *State) TopicStart(name string) int64 {
	if s.Started != nil {
		for _, o := range s.Started.Topics {
			if o.Name == name {
				return o.Next
			}
		}
	}
	return 0
}

// topicsAfter returns where the topics of the run go on after its next commit.
func (r *Run) topicsAfter(c *history.Commit) []history.TopicOffset {
	after := Topics{}
	after.continued(r.State.Topics.offsets())
	for _, e := range slices.Concat(c.InputEvents, c.Commands) {
		_ = after.fold(c.Slot, e.Attributes) // the items follow the last ones: the engine has numbered them
	}
	return after.offsets()
}

// withdrawn returns where the topics of a run go on after it was reset.
func (s *State) withdrawn() []history.TopicOffset {
	all := s.Topics.offsets()
	for i := range all {
		all[i].First, all[i].Withdrawn = 0, 0 // the new run has those before the task
	}
	return all
}

// Execution is an execution of an attempt at an activity that has published batches of items.
type Execution struct {
	// ID identifies it, and Attempt is the number of the attempt.
	ID      string `cbor:"1,keyasint,omitempty"`
	Attempt int    `cbor:"2,keyasint,omitempty"`
	// Batch is the number of its last batch.
	Batch int `cbor:"3,keyasint,omitempty"`
}

// LetsEnd reports whether an execution of an attempt may end it, with a result or a failure. e is
// the execution that has published the last batch of the activity, and nil if none has. since is
// what the ending execution knows: itself, without a batch, if it has published, and otherwise what
// e was when it began.
//
// If another execution has published since then, that one has taken over, and its items would be
// half a stream. So has one of a later attempt. Items of earlier attempts do not matter.
func (e *Execution) LetsEnd(attempt int, since Execution) bool {
	if e == nil || e.Attempt != attempt {
		return e == nil || e.Attempt < attempt
	}
	return e.ID == since.ID && (since.Batch == 0 || e.Batch == since.Batch)
}

// Follows reports whether a batch of an execution follows those that the log has of its activity:
// the next one of the same execution, or the first of one whose attempt is not lower, which takes
// over. So the batches of two executions never interleave.
func (e *Execution) Follows(id string, attempt, batch int) bool {
	if e == nil {
		return batch == 1
	}
	if e.ID == id {
		return batch == e.Batch+1
	}
	return batch == 1 && attempt >= e.Attempt
}

// batched folds in a batch of an activity.
func (s *State) batched(slot uint32, id int64, a *history.ActivityItemsPublished) error {
	p := s.Activities[a.ScheduledEventID]
	if p == nil || !p.Publishing.Follows(a.Execution, a.Attempt, a.Batch) {
		return corrupt("event %d publishes items of an activity that is not pending, or out of turn", id)
	}
	p.Publishing = &Execution{ID: a.Execution, Attempt: a.Attempt, Batch: a.Batch}
	return s.topics().batch(slot, a)
}

// restartExecutions lets the activities of a run that a reset has opened publish from their first
// attempts on.
func (s *State) restartExecutions() {
	for _, p := range s.Activities {
		p.Publishing = nil
	}
}

// Batch returns the commit that adds a batch of items of an activity, without running any code.
// It repeats what is pending. The commit has no causation id, because it schedules no messages.
func (r *Run) Batch(w *Writer, a *history.ActivityItemsPublished) *history.Commit {
	return r.draft(w, []history.Event{history.Of(a)})
}

// numbered returns events with the offsets of their items, which follow those that the run has.
func (r *Run) numbered(events []history.Event) []history.Event {
	var copied []history.Event
	next := map[string]int64{}
	for i, e := range events {
		a, ok := e.Attributes.(*history.ActivityItemsPublished)
		if !ok {
			continue
		}
		if copied == nil {
			copied = slices.Clone(events)
		}
		own := *a
		offset, later := next[a.Topic]
		if t := r.State.Topics[a.Topic]; t != nil && !later {
			offset = t.Next
		}
		own.Offset = offset
		next[a.Topic] = offset + int64(a.Count)
		copied[i] = history.Of(&own)
	}
	if copied == nil {
		return events
	}
	return copied
}

// withoutBatches returns the events that a later task has to deliver: without items, which no
// code sees.
func (in *Instance) withoutBatches(numbered []history.Numbered) []history.Numbered {
	return slices.DeleteFunc(numbered, func(e history.Numbered) bool {
		a, ok := e.Attributes.(*history.ActivityItemsPublished)
		if ok {
			in.topics.raise(a.Topic, a.Offset+int64(a.Count))
		}
		return ok
	})
}

// ---- the code's side ----

// topics is the part of an instance that publishes items.
type topics struct {
	// next are the offsets of the next items, before the activation.
	next map[string]int64
	// published are the events of the activation with items, by topic.
	published map[string]*history.TopicItemsPublished
}

// fold folds in events of a task.
func (t *topics) fold(events []history.Event) {
	for _, e := range events {
		if a, ok := e.Attributes.(*history.TopicItemsPublished); ok {
			t.raise(a.Topic, a.Offset+int64(a.Count))
		}
	}
}

// continued folds in where topics go on.
func (t *topics) continued(all []history.TopicOffset) {
	for _, o := range all {
		t.raise(o.Name, o.Next)
	}
}

func (t *topics) raise(name string, next int64) {
	if t.next == nil {
		t.next = map[string]int64{}
	}
	t.next[name] = max(t.next[name], next)
}

// count returns how many topics the run has.
func (t *topics) count() int {
	n := len(t.next)
	for name := range t.published {
		if _, before := t.next[name]; !before {
			n++
		}
	}
	return n
}

// TopicNext returns the offset that the next item of a topic gets.
func (in *Instance) TopicNext(name string) int64 {
	if a := in.topics.published[name]; a != nil {
		return a.Offset + int64(a.Count)
	}
	return in.topics.next[name]
}

// Publish publishes an item on a topic. encode returns the item, and may panic. The items of one
// topic in one task are one event. If the task's commit is full, Publish waits for the next task.
// An item that is too large fails the task.
func (in *Instance) Publish(topic string, encode func() history.Payload) {
	in.s.MustRun("publish items")
	in.mustName(TopicName, topic)
	var item history.Payload
	late := func() {
		item = encode()
		if err := CheckTopicItem(topic, item); err != nil && !in.markers.recorded {
			panic(misusef("%v", err))
		}
	}
	if !in.replaying || in.compares() {
		late()
		done := item
		late = func() { item = done }
	}
	in.splitBefore(&history.TopicItemsPublished{Topic: topic, Count: 1, Items: item}, late, func() {})
	a := in.topics.published[topic]
	if a == nil {
		in.newTopic(topic)
		a = &history.TopicItemsPublished{Topic: topic, Offset: in.topics.next[topic]}
		if in.topics.published == nil {
			in.topics.published = map[string]*history.TopicItemsPublished{}
		}
		in.topics.published[topic] = a
		in.issueWritten(a)
	}
	a.Count++
	if !in.replaying || in.compares() {
		a.Items = history.AppendItem(a.Items, item)
	}
}

// CheckTopicItem returns an error if an item is larger than MaxTopicItem.
func CheckTopicItem(topic string, item history.Payload) error {
	if n := len(item); n > MaxTopicItem {
		return fmt.Errorf("an item of topic %q has %d bytes: the limit is %d; pass larger things by reference", topic, n, MaxTopicItem)
	}
	return nil
}

// newTopic fails the task if the run would have too many topics.
func (in *Instance) newTopic(name string) {
	if err := CheckName("name of a topic", name); err != nil {
		panic(misusef("%v", err))
	}
	if _, before := in.topics.next[name]; !before && !in.markers.recorded && in.topics.count() >= MaxTopics {
		panic(misusef("topic %q is one too many: a run has at most %d", name, MaxTopics))
	}
}

// Truncate hides the items of a topic before an offset from readers.
func (in *Instance) Truncate(topic string, before int64) {
	in.s.MustRun("truncate a topic")
	in.mustName(TopicName, topic)
	in.newTopic(topic)
	in.issueEvent(&history.TopicTruncated{Topic: topic, Before: max(0, min(before, in.TopicNext(topic)))})
}

func misusef(format string, args ...any) error {
	return &failure.OtherError{Kind: failure.KindMisuse, Message: fmt.Sprintf(format, args...)}
}
