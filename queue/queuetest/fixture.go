package queuetest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// fixture is a test with its queues.
type fixture struct {
	*testing.T
	Harness
	open   func() Queue
	queue  Queue
	clock  Clock
	probes int
	waits  int
}

func newFixture(t *testing.T, h Harness) *fixture {
	f := &fixture{T: t, Harness: h}
	f.open, f.clock = h.New(t, h.settings())
	f.queue = f.open()
	return f
}

// advance moves the clock by this many visibility time-outs.
func (f *fixture) advance(timeouts float64) {
	f.clock.Advance(time.Duration(timeouts * float64(f.Visibility)))
}

// in returns the time after this many visibility time-outs.
func (f *fixture) in(timeouts float64) time.Time {
	return f.clock.Now().Add(time.Duration(timeouts * float64(f.Visibility)))
}

// send sends messages with these bodies, in batches as large as possible. The group is "" for a
// standard queue.
func (f *fixture) send(name, group string, bodies ...string) {
	f.Helper()
	for batch := range slices.Chunk(bodies, queue.MaxBatch) {
		var messages []queue.Message
		for _, body := range batch {
			messages = append(messages, queue.Message{Body: []byte(body), Group: group})
		}
		f.sendAll(name, messages...)
	}
}

func (f *fixture) sendAll(name string, messages ...queue.Message) {
	f.Helper()
	if err := f.queue.Send(f.Context(), name, messages...); err != nil {
		f.Fatalf("Send to %s: %v", name, err)
	}
}

// receive receives once and checks what holds for every batch.
func (f *fixture) receive(name string, limit int) []queue.Delivery {
	f.Helper()
	deliveries, err := f.queue.Receive(f.Context(), name, limit)
	if err != nil {
		f.Fatalf("Receive from %s: %v", name, err)
	}
	if len(deliveries) < 1 || len(deliveries) > limit {
		f.Errorf("Receive from %s: %d messages, want between 1 and %d", name, len(deliveries), limit)
	}
	receipts := map[string]bool{}
	for _, d := range deliveries {
		if d.Receipt == "" || receipts[d.Receipt] || d.Received < 1 {
			f.Errorf("Receive from %s: %q with the receipt %q, received %d times", name, brief(string(d.Body)), d.Receipt, d.Received)
		}
		receipts[d.Receipt] = true
	}
	return deliveries
}

// take receives until it has n messages, and returns them in the order of their arrival. It leaves
// out duplicates if the harness permits them.
func (f *fixture) take(name string, n int) []queue.Delivery {
	f.Helper()
	var taken []queue.Delivery
	seen := map[string]int{}
	for len(taken) < n {
		for _, d := range f.receive(name, min(n-len(taken), queue.MaxBatch)) {
			if again := seen[string(d.Body)] > 0; again && f.Duplicates && d.Received > 1 {
				continue
			}
			seen[string(d.Body)]++
			taken = append(taken, d)
		}
	}
	return taken
}

// expect receives messages with these bodies and returns them in this order. They may arrive in any
// order from a standard queue. received is how many times each has then been received; 0 means any
// number.
func (f *fixture) expect(name string, received int, bodies ...string) []queue.Delivery {
	f.Helper()
	taken := f.take(name, len(bodies))
	if !f.settings()[name].FIFO {
		place := func(d queue.Delivery) int { return slices.Index(bodies, string(d.Body)) }
		slices.SortStableFunc(taken, func(a, b queue.Delivery) int { return place(a) - place(b) })
	}
	for i, d := range taken {
		if string(d.Body) != bodies[i] {
			f.Fatalf("received %q from %s, want %q", brief(texts(taken)...), name, brief(bodies...))
		}
		if received > 0 && d.Received != received && !(f.Duplicates && d.Received > received) {
			f.Errorf("%q was received %d times, want %d", brief(bodies[i]), d.Received, received)
		}
	}
	return taken
}

