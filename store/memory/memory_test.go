package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		New: func(t *testing.T) func() storetest.Store {
			s := New(Options{Violation: t.Errorf})
			t.Cleanup(s.Check)
			return func() storetest.Store { return s } // memory survives a reopening
		},
		MaxBody: maxBody, PageBytes: pageBytes, Reopens: true, Lists: true,
	})
}

// watch is a store that records its callers' violations.
type watch struct {
	*Store
	seen []string
	now  time.Time
}

func newWatch() *watch {
	w := &watch{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.Store = New(Options{
		Clock:     func() time.Time { return w.now },
		Violation: func(format string, args ...any) { w.seen = append(w.seen, fmt.Sprintf(format, args...)) },
		Encoded:   func(body []byte) bool { return bytes.HasPrefix(body, []byte("encoded")) },
	})
	return w
}

// saw demands exactly one violation since the last call, which contains this text, or none if the
// text is "".
func (w *watch) saw(t *testing.T, text string) {
	t.Helper()
	switch {
	case text == "" && len(w.seen) > 0:
		t.Errorf("violations %q, want none", w.seen)
	case text != "" && (len(w.seen) != 1 || !strings.Contains(w.seen[0], text)):
		t.Errorf("violations %q, want one with %q", w.seen, text)
	}
	w.seen = nil
}

func (w *watch) append(items ...store.Item) { _ = w.Append(context.Background(), items...) }

func item(run, slot uint32, id byte) store.Item {
	return store.Item{Key: store.Key{Workflow: "w", Run: run, Slot: slot}, Commit: [16]byte{id}, Body: []byte{id}}
}

func TestContractOfAppend(t *testing.T) {
	t.Parallel()
	alias := item(1, 0, 1)
	alias.Summary = &store.Summary{Workflow: "w", Run: 2}
	changed := item(1, 0, 1)
	changed.Body = []byte("other")
	encoded, encodedAgain := item(1, 0, 1), item(1, 0, 1)
	encoded.Body, encodedAgain.Body = []byte("encoded with a key"), []byte("encoded with another")
	for name, c := range map[string]struct {
		want  string
		calls [][]store.Item
	}{
		"a run":                    {"", [][]store.Item{{item(1, 0, 1)}, {item(1, 1, 2)}, {item(1, 2, 3), item(2, 0, 3)}}},
		"out of order in one call": {"", [][]store.Item{{item(1, 0, 1)}, {item(2, 0, 2), item(1, 1, 2)}}},
		"a repeat":                 {"", [][]store.Item{{item(1, 0, 1)}, {item(1, 0, 1)}}},
		"a repeat, encoded anew":   {"", [][]store.Item{{encoded}, {encodedAgain}}},
		"a lost race":              {"", [][]store.Item{{item(1, 0, 1)}, {item(1, 0, 2)}}},
		"no item":                  {"of 0 items", [][]store.Item{{}}},
		"three items":              {"", [][]store.Item{{item(1, 0, 1), item(1, 1, 1), item(1, 2, 1)}}},
		"too many items":           {"of 101 items", [][]store.Item{slices.Repeat([]store.Item{item(1, 0, 1)}, 101)}},
		"one key twice":            {"two items at", [][]store.Item{{item(1, 0, 1), item(1, 0, 2)}}},
		"one key twice of three":   {"two items at", [][]store.Item{{item(1, 0, 1), item(1, 1, 1), item(1, 1, 2)}}},
		"run 0":                    {"the first run", [][]store.Item{{item(0, 0, 1)}}},
		"a gap at the start":       {"leaves a gap", [][]store.Item{{item(1, 1, 1)}}},
		"a gap":                    {"leaves a gap", [][]store.Item{{item(1, 0, 1)}, {item(1, 2, 2)}}},
		"a gap between two":        {"leaves a gap", [][]store.Item{{item(1, 0, 1), item(1, 2, 1)}}},
		"no earlier run":           {"no earlier run", [][]store.Item{{item(2, 0, 1)}}},
		"run numbers left out":     {"", [][]store.Item{{item(1, 0, 1)}, {item(3, 0, 2)}, {item(2, 0, 3)}}},
		"an id for another body":   {"used again", [][]store.Item{{item(1, 0, 1)}, {changed}}},
		"an id at another key":     {"used again", [][]store.Item{{item(1, 0, 1)}, {item(1, 1, 1)}}},
		"an id of one of two":      {"used again", [][]store.Item{{item(1, 0, 1)}, {item(1, 1, 2), item(2, 0, 2)}, {item(1, 1, 2)}}},
		"another run's summary":    {"summary of", [][]store.Item{{alias}}},
	} {
		w := newWatch()
		for _, call := range c.calls {
			w.append(call...)
		}
		t.Run(name, func(t *testing.T) { w.saw(t, c.want) })
	}
}

func TestContractOfOwnership(t *testing.T) {
	t.Parallel()
	w, ctx := newWatch(), context.Background()
	first := item(1, 0, 1)
	first.Summary = &store.Summary{Workflow: "w", Run: 1}
	attempt := store.Attempt{Workflow: "w", Run: 1, Event: 5, Number: 1, Body: []byte("body")}
	timer := store.Timer{ID: "t", Due: w.now, Body: []byte("body")}
	w.append(first)
	if err := errors.Join(w.RecordAttempt(ctx, attempt), w.PutTimers(ctx, []store.Timer{timer})); err != nil {
		t.Fatal(err)
	}
	w.Check()
	w.saw(t, "")

	first.Body[0]++
	w.Check()
	w.saw(t, "the item at w/1/0 was changed")
	first.Body[0]--
	first.Summary.Status = "changed"
	w.Check()
	w.saw(t, "the item at w/1/0 was changed")
	first.Summary.Status = ""
	attempt.Body[0]++
	w.Check()
	w.saw(t, "attempt 1 of event 5")
	attempt.Body[0]--
	timer.Body[0]++
	w.Check()
	w.saw(t, "timer t was changed")
}

func TestContractOfAttemptsAndTimers(t *testing.T) {
	t.Parallel()
	w, ctx := newWatch(), context.Background()
	_ = w.RecordAttempt(ctx, store.Attempt{Workflow: "w", Run: 1, Event: 5})
	w.saw(t, "the first is number 1")

	timers := []store.Timer{{ID: "t", Due: w.now}}
	_ = w.PutTimers(ctx, timers)
	_ = w.DeleteTimers(ctx, timers)
	w.saw(t, "DueTimers never returned it")
	_ = w.PutTimers(ctx, timers)
	_, _ = w.DueTimers(ctx, w.now.Add(1), 1)
	_ = w.DeleteTimers(ctx, timers)
	_ = w.DeleteTimers(ctx, timers)
	w.saw(t, "")
}

// A run's last commit is deleted after the others. A deletion that finds another commit in its
// place deletes nothing, so its order does not matter.
func TestContractOfDelete(t *testing.T) {
	t.Parallel()
	w, ctx := newWatch(), context.Background()
	first, last, void := item(1, 0, 1), item(1, 1, 2), item(1, 1, 3)
	w.append(first)
	w.append(last)
	void.Over = last.Commit
	w.append(void)
	if err := w.Delete(ctx, []store.Item{last}, nil); !errors.Is(err, store.ErrStale) {
		t.Errorf("the deletion of a commit that another one has replaced: %v, want ErrStale", err)
	}
	w.saw(t, "")
	_ = w.Delete(ctx, []store.Item{void}, nil)
	w.saw(t, "before the others")
}

func TestPanicsByDefault(t *testing.T) {
	t.Parallel()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "leaves a gap") {
			t.Errorf("panic %q, want the violation", text)
		}
	}()
	_ = New(Options{}).Append(context.Background(), item(1, 7, 1))
}

