package history

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/internal/wire"
	"github.com/seed-41655fb1/weft/engine/internal/wire/wiretest"
	"github.com/seed-41655fb1/weft/proof/shortform"
)

// storedTypes are the types of events that are stored.
func storedTypes() (types []Type) {
	for t, k := range kinds {
		if !k.folded {
			types = append(types, t)
		}
	}
	slices.Sort(types)
	return types
}

// fill sets all fields of what v points to, or only some of them if sparse.
func fill(v any, seed uint64, sparse bool) {
	types := storedTypes()
	wiretest.Fill(v, seed, sparse, func(n int) any { return kinds[types[n%len(types)]].make() })
}

// library returns the library's encoding of v, after the bytes in first.
func library(t *testing.T, first []byte, v any) []byte {
	t.Helper()
	body, err := encMode.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return append(first, body...)
}

// For each type of event, with each field set, a codec writes the same bytes as the library, and
// reads them itself.
func TestAttributesAreEncodedAsByTheLibrary(t *testing.T) {
	t.Parallel()
	for _, typ := range storedTypes() {
		for seed := range shortform.Or[uint64](40, 12) {
			a := kinds[typ].make()
			fill(a, seed, seed > 10)
			want := library(t, library(t, []byte{pairHeader}, typ), a)
			body := library(t, []byte{version}, a)
			if got, err := EncodeBody(a); err != nil || !bytes.Equal(got, body) || SizeOf(a) != len(body) {
				t.Fatalf("%s, seed %d: %v\n%x, of size %d\nwant\n%x, of size %d", typ, seed, err, got, SizeOf(a), body, len(body))
			}
			w := wire.NewWriter(nil)
			Of(a).EncodeTo(w)
			if got, ok := w.Done(); !ok || !bytes.Equal(got, want) {
				t.Fatalf("%s, seed %d: %v\n%x\nwant\n%x", typ, seed, ok, got, want)
			}
			var slow, fast Event
			if err := decMode.Unmarshal(want, &slow); err != nil {
				t.Fatal(err)
			}
			r := wire.NewReader(want, nil)
			if fast.DecodeFrom(r); !r.Done() {
				t.Fatalf("%s, seed %d: the codec left it to the library", typ, seed)
			}
			if !reflect.DeepEqual(slow, fast) {
				t.Fatalf("%s, seed %d: decoded differs (-library +codec):\n%s", typ, seed, cmp.Diff(slow, fast))
			}
		}
	}
}

// The same holds for commits. The library writes their events with the codec: see
// TestAttributesAreEncodedAsByTheLibrary.
func TestCommitsAreEncodedAsByTheLibrary(t *testing.T) {
	t.Parallel()
	var decoder Decoder
	for seed := range uint64(200) {
		var s stored
		fill(&s, seed, seed > 10)
		for _, e := range [][]Event{s.InputEvents, s.Commands} {
			dropEmpty(e)
		}
		for _, c := range s.Copied {
			dropEmpty(c.InputEvents)
			dropEmpty(c.Commands)
		}
		want := library(t, []byte{version}, &s)
		w := newBody()
		writeStored(w, &s)
		got, ok := w.Done()
		if !ok || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %v\n%x\nwant\n%x", seed, ok, got, want)
		}
		var slow, fast stored
		if err := decodeSlowly(want, &slow); err != nil {
			t.Fatal(err)
		}
		if !decodeFast(want, &decoder.names, &fast) {
			t.Fatalf("seed %d: the codec left it to the library", seed)
		}
		if !reflect.DeepEqual(slow, fast) {
			t.Fatalf("seed %d: decoded differs (-library +codec):\n%s", seed, cmp.Diff(slow, fast, cmp.AllowUnexported(stored{}, copied{})))
		}
	}
}

// dropEmpty gives attributes to events that have none, because such events are not stored.
func dropEmpty(events []Event) {
	for i := range events {
		if events[i].Attributes == nil {
			events[i] = Of(&TimerFired{StartedEventID: 1})
		}
	}
}

// NaN and infinities have a form of their own. Only the library reads it.
func TestFloatsAreEncodedAsByTheLibrary(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0x7ff0_0000_0000_0001), math.Inf(1), math.Inf(-1), 1e-310, 0.1} {
		a := &ActivityTaskScheduled{Retry: RetryPolicy{BackoffCoefficient: f}, Header: Header{}, Input: Payload{}}
		value := &UpsertWorkflowSearchAttributes{SearchAttributes: SearchAttributes{{"x", AttributeValue{Float: &f, KeywordList: []string{}}}}}
		for _, v := range []Attributes{a, value} {
			w := wire.NewWriter(nil)
			Of(v).EncodeTo(w)
			got, _ := w.Done()
			if want := library(t, library(t, []byte{pairHeader}, v.Type()), v); !bytes.Equal(got, want) {
				t.Errorf("%v: %x, want %x", f, got, want)
			}
		}
	}
}

