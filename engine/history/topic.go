package history

import (
	"encoding/json"
	"fmt"
	"slices"
)

// TopicItemsPublished are the items that the code of a run has published on a topic in one task.
type TopicItemsPublished struct {
	Topic string `cbor:"1,keyasint" json:"topic"`
	// Offset is that of the first item. The others follow it without gaps.
	Offset int64 `cbor:"2,keyasint,omitempty" json:"offset"`
	Count  int   `cbor:"3,keyasint" json:"count"`
	// Items is a JSON array of the items. It is nil in an event that a reset has copied: the log
	// of the run that was reset has the items.
	Items Payload `cbor:"4,keyasint,omitempty" json:"items,omitempty"`
}

// Type returns TypeTopicItemsPublished.
func (*TopicItemsPublished) Type() Type { return TypeTopicItemsPublished }
func (*TopicItemsPublished) isRecord()  {}

// ActivityItemsPublished are a batch of items that an attempt at an activity has published on a
// topic. It is in a commit without a task, or beside the result of the attempt. No code sees it.
type ActivityItemsPublished struct {
	Topic string `cbor:"1,keyasint" json:"topic"`
	// Offset, Count and Items are as in TopicItemsPublished.
	Offset int64   `cbor:"2,keyasint,omitempty" json:"offset"`
	Count  int     `cbor:"3,keyasint" json:"count"`
	Items  Payload `cbor:"4,keyasint,omitempty" json:"items,omitempty"`
	// ScheduledEventID is the ActivityTaskScheduled event of the activity, and Attempt the
	// number of the attempt. Execution identifies the execution of the attempt: a message that
	// is delivered twice makes two. Batch counts the batches of an execution, from 1 on.
	ScheduledEventID int64  `cbor:"5,keyasint" json:"scheduledEventId"`
	Attempt          int    `cbor:"6,keyasint" json:"attempt"`
	Execution        string `cbor:"7,keyasint" json:"execution"`
	Batch            int    `cbor:"8,keyasint" json:"batch"`
}

// Type returns TypeActivityItemsPublished.
func (*ActivityItemsPublished) Type() Type { return TypeActivityItemsPublished }
func (*ActivityItemsPublished) isArrival() {}

// TopicTruncated hides the items of a topic before an offset.
type TopicTruncated struct {
	Topic  string `cbor:"1,keyasint" json:"topic"`
	Before int64  `cbor:"2,keyasint,omitempty" json:"before"`
}

// Type returns TypeTopicTruncated.
func (*TopicTruncated) Type() Type { return TypeTopicTruncated }
func (*TopicTruncated) isRecord()  {}

// TopicOffset says where a topic goes on: in a run that continues another one, or that a reset
// has opened.
type TopicOffset struct {
	Name string `cbor:"1,keyasint" json:"name"`
	// Next is the offset of the next item.
	Next int64 `cbor:"2,keyasint,omitempty" json:"next"`
	// First is the offset of the oldest item that is not truncated.
	First int64 `cbor:"3,keyasint,omitempty" json:"first,omitempty"`
	// Withdrawn is how many items right before Next a reset has withdrawn in the run before.
	Withdrawn int64 `cbor:"4,keyasint,omitempty" json:"withdrawn,omitempty"`
}

// JoinItems returns items as an event has them: as a JSON array. An item that is not JSON is
// written as Payload.MarshalJSON writes it.
func JoinItems(items ...Payload) Payload {
	var joined Payload
	for _, p := range items {
		joined = AppendItem(joined, p)
	}
	return joined
}

// AppendItem returns an array of items with one more. A nil array has no items. It may change the
// array.
func AppendItem(joined, item Payload) Payload {
	text, _ := item.MarshalJSON() // which cannot fail: what is not JSON is written in base64
	if len(joined) == 0 {
		joined = append(make(Payload, 0, len(text)+len("[]")), '[')
	} else {
		joined[len(joined)-1] = ','
	}
	return append(append(joined, text...), ']')
}

// SplitItems returns the items that JoinItems has joined. It returns an error that wraps
// ErrCorrupt if there are not as many as count.
func SplitItems(joined Payload, count int) ([]Payload, error) {
	var items []Payload
	if err := json.Unmarshal(joined, &items); err != nil {
		return nil, fmt.Errorf("%w: the items of a topic are not a JSON array", ErrCorrupt)
	}
	if len(items) != count {
		return nil, fmt.Errorf("%w: an event has %d items of a topic, and says %d", ErrCorrupt, len(items), count)
	}
	return items, nil
}

// withoutItems returns attributes without items, or nil if they have none.
func withoutItems(a Attributes) Attributes {
	switch a := a.(type) {
	case *TopicItemsPublished:
		if a.Items != nil {
			bare := *a
			bare.Items = nil
			return &bare
		}
	case *ActivityItemsPublished:
		if a.Items != nil {
			bare := *a
			bare.Items = nil
			return &bare
		}
	case Arrival, News, TaskStep, Initiation, Record, Closing: // have no items
	}
	return nil
}

// WithoutItems returns events as a reset copies them: items of topics stay in the log of the run
// that was reset. It returns the events themselves if there are none.
func WithoutItems(events []Event) []Event {
	var copied []Event
	for i, e := range events {
		without := withoutItems(e.Attributes)
		if without == nil {
			continue
		}
		if copied == nil {
			copied = slices.Clone(events)
		}
		copied[i] = Of(without)
	}
	if copied == nil {
		return events
	}
	return copied
}