// An item is deleted only after its expiry. If items of a run were deleted, the next item leaves no
// gap.
func TestDeleteExpired(t *testing.T) {
	t.Parallel()
	w, ctx := newWatch(), context.Background()
	random := rand.New(rand.NewPCG(1, 2))
	for slot := range uint32(20) {
		i := item(1, slot, byte(slot+1))
		i.Expires = w.now.Add(time.Duration(slot+1) * time.Second)
		if slot == 0 {
			i.Summary = &store.Summary{Workflow: "w", Run: 1}
		}
		w.append(i)
	}
	forever := item(2, 0, 100)
	w.append(forever)
	if err := w.RecordAttempt(ctx, store.Attempt{Workflow: "w", Run: 1, Event: 5, Number: 1, Expires: w.now.Add(time.Second)}); err != nil {
		t.Fatal(err)
	}
	if w.DeleteExpired(random.IntN) {
		t.Fatal("an item was deleted before its expiry")
	}
	w.now = w.now.Add(10*time.Second + 1)
	deleted := 0
	for w.DeleteExpired(random.IntN) {
		deleted++
	}
	if left := w.Dump("w"); deleted != 11 || len(left) != 11 || left[0].Slot != 10 {
		t.Errorf("%d deleted, %d left, want 10 items and an attempt deleted, and 11 items left", deleted, len(left))
	}
	if rows, _, err := w.ListRuns(ctx, store.Filter{}, "", 10); err != nil || len(rows) != 1 {
		t.Errorf("%d runs, %v: a run with items left is listed", len(rows), err)
	}
	w.append(item(1, 20, 21))
	w.saw(t, "")

	w.now = w.now.Add(time.Hour)
	for w.DeleteExpired(random.IntN) {
	}
	if left := w.Dump("w"); len(left) != 2 || left[0].Slot != 20 || left[1].Run != 2 {
		t.Errorf("%d items left, want the two that never expire", len(left))
	}
	w.Check()
	w.saw(t, "")
}

