package dynamo

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/store"
)

// edge draws a number, most often one at the edges.
func edge(t *rapid.T, name string) uint32 {
	return rapid.OneOf(rapid.SampledFrom([]uint32{0, 1, 9, 10, 15, 16, 255, 256, 1 << 31, math.MaxUint32 - 1, math.MaxUint32}), rapid.Uint32()).Draw(t, name)
}

func drawKey(t *rapid.T, name string) store.Key {
	return store.Key{Run: edge(t, name+" run"), Slot: edge(t, name+" slot")}
}

// Sort keys sort like their parts: commits by run and slot, attempts by run and event, and all
// attempts before all commits.
func TestSortKeysAreInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k, l := drawKey(t, "k"), drawKey(t, "l")
		if (commitSort(k) < commitSort(l)) != k.Before(l) || commitSort(k) > lastCommit {
			t.Fatalf("%v and %v are %q and %q", k, l, commitSort(k), commitSort(l))
		}
		if back, err := parseCommitSort(commitSort(k)); err != nil || back != k {
			t.Fatalf("%v came back as %v, %v", k, back, err)
		}
		event := rapid.Int64Range(0, math.MaxInt64)
		e, f := event.Draw(t, "e"), event.Draw(t, "f")
		if attemptSort(k.Run, e) >= commitSort(l) {
			t.Fatalf("attempt %q is not before commit %q", attemptSort(k.Run, e), commitSort(l))
		}
		before := k.Run < l.Run || k.Run == l.Run && e < f
		if (attemptSort(k.Run, e) < attemptSort(l.Run, f)) != before {
			t.Fatalf("attempts %q and %q", attemptSort(k.Run, e), attemptSort(l.Run, f))
		}
		if low, high := attemptSort(k.Run, 0), attemptSort(k.Run, -1); attemptSort(k.Run, e) < low || attemptSort(k.Run, e) > high {
			t.Fatalf("attempt %q is not between %q and %q", attemptSort(k.Run, e), low, high)
		}
	})
}

// previous returns the greatest key before another one.
func TestPrevious(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k, other := drawKey(t, "k"), drawKey(t, "other")
		if k == (store.Key{}) {
			return // there is none before it, and no caller asks for it
		}
		p := previous(k)
		if !p.Before(k) || other.Before(k) && p.Before(other) {
			t.Fatalf("previous of %v is %v, and there is %v", k, p, other)
		}
	})
}

// Timers sort by their moments, whatever their ids. The bound of a read is after the timers that
// are due before it, and before the others.
func TestTimerKeysAreInOrder(t *testing.T) {
	t.Parallel()
	s := &Store{namespace: "n"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) store.Timer {
			us := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-62135596800000000, 253402300799999999)).Draw(t, name)
			return store.Timer{Due: time.UnixMicro(us), ID: strings.Repeat(rapid.StringN(0, 20, -1).Draw(t, name+" id"), rapid.IntRange(1, 60).Draw(t, name+" times"))}
		}
		a, b := draw("a"), draw("b")
		_, ka, long, err := s.timerKey(a)
		_, kb, _, err2 := s.timerKey(b)
		if err != nil || err2 != nil || len(ka) > maxSortKey {
			t.Fatalf("%v, %v, %d bytes", err, err2, len(ka))
		}
		if a.Due.Before(b.Due) && ka >= kb || (ka == kb) != (a.ID == b.ID && a.Due.Equal(b.Due)) {
			t.Fatalf("%q and %q", ka, kb)
		}
		if (ka < dueSort(b.Due)) != a.Due.Before(b.Due) || ka < "0" {
			t.Fatalf("%q is on the wrong side of %q", ka, dueSort(b.Due))
		}
		due, id, err := parseTimerSort(ka)
		if err != nil || !due.Equal(a.Due) || !long && id != a.ID {
			t.Fatalf("%q came back as %v, %q, %v", ka, due, id, err)
		}
	})
}

// No two workflows of any namespaces share a partition, and none shares one with timers or with the
// list.
func TestPartitionsAreSeparate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		namespace := rapid.SampledFrom([]string{"a", "b", "a.w", "a-w", "w", "t", "l"})
		id := rapid.OneOf(rapid.SampledFrom([]string{"", "w", "/w/", "a/w/b", "/t/0", "t/0"}), rapid.String())
		s, r := &Store{namespace: namespace.Draw(t, "s")}, &Store{namespace: namespace.Draw(t, "r")}
		v, w := id.Draw(t, "v"), id.Draw(t, "w")
		pv, err := s.logPartition(v)
		pw, err2 := r.logPartition(w)
		if err != nil || err2 != nil || (pv == pw) != (v == w && s.namespace == r.namespace) {
			t.Fatalf("%q of %s is %q, %q of %s is %q: %v, %v", v, s.namespace, pv, w, r.namespace, pw, err, err2)
		}
		if pv == r.timerPartition(0) || pv == r.listPartition(0) || s.workflowOf(pv) != v {
			t.Fatalf("%q of %s is %q", v, s.namespace, pv)
		}
	})
}

