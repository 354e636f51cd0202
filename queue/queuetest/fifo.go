package queuetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var fifoTests = []test{
	{"a group keeps its order", fifoOrder},
	{"a batch holds several messages of a group in order", fifoBatch},
	{"a group waits while one of its messages is in flight", fifoBlocked},
	{"other groups continue", fifoOthers},
	{"a group waits for all of a batch", fifoBatchBlocks},
	{"redelivered messages arrive in order", fifoAgain},
	{"a message that is given back does not pass one in flight", fifoGiveBack},
	{"new messages arrive after redelivered ones", fifoSentMeanwhile},
}

// wholeGroup receives all messages of a group, in one batch or in several, and leaves them in
// flight. If the adapter delivers them one by one, it skips the test.
func (f *fixture) wholeGroup(name string, received int, bodies ...string) []queue.Delivery {
	f.Helper()
	batch := f.receive(name, len(bodies))
	if len(batch) < len(bodies) {
		f.Skipf("%d of %d messages of a group came in one batch", len(batch), len(bodies))
	}
	f.inOrder(batch, received, bodies...)
	return batch
}

// inOrder demands that a batch has these bodies, in order, each received this many times; 0 means
// any number.
func (f *fixture) inOrder(batch []queue.Delivery, received int, bodies ...string) {
	f.Helper()
	if !slices.Equal(texts(batch), bodies) {
		f.Fatalf("received %q, want %q", brief(texts(batch)...), brief(bodies...))
	}
	for _, d := range batch {
		if received > 0 && d.Received != received {
			f.Errorf("%s was received %d times, want %d", d.Body, d.Received, received)
		}
	}
}

// drain receives and deletes messages until it has had these, in order.
func (f *fixture) drain(name string, limit int, bodies ...string) {
	f.Helper()
	for len(bodies) > 0 {
		batch := f.receive(name, min(limit, len(bodies)))
		f.inOrder(batch, 0, bodies[:len(batch)]...)
		f.delete(name, batch...)
		bodies = bodies[len(batch):]
	}
}

func fifoOrder(f *fixture) {
	bodies := numbered("message", 25)
	for _, limit := range []int{1, 3, queue.MaxBatch} {
		f.send(orders, "group", bodies...)
		f.drain(orders, limit, bodies...)
		for _, body := range bodies {
			f.send(orders, "group", body)
		}
		f.drain(orders, limit, bodies...)
	}
	f.quiet(orders, time.Time{})
}

func fifoBatch(f *fixture) {
	var messages []queue.Message
	for i := range queue.MaxBatch {
		group := []string{"a", "b", "c"}[i%3]
		messages = append(messages, queue.Message{Body: []byte(fmt.Sprint(group, i)), Group: group})
	}
	f.sendAll(orders, messages...)
	last := map[string]string{}
	for received := 0; received < len(messages); {
		batch := f.receive(orders, queue.MaxBatch)
		for _, d := range batch {
			if string(d.Body) <= last[d.Group] || string(d.Body[:1]) != d.Group {
				f.Errorf("%s of group %s came after %q", d.Body, d.Group, last[d.Group])
			}
			last[d.Group] = string(d.Body)
		}
		received += len(batch)
		f.delete(orders, batch...)
	}
	f.quiet(orders, time.Time{})
}

func fifoBlocked(f *fixture) {
	f.send(orders, "group", "first", "second", "third")
	visible := f.in(1)
	first := f.receive(orders, 1)
	f.inOrder(first, 1, "first")
	f.quiet(orders, visible)
	f.send(orders, "group", "fourth")
	f.quiet(orders, visible)
	f.delete(orders, first...)
	f.drain(orders, 1, "second", "third", "fourth")
	f.quiet(orders, time.Time{})
}

func fifoOthers(f *fixture) {
	f.send(orders, "a", "a1", "a2")
	const long = 10 // visibility time-outs, enough for the rest on a server whose clock runs by itself
	held := f.receive(orders, 1)
	f.inOrder(held, 1, "a1")
	visible := f.in(long)
	f.extend(orders, held[0], long)
	for i := range 5 {
		group := fmt.Sprint("b", i)
		f.send(orders, group, group+" first", group+" second")
		f.drain(orders, 1, group+" first", group+" second")
	}
	f.quiet(orders, visible)
	f.delete(orders, held...)
	f.drain(orders, 1, "a2")
}

func fifoBatchBlocks(f *fixture) {
	f.send(orders, "group", "first", "second", "third")
	visible := f.in(1)
	batch := f.wholeGroup(orders, 1, "first", "second")
	f.quiet(orders, visible)
	f.delete(orders, batch[0])
	f.quiet(orders, visible)
	f.delete(orders, batch[1])
	f.drain(orders, 1, "third")

	f.send(orders, "group", "first", "second", "third")
	visible = f.in(1)
	batch = f.wholeGroup(orders, 1, "first", "second")
	f.delete(orders, batch[1]) // the later one first
	f.quiet(orders, visible)
	f.delete(orders, batch[0])
	f.drain(orders, 1, "third")
}

func fifoAgain(f *fixture) {
	bodies := numbered("message", 4)
	f.send(orders, "group", bodies...)
	f.wholeGroup(orders, 1, bodies[:3]...)
	f.quiet(orders, f.in(0.5))
	f.advance(1)
	first := f.receive(orders, 1)
	f.inOrder(first, 2, bodies[0])
	f.quiet(orders, f.in(0.5))
	f.delete(orders, first...)
	f.drain(orders, 2, bodies[1:]...)
	f.quiet(orders, time.Time{})
}

func fifoGiveBack(f *fixture) {
	if !f.GroupLeaks {
		f.send(orders, "group", "first", "second", "third")
		visible := f.in(1)
		batch := f.wholeGroup(orders, 1, "first", "second")
		f.giveBack(orders, batch[1]) // the message before it is in flight
		f.quiet(orders, visible)
		f.giveBack(orders, batch[0])
		f.drain(orders, 1, "first", "second", "third")
	}
	f.send(orders, "group", "first", "second")
	first := f.receive(orders, 1)
	f.delete(orders, first...)
	second := f.receive(orders, 1)
	f.inOrder(second, 1, "second")
	f.giveBack(orders, second...)
	f.inOrder(f.receive(orders, 1), 2, "second")
}

func fifoSentMeanwhile(f *fixture) {
	f.send(orders, "group", "first")
	f.inOrder(f.receive(orders, 1), 1, "first")
	f.send(orders, "group", "second")
	f.advance(1)
	f.send(orders, "group", "third")
	f.drain(orders, 1, "first", "second", "third")
}
