package schema

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// TopicItem is an item that a workflow has published.
type TopicItem struct {
	// Offset is its place in the topic.
	Offset int64 `json:"offset"`
	// At is when it was published.
	At    time.Time       `json:"at"`
	Value history.Payload `json:"value"`
	// Activity is the attempt that has published the item; nil if the workflow's code has.
	Activity *TopicActivity `json:"activity,omitempty"`
}

// TopicActivity is an attempt at an activity that has published items.
type TopicActivity struct {
	// RunID is the run that has the activity, and ScheduledEventID the event that scheduled it.
	// Together they identify the activity: a run that follows has events with the same ids. A reset
	// changes neither: RunID is the run of which resets have made the others.
	RunID            history.RunID `json:"runId"`
	ScheduledEventID int64         `json:"scheduledEventId"`
	// Attempt is the number of the attempt.
	Attempt int `json:"attempt"`
	// Execution identifies the execution of the attempt. If another one follows with items of the
	// same activity, it has started over: a reader drops the items of the one before.
	Execution string `json:"execution"`
}

// TopicResponse has items of a topic, in order.
type TopicResponse struct {
	WorkflowID string        `json:"workflowId"`
	RunID      history.RunID `json:"runId"`
	Topic      string        `json:"topic"`
	Items      []TopicItem   `json:"items"`
	// First is the offset of the oldest item that can be read, as far as the answer had to look.
	// It is more than the offset that was asked for if the items between them were truncated, or if
	// the run that has them is gone.
	First int64 `json:"first"`
	// Next is the offset of the item after those of the answer. A reader continues there.
	Next int64 `json:"next"`
	// More says that other items follow already: the next request is made at once. The answer may
	// have no items.
	More bool `json:"more,omitempty"`
	// Closed says that the run has closed, and that it has no items after those of the answer.
	// NewRunID is the run that goes on with the topic, if there is one.
	Closed   bool          `json:"closed"`
	NewRunID history.RunID `json:"newRunId,omitempty"`
	// Withdrawn are items that a reset has withdrawn: the reader may have read them before.
	Withdrawn *WithdrawnItems `json:"withdrawn,omitempty"`
	// RetryAfter is how long a reader who waits pauses before the next request; 0 is not at all.
	RetryAfter Duration `json:"retryAfter,omitempty"`
}

// WithdrawnItems are the items of a topic from an offset on, before another one.
type WithdrawnItems struct {
	From   int64 `json:"from"`
	Before int64 `json:"before"`
}

// TopicSummary says what a topic holds.
type TopicSummary struct {
	Name string `json:"name"`
	// First is the offset of the oldest item that is not truncated, and Next that of the next item.
	First int64 `json:"first"`
	Next  int64 `json:"next"`
	// Items is how many items the history of the run has, truncated ones included, and Bytes is
	// their size.
	Items int   `json:"items"`
	Bytes int64 `json:"bytes"`
}

// TopicsResponse has the topics of a run.
type TopicsResponse struct {
	WorkflowID string         `json:"workflowId"`
	RunID      history.RunID  `json:"runId"`
	Topics     []TopicSummary `json:"topics"`
}
