package engine_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/engine/internal/wire"
	"github.com/seed-41655fb1/weft/engine/internal/wire/wiretest"
)

// plain is a message without a codec: the library encodes and decodes it.
type plain engine.Message

func bodyOf(t testing.TB, v any) []byte {
	t.Helper()
	body, err := history.EncodeBody(v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// The codec of messages writes the same bytes as the library, with each field set, and decodes them
// without the library.
func TestMessagesAreEncodedAsByTheLibrary(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		m := &engine.Message{}
		wiretest.Fill(m, seed, seed > 10, func(int) any { return &history.ChildWorkflowExecutionCompleted{} })
		if m.Result != nil && m.Result.Attributes == nil {
			m.Result = nil
		}
		want := bodyOf(t, (*plain)(m))
		if got := bodyOf(t, m); !bytes.Equal(got, want) {
			t.Fatalf("seed %d:\n%x\nwant\n%x", seed, got, want)
		}
		fast := &engine.Message{}
		r := wire.NewReader(want[1:], nil)
		if fast.DecodeFrom(r); !r.Done() {
			t.Fatalf("seed %d: the codec left it to the library", seed)
		}
		messageLikeLibrary(t, want)
	}
}

// messageLikeLibrary fails the test if the codec and the library decode a message differently.
func messageLikeLibrary(t *testing.T, data []byte) {
	t.Helper()
	var want plain
	var got engine.Message
	wantErr, err := history.DecodeBody(data, &want), history.DecodeBody(data, &got)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: %v, the library says: %v", data, err, wantErr)
	}
	if err != nil {
		return
	}
	if diff := cmp.Diff(engine.Message(want), got); diff != "" {
		t.Fatalf("%x: decoded differs (-library +codec):\n%s", data, diff)
	}
}

func FuzzMessageLikeLibrary(f *testing.F) {
	for seed := range uint64(30) {
		m := &engine.Message{}
		wiretest.Fill(m, seed, true, func(int) any { return &history.ActivityTaskCompleted{} })
		if body, err := history.EncodeBody(m); err == nil && len(body) < 4096 {
			f.Add(body)
		}
	}
	// Three messages: one of an earlier version, with the key 17; one that has an activity twice;
	// one without an activity.
	f.Add([]byte("\x01\xa2\x01\x01\x11\xf5"))
	f.Add([]byte("\x01\xa2\x0b\xa2\x01\x61a\x02\x41b\x0b\xa1\x01\x61c"))
	f.Add([]byte("\x01\xa2\x0b\xf6\x0d\xf6"))
	f.Fuzz(messageLikeLibrary)
}
