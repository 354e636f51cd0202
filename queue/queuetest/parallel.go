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

// work is the state that parallel receivers share.
type work struct {
	*fixture
	name      string
	ctx       context.Context // ends when all messages are done, or the test has failed
	stop      context.CancelFunc
	mu        sync.Mutex
	left      int               // messages that are not done
	since     map[int]time.Time // by receiver with a batch: when it began to wait for it
	slow      bool              // a batch took longer than its visibility time-out: its messages may be redelivered
	overtaken bool              // a delivery may be such a redelivery
}

// work returns the state of receivers of a queue that have this many messages to handle.
func (f *fixture) work(name string, messages int) *work {
	w := &work{fixture: f, name: name, left: messages, since: map[int]time.Time{}}
	w.ctx, w.stop = context.WithCancel(f.Context())
	return w
}

// do runs n receivers, which pass each batch to fn, until all messages are done. fn returns how
// many messages are done after it.
func (w *work) do(n int, fn func(batch []queue.Delivery) int) {
	defer w.stop()
	var receivers sync.WaitGroup
	for r := range n {
		limit := 1 + (r*3)%queue.MaxBatch
		if w.GroupLeaks && w.settings()[w.name].FIFO {
			limit = 1
		}
		receivers.Go(func() { w.receiver(r, limit, fn) })
	}
	receivers.Wait()
	if w.overtaken {
		w.Skip("the clock has overtaken the test")
	}
}

func (w *work) receiver(r, limit int, fn func(batch []queue.Delivery) int) {
	for w.ctx.Err() == nil {
		began := w.clock.Now()
		batch, err := w.queue.Receive(w.ctx, w.name, limit)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				w.fail("Receive: %v", err)
			}
			return
		}
		w.mu.Lock()
		w.since[r] = began
		w.mu.Unlock()
		done := fn(batch)
		w.mu.Lock()
		w.slow = w.isSlow()
		delete(w.since, r)
		if w.left -= done; w.left <= 0 {
			w.stop()
		}
		w.mu.Unlock()
	}
}

// fail ends the test from any goroutine, so that no receiver waits forever.
func (w *work) fail(format string, args ...any) {
	w.Errorf(format, args...)
	w.stop()
}

// isSlow reports whether a batch has taken longer than its visibility time-out. The caller holds
// the lock.
func (w *work) isSlow() bool {
	slow := w.slow
	for _, began := range w.since {
		slow = slow || !w.clock.Now().Before(began.Add(w.Visibility))
	}
	return slow
}

// wrong is fail for a redelivery or a wrong order. It reports no error if a visibility time-out has
// passed, which explains them: the clock of a server runs by itself.
func (w *work) wrong(format string, args ...any) {
	w.mu.Lock()
	slow := w.isSlow()
	w.overtaken = w.overtaken || slow
	w.mu.Unlock()
	if !slow {
		w.Errorf(format, args...)
	}
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

// tally counts the deliveries of each message.
type tally struct {
	mu    sync.Mutex
	times map[string]int
}

// count counts a delivery, and returns the number of earlier deliveries of its message.
func (t *tally) count(d queue.Delivery) (before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before = t.times[string(d.Body)]
	t.times[string(d.Body)]++
	return before
}

// The handlers of 300 messages give every seventh one back at its first delivery, and leave every
// eleventh one in flight instead of deleting it.
func givenBack(i int) bool { return i%7 == 0 }
func left(i int) bool      { return i%11 == 0 }

// comes returns how many times message i is delivered before the first time-out.
func comes(i int) int {
	if givenBack(i) {
		return 2
	}
	return 1
}

func parallelStandard(f *fixture) {
	const messages, receivers = 300, 12
	bodies := numbered("message", messages)
	f.send(tasks, "", bodies...)
	t := &tally{times: map[string]int{}}
	w := f.work(tasks, messages)
	w.do(receivers, func(batch []queue.Delivery) (done int) {
		for _, d := range batch {
			before, i := t.count(d), slices.Index(bodies, string(d.Body))
			switch {
			case i < 0 || before > 0 && d.Received == 1:
				w.fail("%s was redelivered as a first delivery", d.Body)
			case before+1 < comes(i):
				w.giveBackOne(d)
			case !left(i):
				w.deleteOne(d)
			}
			if before+1 == comes(i) {
				done++
			}
		}
		return done
	})
	f.advance(1)
	var lost []string
	for i, body := range bodies {
		if left(i) {
			lost = append(lost, body)
		}
		if got := t.times[body]; got < comes(i) || got > comes(i) && !f.Duplicates {
			f.Errorf("%s was delivered %d times, want %d", body, got, comes(i))
		}
	}
	f.delete(tasks, f.expect(tasks, 0, lost...)...)
	f.advance(1)
	f.quiet(tasks, time.Time{})
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
