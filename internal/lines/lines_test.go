package lines

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/queuetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Harness{
		New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
			clock := queuetest.NewClock()
			q := New(settings, Options{Clock: clock.Now, Violation: t.Errorf})
			clock.OnMove(q.Tick)
			t.Cleanup(q.Check)
			return func() queuetest.Queue { return q }, clock // memory survives a reopening
		},
		MaxBody: MaxBody, Reopens: true, Inspects: true, Redrives: true, Browses: true,
	})
}

// watch is a queue that records its callers' violations.
type watch struct {
	*Queue
	t    *testing.T
	seen []string
	now  time.Time
}

func newWatch(t *testing.T) *watch {
	w := &watch{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.Queue = New(queue.Standard(), Options{
		Clock:     func() time.Time { return w.now },
		Violation: func(format string, args ...any) { w.seen = append(w.seen, fmt.Sprintf(format, args...)) },
	})
	return w
}

// saw demands exactly one violation since the last call, which contains this text, or none if the
// text is "".
func (w *watch) saw(text string) {
	w.t.Helper()
	switch {
	case text == "" && len(w.seen) > 0:
		w.t.Errorf("violations %q, want none", w.seen)
	case text != "" && (len(w.seen) != 1 || !strings.Contains(w.seen[0], text)):
		w.t.Errorf("violations %q, want one with %q", w.seen, text)
	}
	w.seen = nil
}

func (w *watch) send(name string, m queue.Message) {
	w.t.Helper()
	if err := w.Send(context.Background(), name, m); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watch) receive(name string) queue.Delivery {
	w.t.Helper()
	d, err := w.Receive(context.Background(), name, 1)
	if err != nil || len(d) != 1 {
		w.t.Fatalf("Receive: %v, %v", d, err)
	}
	return d[0]
}

func TestContractOfReceipts(t *testing.T) {
	t.Parallel()
	w, ctx := newWatch(t), context.Background()
	w.send(queue.Timers, queue.Message{Body: []byte("message")})
	d := w.receive(queue.Timers)
	for _, made := range []string{"", "1", "message", "0-00000000", "2" + d.Receipt[1:], "01" + d.Receipt[1:], d.Receipt + "0"} {
		_ = w.Delete(ctx, queue.Timers, made)
		w.saw("never issued")
		_ = w.Extend(ctx, queue.Timers, made, time.Second)
		w.saw("never issued")
	}
	_ = w.Delete(ctx, queue.Activities, d.Receipt)
	w.saw("never issued by the queue \"activities\"")
	for range 2 {
		_ = w.Delete(ctx, queue.Timers, d.Receipt)
		_ = w.Extend(ctx, queue.Timers, d.Receipt, time.Second)
	}
	w.saw("")
}

func TestContractOfBodies(t *testing.T) {
	t.Parallel()
	w, ctx := newWatch(t), context.Background()
	if err := w.Send(ctx, queue.Timers, queue.Message{}); err == nil {
		t.Error("a message without a body was sent")
	}
	w.saw("without a body")
	bodies := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d")}
	w.send(queue.Timers, queue.Message{Body: bodies[0], Delay: time.Second})
	w.send(queue.Activities, queue.Message{Body: bodies[1]})
	w.send(queue.Workflow, queue.Message{Body: bodies[2], Group: "group"})
	held := w.receive(queue.Workflow)
	w.send(queue.Workflow, queue.Message{Body: bodies[3], Group: "group"})
	w.Check()
	w.saw("")
	for _, body := range bodies { // delayed, visible, in flight, behind one in flight
		body[0]++
		w.Check()
		w.saw("was changed after it was sent")
		body[0]--
	}
	bodies[2][0]++
	if err := w.Delete(ctx, queue.Workflow, held.Receipt); err != nil {
		t.Error(err)
	}
	w.saw("was changed after it was sent")
}

func TestPanicsByDefault(t *testing.T) {
	t.Parallel()
	panics := func(what, want string, fn func()) {
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
				t.Errorf("%s: panic %q, want one with %q", what, text, want)
			}
		}()
		fn()
	}
	q := New(queue.Standard(), Options{Clock: time.Now})
	panics("a receipt that was made up", "never issued", func() {
		_ = q.Delete(context.Background(), queue.Timers, "made up")
	})
	panics("no queue for the dead letters", "no queue of its kind", func() {
		New(map[string]queue.Settings{"tasks": {MaxReceives: 1}}, Options{})
	})
}

func TestNextReadyLen(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	expect := func(ready bool, held int, next time.Duration) {
		t.Helper()
		at, ok := w.Next()
		if w.Ready(queue.Timers) != ready || w.Len(queue.Timers) != held || ok != (next > 0) || ok && !at.Equal(w.now.Add(next)) {
			t.Errorf("ready %v, %d held, next %v in %v, want %v, %d, in %v",
				w.Ready(queue.Timers), w.Len(queue.Timers), ok, at.Sub(w.now), ready, held, next)
		}
	}
	expect(false, 0, 0)
	w.send(queue.Timers, queue.Message{Body: []byte("later"), Delay: time.Minute})
	expect(false, 1, time.Minute)
	w.send(queue.Timers, queue.Message{Body: []byte("now")})
	expect(true, 2, time.Minute)
	now := w.receive(queue.Timers)
	expect(false, 2, 30*time.Second)
	w.now = w.now.Add(20 * time.Second)
	expect(false, 2, 10*time.Second)
	if err := w.Delete(context.Background(), queue.Timers, now.Receipt); err != nil {
		t.Error(err)
	}
	expect(false, 1, 40*time.Second)
	w.now = w.now.Add(40 * time.Second)
	expect(true, 1, 0)
	if w.Ready("nobody") || w.Len("nobody") != 0 {
		t.Error("a queue that is not there has messages")
	}
}