// quiet demands that nothing is delivered before a moment except a probe that it sends now. The
// zero moment means never. It skips the test if the clock runs by itself and has already passed the
// moment.
func (f *fixture) quiet(name string, until time.Time) {
	f.Helper()
	f.probes++
	probe := fmt.Sprint("probe ", f.probes)
	group := ""
	if f.settings()[name].FIFO {
		group = probe
	}
	f.send(name, group, probe)
	for found := false; !found; {
		for _, d := range f.receive(name, queue.MaxBatch) {
			switch {
			case string(d.Body) == probe:
				found = true
				f.delete(name, d)
			case !until.IsZero() && !f.clock.Now().Before(until):
				f.Skip("the clock has overtaken the test")
			case f.Duplicates && d.Received > 1:
			default:
				f.Fatalf("%q, received %d times, was delivered by %s too early", brief(string(d.Body)), d.Received, name)
			}
		}
	}
}

func (f *fixture) delete(name string, deliveries ...queue.Delivery) {
	f.Helper()
	for batch := range slices.Chunk(receipts(deliveries), queue.MaxBatch) {
		if err := f.queue.Delete(f.Context(), name, batch...); err != nil {
			f.Fatalf("Delete from %s: %v", name, err)
		}
	}
}

// extend keeps a message in flight for this many visibility time-outs from now.
func (f *fixture) extend(name string, d queue.Delivery, timeouts float64) {
	f.Helper()
	if err := f.queue.Extend(f.Context(), name, d.Receipt, time.Duration(timeouts*float64(f.Visibility))); err != nil {
		f.Fatalf("Extend in %s: %v", name, err)
	}
}

// giveBack makes messages visible at once, the last one first, so that nothing of a group is
// delivered before all of it is back.
func (f *fixture) giveBack(name string, deliveries ...queue.Delivery) {
	f.Helper()
	for _, d := range slices.Backward(deliveries) {
		f.extend(name, d, 0)
	}
}

// answer is the result of a Receive.
type answer struct {
	deliveries []queue.Delivery
	err        error
}

// waiting starts n receivers that each wait for one message. It returns while they may not have
// begun to wait, which varies. The test reads an answer of each.
func (f *fixture) waiting(name string, n int) <-chan answer {
	answers := make(chan answer, n)
	var started sync.WaitGroup
	for range n {
		started.Add(1)
		go func() {
			started.Done()
			d, err := f.queue.Receive(f.Context(), name, 1)
			answers <- answer{d, err}
		}()
	}
	started.Wait()
	f.waits++
	yield(f.waits * f.waits % 29)
	return answers
}

// yield lets other goroutines run for a while. Nothing depends on whether they do.
func yield(n int) {
	for range n {
		runtime.Gosched()
	}
}

// answered demands that one receiver has received one message.
func (f *fixture) answered(answers <-chan answer) queue.Delivery {
	f.Helper()
	a := <-answers
	if a.err != nil || len(a.deliveries) != 1 {
		f.Fatalf("a Receive that waited returned %q, %v, want one message", brief(texts(a.deliveries)...), a.err)
	}
	return a.deliveries[0]
}

func receipts(deliveries []queue.Delivery) []string {
	var r []string
	for _, d := range deliveries {
		r = append(r, d.Receipt)
	}
	return r
}

func texts(deliveries []queue.Delivery) []string {
	var t []string
	for _, d := range deliveries {
		t = append(t, string(d.Body))
	}
	return t
}

// brief shortens bodies for error messages.
func brief(bodies ...string) []string {
	const enough = 60
	var b []string
	for _, body := range bodies {
		if len(body) > enough {
			body = fmt.Sprintf("%s... of %d bytes", body[:enough], len(body))
		}
		b = append(b, body)
	}
	return b
}

// numbered returns n bodies that begin with prefix.
func numbered(prefix string, n int) []string {
	var bodies []string
	for i := range n {
		bodies = append(bodies, fmt.Sprintf("%s %d", prefix, i))
	}
	return bodies
}
