package schema_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// A page ends at its number of events or of bytes, but holds at least one event, however large. The
// pages have every event once.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	const size = 10 << 10
	first := history.Of(&history.WorkflowExecutionStarted{})
	log := []*history.Commit{{RunID: "1-0", InputEvents: []history.Event{first}}}
	for slot := range 20 {
		body := []byte(fmt.Sprintf("%q", make([]byte, size/4))) // four characters for each byte
		next := log[len(log)-1].NextEventID()
		log = append(log, &history.Commit{RunID: "1-0", Slot: uint32(slot + 1), FirstEventID: next, InputEvents: []history.Event{history.Of(&history.WorkflowExecutionSignaled{SignalName: "poke", Input: body})}})
	}
	last := log[len(log)-1].NextEventID() - 1
	for _, test := range []struct {
		name               string
		limit, bytes, most int
	}{
		{"events", 4, math.MaxInt, 4},
		{"bytes", math.MaxInt, 3*size + 1000, 4}, // the first event is small
		{"less than an event", math.MaxInt, 1, 1},
	} {
		var ids []int64
		for more, pages := true, 0; more; pages++ {
			var events []schema.HistoryEvent
			events, more = schema.Events(log, int64(len(ids))+1, test.limit, test.bytes)
			if len(events) == 0 || len(events) > test.most {
				t.Fatalf("%s: page %d has %d events, want 1 to %d", test.name, pages, len(events), test.most)
			}
			for _, e := range events {
				ids = append(ids, e.ID)
			}
		}
		if int64(len(ids)) != last || !slices.IsSorted(ids) {
			t.Errorf("%s: the pages have the events %v, want 1 to %d", test.name, ids, last)
		}
	}
}