// A dump restores the same queue: visible, delayed and in-flight messages, the order of groups, and
// counts.
func TestDump(t *testing.T) {
	t.Parallel()
	w, other := newWatch(t), newWatch(t)
	for _, name := range []string{queue.Workflow, queue.Timers} {
		group := ""
		if name == queue.Workflow {
			group = "group"
		}
		for i := range 5 {
			w.send(name, queue.Message{Body: fmt.Append(nil, i), Group: group})
		}
		taken := w.receive(name)
		if name == queue.Timers {
			w.send(name, queue.Message{Body: []byte("delayed"), Delay: time.Minute})
		}
		all := w.Dump(name)
		if len(all) != w.Len(name) || !slices.IsSortedFunc(all, func(a, b Kept) int { return int(a.ID) - int(b.ID) }) || len(w.Dump("nobody")) > 0 {
			t.Fatalf("%s has %d messages; dumped are %+v", name, w.Len(name), all)
		}
		if err := other.Restore(name, all); err != nil {
			t.Fatal(err)
		}
		other.Restored()
		var bodies []string
		for other.Ready(name) {
			d := other.receive(name)
			bodies = append(bodies, string(d.Body))
			if want := 1 + taken.Received; string(d.Body) == string(taken.Body) && d.Received != want {
				t.Errorf("%s: it is received for time %d, want %d", name, d.Received, want)
			}
			if err := other.Delete(context.Background(), name, d.Receipt); err != nil {
				t.Error(err)
			}
		}
		if group == "" {
			slices.Sort(bodies)
		}
		if !slices.Equal(bodies, []string{"0", "1", "2", "3", "4"}) || other.Len(name) != len(all)-5 {
			t.Errorf("%s: received are %q, and %d are left", name, bodies, other.Len(name))
		}
	}
}

// A deleted message leaves nothing behind.
func TestHoldsNothing(t *testing.T) {
	t.Parallel()
	w, ctx := newWatch(t), context.Background()
	for i := range 1000 {
		w.send(queue.Workflow, queue.Message{Body: []byte("message"), Group: fmt.Sprint(i)})
		w.send(queue.Timers, queue.Message{Body: []byte("message")})
		_ = w.Delete(ctx, queue.Workflow, w.receive(queue.Workflow).Receipt)
		_ = w.Delete(ctx, queue.Timers, w.receive(queue.Timers).Receipt)
	}
	for name, l := range w.lines {
		if len(l.lanes) > 0 || len(l.ready) > 0 || l.held > 0 {
			t.Errorf("%s has %d lanes, %d ready, %d messages", name, len(l.lanes), len(l.ready), l.held)
		}
	}
	if len(w.hidden) > 0 || len(w.inFlight) > 0 {
		t.Errorf("%d hidden, %d in flight", len(w.hidden), len(w.inFlight))
	}
}

// Without a clock of its own the queue uses the system's, which is here the bubble's.
func TestTimeOfDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, ctx := New(queue.Standard(), Options{}), context.Background()
		begin := time.Now()
		receive := func(name string, want time.Duration) {
			t.Helper()
			d, err := q.Receive(ctx, name, 1)
			if at := time.Since(begin); err != nil || len(d) != 1 || at != want {
				t.Fatalf("%d messages after %v, %v, want one after %v", len(d), at, err, want)
			}
		}
		for _, delay := range []time.Duration{time.Minute, 5 * time.Second} { // the second sets the alarm earlier
			if err := q.Send(ctx, queue.Timers, queue.Message{Body: []byte("message"), Delay: delay}); err != nil {
				t.Fatal(err)
			}
		}
		receive(queue.Timers, 5*time.Second)
		receive(queue.Timers, 35*time.Second) // again: its time-out passes before the other is due
		receive(queue.Timers, time.Minute)
		if err := q.Send(ctx, queue.Workflow, queue.Message{Body: []byte("message"), Group: "group"}); err != nil {
			t.Fatal(err)
		}
		receive(queue.Workflow, time.Minute)
		receive(queue.Workflow, time.Minute+30*time.Second)
	})
}

// A send, a receive and a delete cost the same whatever else is in the queue.
func BenchmarkOneAmongMany(b *testing.B) {
	for _, many := range []int{0, 100_000} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			q, ctx := New(queue.Standard(), Options{Clock: func() time.Time { return now }}), context.Background()
			m := queue.Message{Body: []byte("message")}
			for range many {
				_ = q.Send(ctx, queue.Timers, m, queue.Message{Body: m.Body, Delay: time.Minute})
			}
			for b.Loop() {
				_ = q.Send(ctx, queue.Timers, m)
				d, err := q.Receive(ctx, queue.Timers, 1)
				if err != nil {
					b.Fatal(err)
				}
				_ = q.Delete(ctx, queue.Timers, d[0].Receipt)
			}
		})
	}
}
