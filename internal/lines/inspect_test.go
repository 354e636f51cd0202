package lines

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/queue"
)

// The counts of a queue agree with its messages, whatever happens to them.
func TestDepthAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		fifo := rapid.Bool().Draw(t, "fifo")
		f := &faulty{}
		q := New(settingsOf(fifo), Options{Clock: func() time.Time { return now }, Journal: f})
		ctx, flying := context.Background(), map[string][]string{}
		names := []string{"q", queue.DeadLetters("q")}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "queue")
			f.full = rapid.IntRange(0, 9).Draw(t, "full") == 9
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				m := queue.Message{Body: []byte("m"), Delay: time.Duration(rapid.IntRange(0, 40).Draw(t, "delay")) * time.Second}
				if fifo {
					m.Group, m.Delay = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "group"), 0
				}
				_ = q.Send(ctx, name, m)
			case 1:
				if q.Ready(name) {
					got, _ := q.Receive(ctx, name, rapid.IntRange(1, 3).Draw(t, "limit"))
					for _, d := range got {
						flying[name] = append(flying[name], d.Receipt)
					}
				}
			case 2:
				if len(flying[name]) > 0 {
					_ = q.Delete(ctx, name, rapid.SampledFrom(flying[name]).Draw(t, "receipt"))
				}
			case 3:
				if len(flying[name]) > 0 {
					_ = q.Extend(ctx, name, rapid.SampledFrom(flying[name]).Draw(t, "receipt"), time.Duration(rapid.IntRange(0, 40).Draw(t, "by"))*time.Second)
				}
			case 4:
				now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "move")) * time.Second)
			case 5:
				_ = q.Redrive(ctx, "q")
			}
		}
		f.full, now = false, now.Add(pause)
		q.Tick()
		inFlight := map[*line]int64{}
		for _, m := range q.inFlight {
			inFlight[m.line]++
		}
		for _, name := range names {
			d, err := q.Depth(ctx, name)
			hidden := int64(0)
			for _, m := range q.hidden {
				if m.line == q.lines[name] {
					hidden++
				}
			}
			if all := int64(len(q.Dump(name))); err != nil || d.Waiting+d.InFlight+d.Delayed != all || d.InFlight != inFlight[q.lines[name]] || d.InFlight+d.Delayed != hidden {
				t.Fatalf("%s has the depth %+v, %v, and %d messages, %d in flight, %d hidden", name, d, err, all, inFlight[q.lines[name]], hidden)
			}
		}
	})
}

// Dead letters that the journal cannot move stay, and move when it can.
func TestJournalThatCannotMoveBack(t *testing.T) {
	t.Parallel()
	for _, fifo := range []bool{false, true} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		f := &faulty{}
		q, ctx := New(settingsOf(fifo), Options{Journal: f, Clock: func() time.Time { return now }}), t.Context()
		sent := sendNumbers(t, q, fifo, 3)
		for range 2 {
			if d, err := q.Receive(ctx, "q", 10); err != nil || len(d) != len(sent) {
				t.Fatal(bodies(d), err)
			}
			now = now.Add(30 * time.Second)
			q.Tick()
		}
		f.full, f.died = true, nil
		dead := queue.DeadLetters("q")
		if err := q.Redrive(ctx, "q"); !errors.Is(err, errFull) || q.Len(dead) != len(sent) || q.Len("q") != 0 || !q.Ready(dead) {
			t.Fatalf("%v, and %d of %d messages stay", err, q.Len(dead), len(sent))
		}
		f.full = false
		if err := q.Redrive(ctx, "q"); err != nil || q.Len(dead) != 0 || len(f.died) != len(sent) {
			t.Fatalf("%v: %d messages stay, and %q moved", err, q.Len(dead), f.died)
		}
		d, err := q.Receive(ctx, "q", 10)
		got := bodies(d)
		if !fifo {
			slices.Sort(got)
		}
		if err != nil || !slices.Equal(got, sent) || d[0].Received != 1 {
			t.Errorf("%q, %v; want %q", got, err, sent)
		}
	}
}
