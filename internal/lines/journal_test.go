package lines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// faulty is a journal that stores nothing, and fails while it is full.
type faulty struct {
	full  bool
	tries int      // calls while it was full
	died  []string // the bodies of the messages that went to the dead letters
}

var errFull = errors.New("full")

func (f *faulty) answer() error {
	if f.full {
		f.tries++
		return errFull
	}
	return nil
}

func (f *faulty) Sent(string, []Kept) error                   { return f.answer() }
func (f *faulty) Received(string, map[uint64]int, bool) error { return f.answer() }
func (f *faulty) Deleted([]uint64) error                      { return f.answer() }
func (f *faulty) Bodies([]uint64) (map[uint64][]byte, error)  { return nil, f.answer() }
func (f *faulty) Moved(_ uint64, _ string, message Kept) (err error) {
	if err = f.answer(); err == nil {
		f.died = append(f.died, string(message.Body))
	}
	return err
}

// settingsOf returns the settings of a queue "q" with a limit of receives, and of its dead letters.
func settingsOf(fifo bool) map[string]queue.Settings {
	return map[string]queue.Settings{
		"q": {FIFO: fifo, MaxReceives: 2, Visibility: 30 * time.Second}, queue.DeadLetters("q"): {FIFO: fifo, Visibility: 30 * time.Second},
	}
}

func sendNumbers(t *testing.T, q *Queue, fifo bool, n int) (sent []string) {
	t.Helper()
	for i := range n {
		m := queue.Message{Body: fmt.Append(nil, i)}
		if fifo {
			m.Group = "g"
		}
		if err := q.Send(context.Background(), "q", m); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, string(m.Body))
	}
	return sent
}

func bodies(deliveries []queue.Delivery) (all []string) {
	for _, d := range deliveries {
		all = append(all, string(d.Body))
	}
	return all
}

// A delivery that the journal cannot store does not count, however many times it is tried, and the
// message keeps its place. A pause separates the tries, not a handler's time-out.
func TestJournalThatCannotKeepReceives(t *testing.T) {
	t.Parallel()
	for _, fifo := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &faulty{}
			q := New(settingsOf(fifo), Options{Journal: f})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // in the bubble
			defer cancel()
			sent := sendNumbers(t, q, fifo, 4)
			f.full = true
			const tries = 10
			for range tries {
				if d, err := q.Receive(ctx, "q", 3); !errors.Is(err, errFull) {
					t.Fatalf("%q, %v; want what the journal says", bodies(d), err)
				}
				if q.Ready("q") == fifo { // the fourth message of the group waits with the others
					t.Errorf("FIFO %v: ready is %v", fifo, fifo)
				}
				time.Sleep(pause)
			}
			if f.tries != tries || q.Len("q") != len(sent) {
				t.Fatalf("%d tries to keep a receive, %d messages left; want %d and %d", f.tries, q.Len("q"), tries, len(sent))
			}
			f.full = false
			d, err := q.Receive(ctx, "q", 10)
			got := bodies(d)
			if !fifo {
				slices.Sort(got)
			}
			if err != nil || !slices.Equal(got, sent) {
				t.Fatalf("%q, %v; want %q", got, err, sent)
			}
			for _, m := range d {
				if m.Received != 1 {
					t.Errorf("%q is delivered for the first time, and counted %d times", m.Body, m.Received)
				}
				if err := q.Delete(ctx, "q", m.Receipt); err != nil {
					t.Error(err)
				}
			}
			if len(q.hidden) > 0 || len(q.inFlight) > 0 || q.Len("q") > 0 {
				t.Errorf("%d hidden, %d in flight, %d held", len(q.hidden), len(q.inFlight), q.Len("q"))
			}
		})
	}
}

