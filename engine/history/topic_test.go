package history_test

import (
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/engine/history"
)

// Items are joined and split again. One that is not JSON comes back, too.
func TestItems(t *testing.T) {
	t.Parallel()
	items := []history.Payload{history.Payload(`"a"`), history.Payload(`{"b":[1,2]}`), nil, {0xff, 0x00}, history.Payload(`{"weft.base64":"AA=="}`)}
	joined := history.JoinItems(items...)
	split, err := history.SplitItems(joined, len(items))
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		if string(split[i]) != string(items[i]) {
			t.Errorf("item %d is %s, want %s", i, split[i], items[i])
		}
	}
	for joined, count := range map[string]int{"": 1, "[1": 1, "[1]": 2, `{"a":1}`: 1, "[1,2]": 1} {
		if _, err := history.SplitItems(history.Payload(joined), count); !errors.Is(err, history.ErrCorrupt) {
			t.Errorf("%s: %v", joined, err)
		}
	}
}

// A copy for a reset has the offsets and not the items. The events of the log stay as they are.
func TestWithoutItems(t *testing.T) {
	t.Parallel()
	other := history.Of(&history.TimerStarted{FireAt: 1})
	published := &history.TopicItemsPublished{Topic: "t", Offset: 3, Count: 1, Items: history.Payload("[1]")}
	all := []history.Event{other, history.Of(published)}
	copied := history.WithoutItems(all)
	got, ok := copied[1].Attributes.(*history.TopicItemsPublished)
	if !ok || got.Items != nil || got.Offset != 3 || got.Count != 1 || published.Items == nil || copied[0] != other {
		t.Errorf("%+v, from %+v", copied, published)
	}
	if same := history.WithoutItems(all[:1]); &same[0] != &all[0] {
		t.Error("events without items were copied")
	}
}

// FuzzSplitItems splits any text: it returns as many items as it was asked for, which are joined
// to the same items again, or an error.
func FuzzSplitItems(f *testing.F) {
	for _, seed := range []string{"[]", "[1,2]", `["a",null,{"weft.base64":"AA=="}]`, "[", "{}", "null"} {
		f.Add([]byte(seed), 2)
	}
	f.Fuzz(func(t *testing.T, joined []byte, count int) {
		items, err := history.SplitItems(joined, count)
		if err != nil {
			return
		}
		again, err := history.SplitItems(history.JoinItems(items...), len(items))
		if len(items) == 0 && err != nil {
			return
		}
		if err != nil || len(again) != count {
			t.Fatalf("%s: %d items, %v", joined, len(again), err)
		}
		for i := range items {
			if string(items[i]) != string(again[i]) {
				t.Fatalf("item %d is %q, and was %q", i, again[i], items[i])
			}
		}
	})
}
