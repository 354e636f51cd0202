package outbox_test

import (
	"bytes"
	"errors"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/fxamacker/cbor/v2"

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

// Why a message cannot be read goes to the log and into an attribute of the message. It is short,
// and has nothing of the message, whichever of its values is another one.
func TestReasonsSayNothingOfTheMessage(t *testing.T) {
	t.Parallel()
	result := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: 5, Result: history.Payload(`"x"`), Attempt: 1})
	text, err := history.EncodeBody(&engine.Message{Kind: engine.TakeResult, WorkflowID: "a", RunID: "1-0123456789abcdef", EventID: 5, Result: &result, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := cbor.Unmarshal(text[1:], &tree); err != nil {
		t.Fatal(err)
	}
	const secret = "hunter2\x01"
	long := new(big.Int).SetBytes([]byte(strings.Repeat("hunter2", 300)))
	wrong := []any{
		secret, []byte(secret), uint64(1<<63 + 12345), -5, 1.5e300, true, nil,
		[]any{secret},
		map[any]any{secret: secret},
		long, new(big.Int).Neg(long),
		cbor.Tag{Number: 0, Content: secret},
		cbor.Tag{Number: 1, Content: secret},
		cbor.RawMessage("\x68hunter2\xff"), cbor.RawMessage("\xa2\x67hunter2\x01\x67hunter2\x01"),
	}
	reasons, number := map[string]bool{}, regexp.MustCompile(`\d{4}`) // of a value, and not of a field
	try := func() {
		body, err := cbor.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{"", secret} {
			_, err := outbox.Decode(append(append([]byte{text[0]}, body...), end...))
			if err == nil {
				continue
			}
			reason := err.Error()
			reasons[reason] = true
			if len(reason) > 200 || strings.Contains(reason, "hunter2") || strings.ContainsFunc(reason, unicode.IsControl) || number.MatchString(reason) {
				t.Errorf("%.300q", reason)
			}
		}
	}
	var walk func(x any, set func(any))
	walk = func(x any, set func(any)) {
		for _, v := range wrong {
			set(v)
			try()
		}
		set(x)
		switch x := x.(type) {
		case []any:
			for i := range x {
				walk(x[i], func(v any) { x[i] = v })
			}
		case map[any]any:
			for k := range maps.Clone(x) {
				walk(x[k], func(v any) { x[k] = v })
			}
		}
	}
	walk(tree, func(v any) { tree = v })
	if len(reasons) < 5 {
		t.Errorf("the reasons are %q", slices.Collect(maps.Keys(reasons)))
	}
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