// An id that the protocol would change, or that is too long, is refused before a request.
func TestBadIDs(t *testing.T) {
	t.Parallel()
	s := &Store{namespace: "n"}
	for _, id := range []string{"\xff", "a\xe2\x82", strings.Repeat("a", maxPartitionKey)} {
		if _, err := s.logPartition(id); err == nil {
			t.Errorf("a workflow id of %d bytes, %.8q, is taken", len(id), id)
		}
	}
	if _, _, _, err := s.timerKey(store.Timer{ID: "\xff"}); err == nil {
		t.Error("a timer id that is no UTF-8 is taken")
	}
	for _, sk := range []string{"", "c/", "c/00000001", "c/00000001/", "c/0000000g/00000000", "a/00000001/0000000000000001", "c/00000001/000000011"} {
		if k, err := parseCommitSort(sk); err == nil {
			t.Errorf("%q is taken for %v", sk, k)
		}
	}
}

// Items are read as they were written, with their expiry rounded up to the second. No item is
// refused that DynamoDB would take.
func TestItemsComeBack(t *testing.T) {
	t.Parallel()
	s := &Store{namespace: "n", lists: true}
	rapid.Check(t, func(t *rapid.T) {
		item := store.Item{Key: drawKey(t, "key"), Body: rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "body")}
		item.Workflow = rapid.String().Draw(t, "workflow")
		copy(item.Commit[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "commit"))
		if us := rapid.Int64Range(0, 1<<52).Draw(t, "expires"); us > 0 {
			item.Expires = time.UnixMicro(us)
		}
		a, err := s.encodeItem(item)
		if err != nil {
			t.Fatal(err)
		}
		back, err := s.decodeItem(a)
		if err != nil || back.Key != item.Key || back.Commit != item.Commit || string(back.Body) != string(item.Body) {
			t.Fatalf("%+v came back as %+v, %v", item, back, err)
		}
		if late := back.Expires.Sub(item.Expires); late < 0 || late >= time.Second || back.Expires.Nanosecond() != 0 {
			t.Fatalf("expiry %v came back as %v", item.Expires, back.Expires)
		}
		if _, listed := a[attrList]; listed {
			t.Fatal("an item without a summary is in the list")
		}
	})
}

func FuzzToken(f *testing.F) {
	f.Add("")
	f.Add("AAAA")
	place, _ := position(&store.Summary{Workflow: "order", Run: 1, Started: time.UnixMicro(1)})
	f.Add(newToken(place))
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := parseToken(token); err == nil && token != "" && newToken(p) != token {
			t.Errorf("the token %q is taken for %q", token, p)
		}
	})
}

// The bounds of a filter, and of a token, enclose exactly the places that they select, to the
// nanosecond.
func TestBounds(t *testing.T) {
	t.Parallel()
	base := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		moment := func(name string) time.Time {
			ns := rapid.IntRange(-4000, 4000).Draw(t, name)
			if ns%7 == 0 {
				return time.Time{}
			}
			return base.Add(time.Duration(ns))
		}
		f := store.Filter{StartedAfter: moment("after"), StartedBefore: moment("before")}
		run := &store.Summary{Workflow: "order", Run: 1, Started: base.Add(time.Duration(rapid.IntRange(-4, 4).Draw(t, "started")) * time.Microsecond)}
		token := ""
		if other := moment("token"); !other.IsZero() {
			token, _ = position(&store.Summary{Workflow: "parcel", Run: 2, Started: other})
		}
		first, last := bounds(f, token)
		place, _ := position(run)
		want := (f.StartedAfter.IsZero() || run.Started.After(f.StartedAfter)) &&
			(f.StartedBefore.IsZero() || run.Started.Before(f.StartedBefore)) && (token == "" || place < token)
		for _, state := range []string{rowOpen, rowClosed} {
			if got := first <= place+state && place+state <= last; got != want {
				t.Fatalf("started %v, filter %+v, token %q: %v, want %v", run.Started, f, token, got, want)
			}
		}
	})
}