// When a whole workflow has expired, its runs are numbered from 1 again, and gaps count from there.
func TestRunAnew(t *testing.T) {
	t.Parallel()
	w := newWatch()
	for slot := range uint32(5) {
		i := item(1, slot, byte(slot+1))
		i.Expires = w.now.Add(time.Second)
		w.append(i)
	}
	w.now = w.now.Add(time.Minute)
	for w.DeleteExpired(func(n int) int { return n - 1 }) {
	}
	w.append(item(1, 0, 50))
	w.append(item(1, 1, 51))
	w.saw(t, "")
	w.append(item(1, 3, 52))
	w.saw(t, "leaves a gap")
}

// An attempt that replaces an expiring one is not deleted in its place.
func TestAttemptOutlivesTheOneBefore(t *testing.T) {
	t.Parallel()
	for _, due := range []bool{false, true} {
		w, ctx := newWatch(), context.Background()
		for event := range int64(3) {
			a := store.Attempt{Workflow: "w", Run: 1, Event: event + 1, Number: 1, Expires: w.now.Add(time.Second)}
			if err := w.RecordAttempt(ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		w.now = w.now.Add(2 * time.Second)
		if due { // all three are due, and one is deleted
			w.DeleteExpired(func(n int) int { return n - 1 })
		}
		if err := w.RecordAttempt(ctx, store.Attempt{Workflow: "w", Run: 1, Event: 1, Number: 2, Expires: w.now.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		for w.DeleteExpired(func(int) int { return 0 }) {
		}
		left, err := w.ReadAttempts(ctx, "w", 1)
		if numbers := slices.Collect(func(yield func(int) bool) {
			for _, a := range left {
				yield(a.Number)
			}
		}); err != nil || !slices.Equal(numbers, []int{2}) {
			t.Errorf("attempts %v left, %v, want the second one of event 1", numbers, err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	s, ctx := New(Options{}), context.Background()
	b.ReportAllocs()
	for n := range b.N {
		i := item(1, uint32(n), 0)
		i.Commit = [16]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
		if err := s.Append(ctx, i); err != nil {
			b.Fatal(err)
		}
	}
}