// Events without attributes, and those that are folded, are not stored.
func TestWhatIsNotStored(t *testing.T) {
	t.Parallel()
	for _, e := range []Event{{}, Of(&WorkflowTaskScheduled{})} {
		if body, err := Encode(&Commit{InputEvents: []Event{e}}); err == nil {
			t.Errorf("%v is encoded: %x", e, body)
		}
		if body, err := EncodeBody(e); err == nil {
			t.Errorf("%v is encoded: %x", e, body)
		}
	}
}

// variants are encodings that no codec writes and that a codec may have to read. The library
// decides on each.
func variants() map[string][]byte {
	completed := func(attributes ...byte) []byte { // {8: [[25, attributes]]}
		return append([]byte{version, 0xa1, 0x08, 0x81, 0x82, 0x18, 25}, attributes...)
	}
	return map[string][]byte{
		"a key of a later version":          completed(0xa2, 0x01, 0x05, 0x18, 0x63, 0x81, 0x01),
		"a text as a key":                   completed(0xa2, 0x01, 0x05, 0x61, 'a', 0x01),
		"a negative key":                    completed(0xa2, 0x01, 0x05, 0x20, 0x01),
		"a key twice":                       completed(0xa2, 0x01, 0x05, 0x01, 0x06),
		"a number with more bytes":          completed(0xa1, 0x01, 0x1b, 0, 0, 0, 0, 0, 0, 0, 5),
		"a key with more bytes":             completed(0xa1, 0x18, 0x01, 0x05),
		"a number that is too large":        completed(0xa1, 0x01, 0x1b, 255, 255, 255, 255, 255, 255, 255, 255),
		"a number that is too small":        completed(0xa1, 0x01, 0x3b, 255, 255, 255, 255, 255, 255, 255, 255),
		"a map without a length":            completed(0xbf, 0x01, 0x05, 0xff),
		"a map with a longer length":        completed(0xb8, 0x01, 0x01, 0x05),
		"a map that is too long":            completed(0xbb, 255, 255, 255, 255, 255, 255, 255, 255),
		"bytes in parts":                    completed(0xa2, 0x01, 0x05, 0x02, 0x5f, 0x41, 1, 0xff),
		"bytes that are too long":           completed(0xa2, 0x01, 0x05, 0x02, 0x5b, 255, 255, 255, 255, 255, 255, 255, 255),
		"text for bytes":                    completed(0xa2, 0x01, 0x05, 0x02, 0x61, 'a'),
		"an array for bytes":                completed(0xa2, 0x01, 0x05, 0x02, 0x82, 0x01, 0x02),
		"null for bytes":                    completed(0xa2, 0x01, 0x05, 0x02, 0xf6),
		"undefined for bytes":               completed(0xa2, 0x01, 0x05, 0x02, 0xf7),
		"no bytes":                          completed(0xa2, 0x01, 0x05, 0x02, 0x40),
		"null for a number":                 completed(0xa1, 0x01, 0xf6),
		"a float for a number":              completed(0xa1, 0x01, 0xfb, 0x40, 0, 0, 0, 0, 0, 0, 0),
		"a tag":                             completed(0xa1, 0x01, 0xc1, 0x05),
		"a reserved head":                   completed(0xa1, 0x01, 0x1c),
		"null for attributes":               completed(0xf6),
		"an array for attributes":           completed(0x80),
		"half of an event":                  completed(0xa1, 0x01),
		"a byte too many":                   completed(0xa1, 0x01, 0x05, 0x00),
		"an event of one":                   {version, 0xa1, 0x08, 0x81, 0x81, 0x18, 25},
		"an event of an unknown type":       {version, 0xa1, 0x08, 0x81, 0x82, 0x18, 0xfa, 0xa0},
		"an event of a type that is long":   {version, 0xa1, 0x08, 0x81, 0x82, 0x19, 0, 25, 0xa1, 0x01, 0x05},
		"null for an event":                 {version, 0xa1, 0x08, 0x81, 0xf6},
		"null for events":                   {version, 0xa1, 0x08, 0xf6},
		"no events":                         {version, 0xa1, 0x08, 0x80},
		"events without a length":           {version, 0xa1, 0x08, 0x9f, 0xff},
		"too many events":                   {version, 0xa1, 0x08, 0x9b, 0, 0, 0, 0, 255, 255, 255, 255},
		"a number for a status":             {version, 0xa1, 0x05, 0x19, 1, 0},
		"an id that is short":               {version, 0xa1, 0x01, 0x41, 1},
		"an id that is long":                {version, 0xa1, 0x01, 0x58, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17},
		"an id as an array":                 {version, 0xa1, 0x01, 0x82, 1, 2},
		"a hint that is none":               {version, 0xa1, 0x07, 0xa1, 0x06, 0x01},
		"no map":                            {version, 0x80},
		"nothing after the version":         {version},
		"rules of a later version":          {version, 0xa1, 0x07, 0xa1, 0x08, 0x18, 200},
		"version 0":                         {0, 0xa0},
		"a failure that is nested deeply":   nested(20),
		"one that is nested more deeply":    nested(50),
		"one that is nested as deep as can": nested(61),
		"one that is nested too deeply":     nested(70),
	}
}

