package queuetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var parallelTests = []test{
	{"300 messages and 12 receivers", parallelStandard},
	{"12 groups and 8 receivers", parallelFIFO},
	{"senders and receivers at once", parallelBoth},
}

// work is what receivers in parallel share.
type work struct {
	*fixture
	name string
	ctx  context.Context // ends when all is done, or the test has failed
	stop context.CancelFunc
	mu   sync.Mutex
	left int // messages that are not done yet
}

// work returns what receivers of a queue share that have this many messages to do.
func (f *fixture) work(name string, messages int) *work {
	w := &work{fixture: f, name: name, left: messages}
	w.ctx, w.stop = context.WithCancel(f.Context())
	return w
}

// do lets n receivers receive, and hand each batch to fn, until all messages are done. fn returns how many it did.
func (w *work) do(n int, fn func(batch []queue.Delivery) int) {
	defer w.stop()
	var receivers sync.WaitGroup
	for r := range n {
		receivers.Go(func() { w.receiver(1+(r*3)%queue.MaxBatch, fn) })
	}
	receivers.Wait()
}

func (w *work) receiver(limit int, fn func(batch []queue.Delivery) int) {
	for w.ctx.Err() == nil {
		batch, err := w.queue.Receive(w.ctx, w.name, limit)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				w.fail("Receive: %v", err)
			}
			return
		}
		done := fn(batch)
		w.mu.Lock()
		if w.left -= done; w.left <= 0 {
			w.stop()
		}
		w.mu.Unlock()
	}
}

// fail ends the test from any goroutine: a receiver that went on would wait for what may never come.
func (w *work) fail(format string, args ...any) {
	w.Errorf(format, args...)
	w.stop()
}

func (w *work) deleteOne(d queue.Delivery) {
	if err := w.queue.Delete(w.Context(), w.name, d.Receipt); err != nil {
		w.fail("Delete: %v", err)
	}
}

func (w *work) giveBackOne(d queue.Delivery) {
	if err := w.queue.Extend(w.Context(), w.name, d.Receipt, 0); err != nil {
		w.fail("Extend: %v", err)
	}
}

// tally counts how often each message came.
type tally struct {
	mu    sync.Mutex
	times map[string]int
}

// count counts a message and returns how often it came before.
func (t *tally) count(d queue.Delivery) (before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before = t.times[string(d.Body)]
	t.times[string(d.Body)]++
	return before
}

// The first time that it comes, every seventh message is given back. When it should be deleted, every eleventh is left
// in flight.
func parallelStandard(f *fixture) {
	const messages, receivers = 300, 12
	givenBack := func(i int) bool { return i%7 == 0 }
	left := func(i int) bool { return i%11 == 0 }
	bodies := numbered("message", messages)
	f.send(tasks, "", bodies...)
	t := &tally{times: map[string]int{}}
	w := f.work(tasks, messages)
	w.do(receivers, func(batch []queue.Delivery) (done int) {
		for _, d := range batch {
			before, i := t.count(d), slices.Index(bodies, string(d.Body))
			last := 0
			if givenBack(i) {
				last = 1
			}
			switch {
			case i < 0 || before > 0 && d.Received == 1:
				w.fail("%s came as if it had never come before", d.Body)
			case before < last:
				w.giveBackOne(d)
				continue
			case !left(i):
				w.deleteOne(d)
			}
			if before == last {
				done++
			}
		}
		return done
	})
	f.advance(1)
	lost := slices.DeleteFunc(slices.Clone(bodies), func(body string) bool { return !left(slices.Index(bodies, body)) })
	f.delete(tasks, f.expect(tasks, 0, lost...)...)
	f.advance(1)
	f.quiet(tasks, time.Time{})
	for i, body := range bodies {
		want := 1
		if givenBack(i) {
			want++
		}
		if got := t.times[body]; got < want || got > want && !f.Duplicates {
			f.Errorf("%s came %d times, want %d", body, got, want)
		}
	}
}

// groups watches who handles what of which group.
type groups struct {
	mu     sync.Mutex
	holder map[string]int // batches of the group that are being handled
	next   map[string]int // the number of the message that comes next
	failed map[string]bool
}

// parallelFIFO gives every fifth message back once, with all that came after it in its batch.
func parallelFIFO(f *fixture) {
	const names, each, receivers = 12, 20, 8
	for n := range each {
		for start := 0; start < names; start += queue.MaxBatch {
			var batch []queue.Message
			for g := start; g < min(start+queue.MaxBatch, names); g++ {
				batch = append(batch, queue.Message{Body: fmt.Append(nil, n), Group: fmt.Sprint("group ", g)})
			}
			f.sendAll(orders, batch...)
		}
	}
	g := &groups{holder: map[string]int{}, next: map[string]int{}, failed: map[string]bool{}}
	w := f.work(orders, names*each)
	w.do(receivers, func(batch []queue.Delivery) (done int) {
		for name, part := range byGroup(batch) {
			done += g.handle(w, name, part)
		}
		return done
	})
	if f.Failed() {
		return
	}
	f.advance(1)
	f.quiet(orders, time.Time{})
	for name, next := range g.next {
		if next != each {
			f.Errorf("%d of %d messages of %s were handled", next, each, name)
		}
	}
}

func byGroup(batch []queue.Delivery) map[string][]queue.Delivery {
	parts := map[string][]queue.Delivery{}
	for _, d := range batch {
		parts[d.Group] = append(parts[d.Group], d)
	}
	return parts
}

// handle handles what a batch has of one group. What it does last lets the group go, so it says before that the group
// is free.
func (g *groups) handle(w *work, name string, part []queue.Delivery) (done int) {
	g.mu.Lock()
	if g.holder[name]++; g.holder[name] > 1 {
		w.fail("%s is handled twice at the same time", name)
	}
	back := len(part) // from here on messages are given back
	for i, d := range part {
		n := g.next[name]
		if string(d.Body) != fmt.Sprint(n) {
			w.fail("message %s of %s came, want %d", d.Body, name, n)
		}
		if key := fmt.Sprint(name, n); n%5 == 4 && !g.failed[key] {
			g.failed[key] = true
			back = i
			break
		}
		g.next[name]++
	}
	g.mu.Unlock()
	yield(20) // so that others could get in the way
	for i, d := range part[:back] {
		if i == len(part)-1 {
			g.free(name)
		}
		w.deleteOne(d)
	}
	for i := len(part) - 1; i >= back; i-- {
		if i == back {
			g.free(name)
		}
		w.giveBackOne(part[i])
	}
	return back
}

func (g *groups) free(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holder[name]--
}

func parallelBoth(f *fixture) {
	const senders, each, receivers = 6, 30, 6
	w := f.work(tasks, senders*each)
	var sending sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for i := range each {
				if err := f.queue.Send(f.Context(), tasks, queue.Message{Body: fmt.Appendf(nil, "%d of %d", i, s)}); err != nil {
					w.fail("Send: %v", err)
				}
			}
		})
	}
	t := &tally{times: map[string]int{}}
	w.do(receivers, func(batch []queue.Delivery) (done int) {
		for _, d := range batch {
			if t.count(d) == 0 {
				done++
			}
			w.deleteOne(d)
		}
		return done
	})
	sending.Wait()
	f.quiet(tasks, time.Time{})
}
