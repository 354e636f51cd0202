package history_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/engine/history"
)

// visibility returns the events that have search attributes and memos, with one of each type.
func visibility() []history.Event {
	var all history.SearchAttributes
	for name, v := range map[string]history.AttributeValue{
		"Region": history.NewAttributeValue("eu"), "Amount": history.NewAttributeValue(int64(-1 << 62)), "Rate": history.NewAttributeValue(0.1),
		"Paid": history.NewAttributeValue(false), "Due": history.NewAttributeValue(moment.Time()), "Tags": history.NewAttributeValue([]string{"a", ""}),
	} {
		all = all.With(name, v)
	}
	memo := history.Memo{}.With("note", history.Payload(`{"a":1}`)).With("nothing", history.Payload("null"))
	return events(
		&history.WorkflowExecutionStarted{WorkflowType: "cart", Memo: memo, SearchAttributes: all},
		&history.UpsertWorkflowSearchAttributes{SearchAttributes: all, Removed: []string{"Stage"}},
		&history.WorkflowPropertiesModified{UpsertedMemo: memo, Removed: []string{"size"}},
		&history.StartChildWorkflowExecutionInitiated{WorkflowType: "cart", WorkflowID: "a", RequestID: "r", Memo: memo, SearchAttributes: all},
	)
}

// Stored events stay readable for ever. The bytes in the file are never rewritten.
func TestDecodeStoredVisibility(t *testing.T) {
	t.Parallel()
	want := &history.Commit{RunID: "1-x", FirstEventID: 1, InputEvents: visibility()}
	text, err := os.ReadFile("testdata/shown-v1.hex")
	if err != nil {
		t.Fatal(err)
	}
	written, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"now": encode(t, want), "then": written} {
		got, err := history.Decode(0, data)
		if err != nil {
			t.Fatalf("%s: %v; the encoding is now %x", name, err, encode(t, want))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: decoded differs (-want +got):\n%s", name, diff)
		}
	}
}

// JSON shows all fields of these events.
func TestVisibilityJSON(t *testing.T) {
	t.Parallel()
	for _, e := range visibility() {
		text, err := json.Marshal(e.Attributes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := history.AttributesFromJSON(e.Type(), text)
		if diff := cmp.Diff(e.Attributes, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestAttributeOf(t *testing.T) {
	t.Parallel()
	text := history.NewAttributeValue("eu")
	if v, ok := history.AttributeOf[string](text); v != "eu" || !ok {
		t.Errorf("%q, %v", v, ok)
	}
	_, number := history.AttributeOf[int64](text)
	_, float := history.AttributeOf[float64](text)
	_, truth := history.AttributeOf[bool](text)
	_, time := history.AttributeOf[time.Time](text)
	_, list := history.AttributeOf[[]string](text)
	if number || float || truth || time || list {
		t.Errorf("a text is read as a number %v, %v, a bool %v, a time %v, a list %v", number, float, truth, time, list)
	}
	for _, bad := range []string{`{}`, `{"keyword":null}`, `{"Keyword":"a"}`, `{"keyword":"a","text":"b"}`, `{"keyword":1}`, `{"Keyword":"a","int":1}`, `{"text":"a"}`, `{"keywordList":[]}`, `{"int":1.5}`, `{"time":"soon"}`, `"a"`, `null`} {
		var v history.SearchAttributes
		if err := json.Unmarshal([]byte(`{"a":`+bad+`}`), &v); err == nil {
			t.Errorf("%s is read as %+v", bad, v)
		}
	}
}