// nested returns a commit whose task failed of a failure with that many causes.
func nested(causes int) []byte {
	b := []byte{version, 0xa1, 0x07, 0xa1, 0x03}
	for range causes {
		b = append(b, 0xa1, 0x0a)
	}
	return append(b, 0xa0)
}

// likeLibrary fails the test if the codec and the library decode a commit differently.
func likeLibrary(t *testing.T, data []byte) {
	t.Helper()
	var decoder Decoder
	var want *Commit
	slow := &stored{}
	wantErr := decodeSlowly(data, slow)
	if wantErr == nil {
		want, wantErr = slow.commit(7)
	}
	got, err := decoder.Decode(7, data)
	if (err == nil) != (wantErr == nil) || wantErr != nil && !errors.Is(err, errors.Unwrap(wantErr)) && err.Error() != "slot 7: "+wantErr.Error() {
		t.Fatalf("%x: %v, the library says: %v", data, err, wantErr)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Fatalf("%x: decoded differs (-library +codec):\n%s", data, diff)
	}
}

func TestVariantsAreDecodedAsByTheLibrary(t *testing.T) {
	t.Parallel()
	for name, data := range variants() {
		t.Run(name, func(t *testing.T) { likeLibrary(t, data) })
	}
}

// A decoded commit shares no memory with the bytes that it was decoded from.
func TestDecodedIsACopy(t *testing.T) {
	t.Parallel()
	var s, before, after stored
	fill(&s, 1, false)
	data := library(t, []byte{version}, &s)
	if !decodeFast(bytes.Clone(data), nil, &before) || !decodeFast(data, nil, &after) {
		t.Fatal("the codec left it to the library")
	}
	clear(data)
	if diff := cmp.Diff(before, after, cmp.AllowUnexported(stored{}, copied{})); diff != "" {
		t.Error(diff)
	}
}

// A failed decoding leaves its target empty, whether the body has surplus bytes or too few.
func TestWhatDoesNotDecodeLeavesNothing(t *testing.T) {
	t.Parallel()
	whole := &failure.Failure{Kind: failure.KindApplication, Message: "x"}
	for _, v := range []any{whole, Of(&ActivityTaskFailed{Failure: whole}), &ActivityTaskScheduled{ActivityType: "x"}} {
		body, err := EncodeBody(v)
		if err != nil {
			t.Fatal(err)
		}
		for what, data := range map[string][]byte{"a byte too many": append(bytes.Clone(body), 0), "a byte too few": body[:len(body)-1]} {
			to := reflect.New(reflect.Indirect(reflect.ValueOf(v)).Type())
			if err := DecodeBody(data, to.Interface()); !errors.Is(err, ErrCorrupt) || !to.Elem().IsZero() {
				t.Errorf("%s: %v, %+v is left", what, err, to)
			}
		}
	}
}

// caused returns a failure with that many causes.
func caused(causes int) *failure.Failure {
	f := &failure.Failure{Kind: failure.KindApplication}
	for range causes {
		f = &failure.Failure{Kind: failure.KindApplication, Cause: f}
	}
	return f
}