// A message moves to the dead letters only when the journal has stored the move. A group keeps its
// order, even if the journal recovers in the middle of it.
func TestJournalThatCannotKeepDeaths(t *testing.T) {
	t.Parallel()
	for _, fifo := range []bool{false, true} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		f := &faulty{}
		q, ctx := New(settingsOf(fifo), Options{Journal: f, Clock: func() time.Time { return now }}), t.Context()
		sent := sendNumbers(t, q, fifo, 3)
		for range 2 {
			d, err := q.Receive(ctx, "q", 10)
			if err != nil || len(d) != len(sent) {
				t.Fatal(bodies(d), err)
			}
			for i, m := range d { // one after the other
				if err := q.Extend(ctx, "q", m.Receipt, time.Duration(i+1)*pause/4); err != nil {
					t.Fatal(err)
				}
			}
			f.full = d[0].Received == 2
			now = now.Add(pause / 4)
			q.Tick()
			if now = now.Add(pause / 4); !f.full {
				now = now.Add(pause)
			}
			q.Tick()
		}
		if dead := q.Len(queue.DeadLetters("q")); f.tries != 1 || dead != 0 || q.Len("q") != len(sent) || q.Ready("q") {
			t.Fatalf("%d tries, %d dead letters, %d messages, ready %v; want one try, and nothing moved", f.tries, dead, q.Len("q"), q.Ready("q"))
		}
		f.full = false
		now = now.Add(pause / 4) // the last one is due, and the first one waits
		q.Tick()
		if len(f.died) > 0 {
			t.Errorf("%q moved before those in front of it", f.died)
		}
		now = now.Add(pause)
		if q.Tick(); !slices.Equal(f.died, sent) || q.Len(queue.DeadLetters("q")) != len(sent) || q.Len("q") != 0 {
			t.Errorf("the journal has the deaths of %q, %d dead letters, %d messages; want %q", f.died, q.Len(queue.DeadLetters("q")), q.Len("q"), sent)
		}
	}
}

// Messages of an earlier process move to the dead letters only when the journal stores that, too.
// Nobody receives them meanwhile.
func TestJournalThatCannotKeepDeathsOfBefore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := &faulty{full: true}
	q := New(settingsOf(true), Options{Journal: f, Clock: func() time.Time { return now }})
	var kept []Kept
	for i, received := range []int{0, 2, 0} {
		kept = append(kept, Kept{ID: uint64(i + 1), Group: "g", Visible: now, Body: fmt.Append(nil, i), Received: received})
	}
	if err := q.Restore("q", kept); err != nil {
		t.Fatal(err)
	}
	q.Restored()
	if q.Ready("q") || q.Len("q") != 3 {
		t.Errorf("ready %v, %d messages; want all to wait", q.Ready("q"), q.Len("q"))
	}
	f.full, now = false, now.Add(pause)
	if d, err := q.Receive(t.Context(), "q", 10); err != nil || !slices.Equal(bodies(d), []string{"0", "2"}) || !slices.Equal(f.died, []string{"1"}) {
		t.Errorf("%q, %v, and %q went to the dead letters", bodies(d), err, f.died)
	}
}

// A clock that was ahead in an earlier process hides no message for longer than a sender may
// request.
func TestRestoreWhenClockWentBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ahead := now.Add(24 * time.Hour)
	for _, test := range []struct {
		name          string
		fifo          bool
		received      int
		visible, want time.Time
	}{
		{"FIFO", true, 0, ahead, now},
		{"received before", false, 1, ahead, now},
		{"standard", false, 0, ahead, now.Add(queue.MaxDelay)},
		{"delayed", false, 0, now.Add(time.Minute), now.Add(time.Minute)},
		{"overdue", false, 0, now.Add(-time.Minute), now},
	} {
		at := now
		q := New(settingsOf(test.fifo), Options{Clock: func() time.Time { return at }})
		if err := q.Restore("q", []Kept{{ID: 1, Group: "g", Visible: test.visible, Body: []byte("m"), Received: test.received}}); err != nil {
			t.Fatal(err)
		}
		q.Restored()
		for ; !q.Ready("q") && at.Before(ahead); at, _ = q.Next() {
		}
		if !at.Equal(test.want) {
			t.Errorf("%s: it is visible after %v, want after %v", test.name, at.Sub(now), test.want.Sub(now))
		}
	}
}
