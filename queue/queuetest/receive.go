package queuetest

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var receiveTests = []test{
	{"returns when its context ends", receiveCanceled},
	{"returns when its context has ended", receiveEnded},
	{"wakes on a Send", receiveWakesOnSend},
	{"never misses a Send", receiveInStep},
	{"wakes each of many receivers", receiveWakesMany},
	{"wakes when a delay is over", receiveWakesOnDelay},
	{"wakes on a time-out", receiveWakesOnTimeout},
	{"wakes on a message that is given back", receiveWakesOnGiveBack},
	{"wakes when a group is free", receiveWakesOnDelete},
	{"wakes on a dead letter", receiveWakesOnDeadLetter},
}

func receiveCanceled(f *fixture) {
	for _, name := range []string{tasks, orders} {
		ctx, cancel := context.WithCancel(f.Context())
		answers := make(chan answer)
		go func() {
			d, err := f.queue.Receive(ctx, name, 1)
			answers <- answer{d, err}
		}()
		yield(100)
		cancel()
		if a := <-answers; !errors.Is(a.err, context.Canceled) || len(a.deliveries) > 0 {
			f.Errorf("Receive returned %q, %v, want the error of its context", texts(a.deliveries), a.err)
		}
	}
	f.send(tasks, "", "message")
	f.expect(tasks, 1, "message")
	f.send(orders, "group", "message")
	f.expect(orders, 1, "message")
}

func receiveEnded(f *fixture) {
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	if d, err := f.queue.Receive(ctx, tasks, 1); !errors.Is(err, context.Canceled) || len(d) > 0 {
		f.Errorf("Receive returned %q, %v, want the error of its context", texts(d), err)
	}
	late, cancel := context.WithTimeout(f.Context(), 1)
	defer cancel()
	if d, err := f.queue.Receive(late, tasks, 1); !errors.Is(err, context.DeadlineExceeded) || len(d) > 0 {
		f.Errorf("Receive returned %q, %v, want the error of its context", texts(d), err)
	}
}

func receiveWakesOnSend(f *fixture) {
	for range 20 {
		answers := f.waiting(tasks, 1)
		f.send(tasks, "", "message")
		f.delete(tasks, f.answered(answers))

		answers = f.waiting(orders, 1)
		f.send(orders, "group", "message")
		f.delete(orders, f.answered(answers))
	}
}

// receiveInStep sends each message after the previous one has been received, while the receiver
// begins to wait.
func receiveInStep(f *fixture) {
	const rounds = 100
	received := make(chan answer, rounds)
	go func() {
		for range rounds {
			d, err := f.queue.Receive(f.Context(), tasks, 1)
			received <- answer{d, err}
		}
	}()
	for range rounds {
		f.send(tasks, "", "message")
		f.delete(tasks, f.answered(received))
	}
}

func receiveWakesMany(f *fixture) {
	const n = 2 * queue.MaxBatch
	answers := f.waiting(tasks, n)
	f.send(tasks, "", numbered("message", n)...)
	for range n {
		f.delete(tasks, f.answered(answers))
	}
	answers = f.waiting(orders, n)
	for _, body := range numbered("message", n) {
		f.send(orders, body, body)
	}
	for range n {
		f.delete(orders, f.answered(answers))
	}
}

func receiveWakesOnDelay(f *fixture) {
	due := f.in(1)
	f.sendAll(tasks, queue.Message{Body: []byte("message"), Delay: f.Visibility})
	answers := f.waiting(tasks, 1)
	f.advance(1)
	if d := f.answered(answers); f.clock.Now().Before(due) {
		f.Errorf("%s came before it was due", d.Body)
	}
}

func receiveWakesOnTimeout(f *fixture) {
	for _, name := range []string{tasks, orders} {
		group := ""
		if name == orders {
			group = "group"
		}
		f.send(name, group, "message")
		f.expect(name, 1, "message")
		answers := f.waiting(name, 1)
		f.advance(1)
		if d := f.answered(answers); d.Received != 2 {
			f.Errorf("received %d times, want 2", d.Received)
		}
	}
}

func receiveWakesOnGiveBack(f *fixture) {
	for _, name := range []string{tasks, orders} {
		group := ""
		if name == orders {
			group = "group"
		}
		f.send(name, group, "message")
		for received := 1; received < 10; received += 2 {
			d := f.expect(name, received, "message")[0]
			answers := f.waiting(name, 1)
			f.giveBack(name, d)
			f.giveBack(name, f.answered(answers))
		}
	}
}

func receiveWakesOnDelete(f *fixture) {
	f.send(orders, "group", numbered("message", 20)...)
	d := f.receive(orders, 1)[0]
	for range 19 {
		answers := f.waiting(orders, 1)
		f.delete(orders, d)
		d = f.answered(answers)
	}
	if string(d.Body) != "message 19" {
		f.Errorf("%s was the last, want message 19", d.Body)
	}
}

func receiveWakesOnDeadLetter(f *fixture) {
	for _, name := range []string{fragile, fragileOrders} {
		group := ""
		if name == fragileOrders {
			group = "group"
		}
		f.send(name, group, "message")
		answers := f.waiting(queue.DeadLetters(name), 1)
		for range limit {
			f.expect(name, 0, "message")
			f.advance(1)
		}
		f.quiet(name, time.Time{}) // it moves at the latest when somebody asks for it once more
		f.delete(queue.DeadLetters(name), f.answered(answers))
	}
}