// An encoded commit can be decoded, however deep a failure is nested. Encoding fails for a commit
// that the library would not read.
func TestDeepFailures(t *testing.T) {
	t.Parallel()
	const readable, unreadable = 50, 64 // causes; the limit depends on what surrounds the failure
	for causes := range 80 {
		f := caused(causes)
		event := Of(&ActivityTaskFailed{Failure: f})
		for _, v := range []any{
			f, event, event.Attributes, &Commit{InputEvents: []Event{event}}, &Commit{Task: &Task{Failure: f}},
			&Commit{Copied: []*Commit{{Commands: []Event{event}}}}, &Commit{Copied: []*Commit{{Task: &Task{Failure: f}}}},
		} {
			body, err := encodeAny(v)
			if encoded := err == nil; encoded && causes >= unreadable || !encoded && causes <= readable {
				t.Errorf("%T with %d causes: encoded %v, %v", v, causes, encoded, err)
			}
			if err != nil {
				continue
			}
			got, err := decodeAny(body, v)
			if err != nil {
				t.Errorf("%T with %d causes is encoded, but cannot be decoded: %v", v, causes, err)
			} else if again, err := encodeAny(got); err != nil || !bytes.Equal(again, body) {
				t.Errorf("%T with %d causes is encoded again as %x, %v, want %x", v, causes, again, err, body)
			}
		}
	}
}

// encodeAny is Encode for a commit, and EncodeBody for anything else.
func encodeAny(v any) ([]byte, error) {
	if c, ok := v.(*Commit); ok {
		return Encode(c)
	}
	return EncodeBody(v)
}

// decodeAny decodes what encodeAny returned for v.
func decodeAny(body []byte, v any) (any, error) {
	if _, ok := v.(*Commit); ok {
		return Decode(0, body)
	}
	to := reflect.New(reflect.Indirect(reflect.ValueOf(v)).Type()).Interface()
	return to, DecodeBody(body, to)
}

// The codec itself reads lists whose items have the fewest bytes that a codec writes.
func TestListsOfTheSmallestItems(t *testing.T) {
	t.Parallel()
	const items = 1000
	smallest := &UpsertWorkflowSearchAttributes{SearchAttributes: make(SearchAttributes, items), Removed: make([]string, items)}
	for _, s := range []*stored{
		{Copied: make([]copied, items)},
		{CausationIDs: make([]CausationID, items)},
		{InputEvents: []Event{Of(smallest)}, Commands: []Event{Of(&ActivityTaskScheduled{Header: make(Header, items)})}},
		{Copied: []copied{{InputEvents: []Event{Of(smallest)}, Commands: []Event{Of(smallest)}}, {}}},
	} {
		w := newBody()
		writeStored(w, s)
		body, ok := w.Done()
		var got stored
		if !ok || !decodeFast(body, nil, &got) {
			t.Errorf("the codec left %d bytes to the library: %v", len(body), ok)
		}
	}
}

// The decoder of a corrupt body allocates little more than the body's length, whatever numbers of
// items the body announces.
func TestMemoryOfCorruptBodies(t *testing.T) { // not parallel: it counts what the process allocates
	const size, most = 65_000, 32 // bytes of memory for each byte of the body
	const room = size - 100
	list := func(items int) []byte { return binary.BigEndian.AppendUint16([]byte{0x99}, uint16(items)) }
	nested := func(commits, events, attributes, keywords int) [][]byte {
		return [][]byte{
			{0xa1, 0x0c},
			list(commits),
			{0xa1, 0x08},
			list(events),
			{pairHeader, 0x18, byte(TypeUpsertWorkflowSearchAttributes), 0xa1, 0x01},
			list(attributes),
			{0xa2, 0x01, 0x60, 0x02, 0xa1, 0x06},
			list(keywords),
		}
	}
	for what, parts := range map[string][][]byte{
		"copied commits, one for each byte":        {{0xa1, 0x0c}, list(room)},
		"copied commits, one for each three bytes": {{0xa1, 0x0c}, list(room / 3)},
		"events":                             {{0xa1, 0x08}, list(room)},
		"causation ids":                      {{0xa1, 0x0a}, list(room)},
		"lists in lists, each of them large": nested(room, room, room, room),
		"lists in lists, for which there are bytes": nested(room/12, room/4, room/20, room/4),
		"lists in lists, all but the first large":   nested(1, room, room/5, room),
	} {
		data := append([]byte{version}, bytes.Join(parts, nil)...)
		data = append(data, bytes.Repeat([]byte{0xff}, size-len(data))...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(0, data)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrCorrupt) || took > most*size {
			t.Errorf("%s: %v, and %d bytes are allocated for %d", what, err, took, size)
		}
	}
}

func FuzzDecodeLikeLibrary(f *testing.F) {
	for _, data := range variants() {
		f.Add(data)
	}
	for seed := range uint64(20) {
		s := &stored{}
		fill(s, seed, true)
		dropEmpty(s.InputEvents)
		dropEmpty(s.Commands)
		w := newBody()
		if writeStored(w, s); len(s.Copied) == 0 {
			if body, ok := w.Done(); ok && len(body) < 4096 {
				f.Add(body)
			}
		}
	}
	f.Fuzz(likeLibrary)
}
