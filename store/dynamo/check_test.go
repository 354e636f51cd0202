package dynamo

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
)

var checkedAt = time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)

func testStore(t testing.TB) *Store {
	t.Helper()
	return &Store{namespace: "default", lists: true, report: func(err error) { t.Log(err) }}
}

// full returns an item with every attribute that a commit can have.
func full(t testing.TB, s *Store) attributes {
	t.Helper()
	a, err := s.encodeItem(store.Item{
		Key: store.Key{Workflow: "order", Run: 1, Slot: 2}, Commit: [16]byte{1, 2, 3}, Body: []byte("the body"), Expires: checkedAt,
		Summary: &store.Summary{
			Workflow: "order", Run: 1, RunID: "1-aa", Type: "cart", Status: "completed", Started: checkedAt, Closed: checkedAt,
			Build: "b1", Attributes: "attributes", Memo: "remembered", Facts: "facts",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// damages calls each with all items that differ from one in one bit, in one lost byte at the end,
// in one lost attribute, or in the type of one attribute.
func damages(a attributes, each func(what string, damaged attributes)) {
	for name, v := range a {
		with := func(what string, v types.AttributeValue) {
			b := maps.Clone(a)
			if b[name] = v; v == nil {
				delete(b, name)
			}
			each(name+": "+what, b)
		}
		with("lost", nil)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			with("another type", bin([]byte(v.Value)))
			texts([]byte(v.Value), func(what string, b []byte) { with(what, str(string(b))) })
		case *types.AttributeValueMemberB:
			with("another type", str(string(v.Value)))
			texts(v.Value, func(what string, b []byte) { with(what, bin(b)) })
		case *types.AttributeValueMemberN:
			with("another type", str(v.Value))
			texts([]byte(v.Value), func(what string, b []byte) { with(what, &types.AttributeValueMemberN{Value: string(b)}) })
		case *types.AttributeValueMemberM:
			with("another type", str("x"))
			damages(v.Value, func(what string, m attributes) { with(what, &types.AttributeValueMemberM{Value: m}) })
		}
	}
}

func texts(b []byte, each func(what string, b []byte)) {
	for i := range 8 * len(b) {
		flipped := bytes.Clone(b)
		flipped[i/8] ^= 1 << (i % 8)
		each("a flipped bit", flipped)
	}
	if len(b) > 0 {
		each("a lost byte", b[:len(b)-1])
	}
}

// Each damage to an item is detected, except the loss of the check, which looks like an item of an
// earlier version.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	whole := full(t, s)
	if _, err := s.decodeItem(whole); err != nil {
		t.Fatal(err)
	}
	tried := 0
	damages(whole, func(what string, a attributes) {
		tried++
		if _, err := s.decodeItem(a); !errors.Is(err, store.ErrCorrupt) && what != attrCheck+": lost" {
			t.Errorf("%s: %v, want ErrCorrupt", what, err)
		} else if err != nil && (strings.Contains(err.Error(), "the body") || strings.Contains(err.Error(), "remembered")) {
			t.Errorf("%s: the error shows what the item holds: %v", what, err)
		}
	})
	if tried < 1000 {
		t.Errorf("only %d damages were tried", tried)
	}
}

// projected returns an item's row in the index.
func projected(a attributes) attributes {
	row := attributes{}
	for _, name := range []string{attrPartition, attrSort, attrList, attrPlace, attrSummary, attrExpires} {
		row[name] = a[name]
	}
	return row
}

// Each damage to a row of the list is detected. A row has its own check.
func TestDamageOfRowsIsFound(t *testing.T) {
	t.Parallel()
	row := projected(full(t, testStore(t)))
	if err := verifyRow(row); err != nil {
		t.Fatal(err)
	}
	damages(row, func(what string, a attributes) {
		if err := verifyRow(a); !errors.Is(err, store.ErrCorrupt) && what != attrSummary+": "+attrCheck+": lost" {
			t.Errorf("%s: %v, want ErrCorrupt", what, err)
		}
	})
}

// Items and rows of earlier versions have no check, and are read. Their types are checked.
func TestItemsWithoutCheck(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	old := full(t, s)
	want, err := s.decodeItem(old)
	if err != nil {
		t.Fatal(err)
	}
	delete(old, attrCheck)
	delete(old[attrSummary].(*types.AttributeValueMemberM).Value, attrCheck)
	got, err := s.decodeItem(old)
	if err != nil || got.Commit != want.Commit || !bytes.Equal(got.Body, want.Body) || *got.Summary != *want.Summary {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if err := verifyRow(projected(old)); err != nil {
		t.Error(err)
	}
	for name, v := range map[string]types.AttributeValue{attrBody: str("x"), attrExpires: str("1"), attrSummary: str("x"), attrCommit: bin([]byte("short"))} {
		bad := maps.Clone(old)
		bad[name] = v
		if _, err := s.decodeItem(bad); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

// Numbers in another spelling are no damage, and neither is a checked attribute of a newer version.
func TestWhatIsNoDamage(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	a := full(t, s)
	a[attrExpires] = &types.AttributeValueMemberN{Value: "0" + a[attrExpires].(*types.AttributeValueMemberN).Value}
	if _, err := s.decodeItem(a); err != nil {
		t.Error(err)
	}
	a["later"] = str("x")
	if _, err := s.decodeItem(a); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("an attribute that came later: %v", err)
	}
	addCheck(a)
	if _, err := s.decodeItem(a); err != nil {
		t.Error(err)
	}
}

// An item of a newer version is not read, even if its checksum is right.
func TestNewerVersion(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	a := full(t, s)
	check := bytes.Clone(bytesOf(a, attrCheck))
	check[0]++
	a[attrCheck] = bin(check)
	if _, err := s.decodeItem(a); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("%v, want ErrCorrupt that names the version", err)
	}
}

// The size of the checks, in bytes as DynamoDB counts them.
func TestCheckBytes(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	listed := full(t, s)
	with := sizeOf(listed)
	delete(listed[attrSummary].(*types.AttributeValueMemberM).Value, attrCheck)
	row := with - sizeOf(listed)
	delete(listed, attrCheck)
	if item := with - row - sizeOf(listed); item != 6 || row != 7 {
		t.Errorf("the check of an item has %d bytes, and that of a row %d; docs/decisions/0036-checksums.md says 6 and 7", item, row)
	}
}

// A mark and its check move together, and damage to the mark is detected.
func TestMarkCheck(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	mark := func(at, check int64) attributes { return attributes{attrNumber: num(at), attrCheck: num(check)} }
	sum := s.markSum("q")
	for name, test := range map[string]struct {
		there attributes
		want  bool
	}{
		"none":               {nil, true},
		"whole":              {mark(70, sum-70), true},
		"of earlier":         {attributes{attrNumber: num(70)}, true},
		"another number":     {mark(71, sum-70), false},
		"another check":      {mark(70, sum-71), false},
		"of another queue":   {mark(70, s.markSum("p")-70), false},
		"a check, no number": {attributes{attrCheck: num(sum)}, false},
		"a text":             {attributes{attrNumber: str("70")}, false},
		"no whole number":    {attributes{attrNumber: &types.AttributeValueMemberN{Value: "1.5"}}, false},
	} {
		if _, err := s.decodeMark("q", test.there); (err == nil) != test.want || err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v, want it to be read: %v", name, err, test.want)
		}
	}
}

// No item makes the decoders panic, and no incomplete item passes for one with a check.
func FuzzItem(f *testing.F) {
	s := testStore(f)
	whole := full(f, s)
	f.Add(stringOf(whole, attrPartition), stringOf(whole, attrSort), bytesOf(whole, attrCommit), bytesOf(whole, attrBody), bytesOf(whole, attrCheck), "1764000000", byte(0))
	f.Fuzz(func(t *testing.T, pk, sk string, commit, body, check []byte, number string, without byte) {
		n := &types.AttributeValueMemberN{Value: number}
		a := attributes{
			attrPartition: str(pk), attrSort: str(sk), attrCommit: bin(commit), attrBody: bin(body), attrNumber: n, attrExpires: n, attrCheck: bin(check),
			attrSummary: &types.AttributeValueMemberM{Value: attributes{
				sumRunID: str(pk), sumType: str(sk), sumStatus: str(number), sumStarted: n, attrCheck: bin(check),
			}},
		}
		for i, name := range slices.Sorted(maps.Keys(a)) {
			if without&(1<<i) != 0 {
				delete(a, name)
			}
		}
		if verifyRow(a) == nil {
			_ = decodeSummary(a, store.Key{})
		}
		_, err := decodeTimer(a)
		_, mark := s.decodeMark("q", a)
		item, commitErr := s.decodeItem(a)
		for _, err := range []error{err, mark, commitErr} {
			if err != nil && !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("an error of no kind: %v", err)
			}
		}
		if _, checked := a[attrCheck]; commitErr == nil && checked && string(check) != string(checkOf(a)) {
			t.Errorf("an item with a wrong check is read: %v", item.Key)
		}
	})
}

// A cursor is one that Scan made, or is refused.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(scanPlace{}.after(attributes{attrPartition: str("default/w/order"), attrSort: str("c/00000001/00000000")}))
	f.Add(newToken(`{"Segment":9,"Segments":4}`))
	f.Add(newToken(`{"Segment":`))
	f.Fuzz(func(t *testing.T, cursor string) {
		if p, err := parseCursor(cursor); err != nil && !errors.Is(err, store.ErrBadToken) || err == nil && (p.Segment < 0 || p.Segment >= scanSegments) {
			t.Errorf("%q: %+v, %v", cursor, p, err)
		}
	})
}
