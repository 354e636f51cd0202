package schema

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// HistoryEvent is an event of a run's history.
type HistoryEvent struct {
	ID   int64        `json:"id"`
	Type history.Type `json:"type"`
	Time time.Time    `json:"time"`
	// Batch is the same for all events that one workflow task received or produced: 0 for the first
	// task. Events that a reset copied keep their batches. The batches allow a reader to rebuild
	// the commits from the events.
	Batch      int                `json:"batch"`
	Attributes history.Attributes `json:"attributes"`
}

// UnmarshalJSON reads an event. It fails if this version of Weft does not know the event's type.
func (e *HistoryEvent) UnmarshalJSON(data []byte) error {
	var raw struct {
		ID         int64           `json:"id"`
		Type       history.Type    `json:"type"`
		Time       time.Time       `json:"time"`
		Batch      *int            `json:"batch"`
		Attributes json.RawMessage `json:"attributes"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("an event: %w", err)
	}
	if raw.Batch == nil {
		return fmt.Errorf("event %d has no batch: an earlier version of Weft wrote it, export the history again", raw.ID)
	}
	attributes, err := history.AttributesFromJSON(raw.Type, raw.Attributes)
	if err != nil {
		return fmt.Errorf("event %d: %w", raw.ID, err)
	}
	*e = HistoryEvent{ID: raw.ID, Type: raw.Type, Time: raw.Time, Batch: *raw.Batch, Attributes: attributes}
	return nil
}

// HistoryResponse is a page of a run's history.
type HistoryResponse struct {
	WorkflowID    string         `json:"workflowId"`
	RunID         history.RunID  `json:"runId"`
	Events        []HistoryEvent `json:"events"`
	NextPageToken string         `json:"nextPageToken,omitempty"`
	// Next is the id of the event after those of the page. A reader continues there.
	Next int64 `json:"next,omitempty"`
	// Closed says that the run has closed, and that no event follows those of the page. NewRunID is
	// the run that follows, if there is one.
	Closed   bool          `json:"closed,omitempty"`
	NewRunID history.RunID `json:"newRunId,omitempty"`
	// RetryAfter is how long a reader who waits pauses before the next request; 0 is not at all.
	RetryAfter Duration `json:"retryAfter,omitempty"`
}

// Events lists the events of a run's log whose ids are from or higher: at most limit of them, and
// at most this many bytes of encoded attributes, but at least one event. more reports whether
// others follow.
func Events(log []*history.Commit, from int64, limit, bytes int) (events []HistoryEvent, more bool) {
	return EventsAfter(0, log, from, limit, bytes)
}

// EventsAfter is Events for the end of a log that follows this many batches of events.
func EventsAfter(batches int, log []*history.Commit, from int64, limit, bytes int) (events []HistoryEvent, more bool) {
	batch, size := batches-1, 0
	for _, c := range log {
		if c.NextEventID() <= from {
			batch += c.Batches()
			continue
		}
		starts := map[int64]bool{} // the ids with which batches begin
		for part := range c.Parts() {
			starts[part.FirstInputEventID()] = true
		}
		for _, e := range c.Events() {
			if starts[e.ID] {
				batch++
			}
			if e.ID < from {
				continue
			}
			if size += history.SizeOf(e.Attributes); len(events) == limit || len(events) > 0 && size > bytes {
				return events, true
			}
			events = append(events, HistoryEvent{ID: e.ID, Type: e.Type(), Time: e.Time.Time(), Batch: batch, Attributes: e.Attributes})
		}
	}
	return events, false
}
