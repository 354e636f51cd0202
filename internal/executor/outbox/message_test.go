package outbox_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
)

// FuzzDecode decodes any bytes. A message that it accepts can be encoded again, and decoded to the
// same message.
func FuzzDecode(f *testing.F) {
	result := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: 5, Result: history.Payload(`"x"`), Attempt: 1})
	for _, m := range []*engine.Message{
		{Kind: engine.RunActivity, WorkflowID: "a", RunID: "1-0123456789abcdef", Slot: 3, EventID: 5, Attempt: 1, Activity: &history.ActivityTaskScheduled{ActivityType: "work"}},
		{Kind: engine.FireTimer, WorkflowID: "a", RunID: "1-0123456789abcdef", EventID: 9, Due: 1 << 50, Attempt: 1},
		{Kind: engine.TakeResult, WorkflowID: "a", RunID: "4294967295-0123456789abcdef", EventID: 5, Result: &result, Attempt: 2},
		{Kind: engine.TakeResult, WorkflowID: "a", RunID: "1-0123456789abcdef", EventID: 6, Result: &result, Attempt: 2},
		{Kind: 99, WorkflowID: "a", RunID: "1-0123456789abcdef", Attempt: 1},
		{},
	} {
		body, err := history.EncodeBody(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
		f.Add(body[:len(body)/2])
	}
	f.Add([]byte{2, 0xa0})
	f.Add([]byte{history.Encoded, 0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := outbox.Decode(body)
		if err != nil {
			if m != nil || !errors.Is(err, history.ErrCorrupt) && !errors.Is(err, history.ErrNewer) && !errors.Is(err, history.ErrEncoded) {
				t.Fatalf("%v, %v", m, err)
			}
			return
		}
		once, err := history.EncodeBody(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := outbox.Decode(once)
		if err != nil {
			t.Fatalf("%x can be decoded, and its encoding %x cannot: %v", body, once, err)
		}
		if twice, err := history.EncodeBody(again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%x became %x: %v", once, twice, err)
		}
	})
}

// Decode refuses a message that lacks a field that its kind needs, and a message that contradicts
// itself.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	result := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: 5})
	fired := history.Of(&history.TimerFired{StartedEventID: 5})
	good := engine.Message{Kind: engine.TakeResult, WorkflowID: "a", RunID: "1-0123456789abcdef", EventID: 5, Result: &result, Attempt: 1}
	for what, change := range map[string]func(m *engine.Message){
		"":                            func(*engine.Message) {},
		"no workflow":                 func(m *engine.Message) { m.WorkflowID = "" },
		"no run":                      func(m *engine.Message) { m.RunID = "latest" },
		"no attempt":                  func(m *engine.Message) { m.Attempt = 0 },
		"no result":                   func(m *engine.Message) { m.Result = nil },
		"the result of something":     func(m *engine.Message) { m.Result = &fired },
		"another activity's result":   func(m *engine.Message) { m.EventID = 6 },
		"a result that is not wanted": func(m *engine.Message) { m.Kind = engine.RunActivity },
	} {
		m := good
		change(&m)
		body, err := history.EncodeBody(&m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := outbox.Decode(body); (what == "") != (err == nil) || err != nil && !errors.Is(err, history.ErrCorrupt) {
			t.Errorf("%q: %v", what, err)
		}
	}
}
