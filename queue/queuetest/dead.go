package queuetest

import (
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var deadTests = []test{
	{"a message that was given back too often moves", deadGivenBack},
	{"a message that timed out too often moves", deadTimedOut},
	{"a message that is deleted in time does not", deadDeleted},
	{"a group keeps its order and continues", deadGroup},
	{"several dead letters of a group keep their order", deadGroupOrder},
	{"dead letters are redelivered too", deadAgain},
}

// deadLetters demands that these messages move from a queue to its dead letters, at the latest when
// somebody asks the queue for messages once more. It receives and returns them.
func (f *fixture) deadLetters(name string, bodies ...string) []queue.Delivery {
	f.Helper()
	dead := queue.DeadLetters(name)
	var taken []queue.Delivery
	for range bodies {
		f.quiet(name, time.Time{})
		taken = append(taken, f.receive(dead, 1)...)
		if f.settings()[dead].FIFO {
			f.delete(dead, taken[len(taken)-1]) // or the next one of its group waits
		}
	}
	got := texts(taken)
	if !f.settings()[dead].FIFO {
		slices.Sort(got)
	}
	if !slices.Equal(got, bodies) {
		f.Fatalf("dead letters of %s: %q, want %q", name, got, bodies)
	}
	return taken
}

func deadGivenBack(f *fixture) {
	f.send(fragile, "", "message")
	for received := 1; received <= limit; received++ {
		f.quiet(queue.DeadLetters(fragile), time.Time{})
		f.giveBack(fragile, f.expect(fragile, received, "message")...)
	}
	f.delete(queue.DeadLetters(fragile), f.deadLetters(fragile, "message")...)
	f.advance(2)
	f.quiet(fragile, time.Time{})
	f.quiet(queue.DeadLetters(fragile), time.Time{})
}

func deadTimedOut(f *fixture) {
	bodies := numbered("message", 5)
	f.send(fragile, "", bodies...)
	for received := 1; received <= limit; received++ {
		f.quiet(queue.DeadLetters(fragile), time.Time{})
		f.expect(fragile, received, bodies...)
		f.quiet(fragile, f.in(0.5))
		f.advance(1)
	}
	f.deadLetters(fragile, bodies...)
}

func deadDeleted(f *fixture) {
	f.send(fragile, "", "message")
	for received := 1; received < limit; received++ {
		f.giveBack(fragile, f.expect(fragile, received, "message")...)
	}
	f.delete(fragile, f.expect(fragile, limit, "message")...)
	f.advance(2)
	f.quiet(fragile, time.Time{})
	f.quiet(queue.DeadLetters(fragile), time.Time{})
}

func deadGroup(f *fixture) {
	f.send(fragileOrders, "group", "bad", "good", "last")
	for received := 1; received <= limit; received++ {
		d := f.receive(fragileOrders, 1)
		f.inOrder(d, received, "bad")
		f.giveBack(fragileOrders, d...)
	}
	f.drain(fragileOrders, 1, "good", "last")
	if dead := f.deadLetters(fragileOrders, "bad")[0]; dead.Group != "group" {
		f.Errorf("the dead letter has the group %q", dead.Group)
	}
}

func deadGroupOrder(f *fixture) {
	bodies := numbered("message", 4)
	f.send(fragileOrders, "group", bodies...)
	for received := 1; received <= limit; received++ {
		f.wholeGroup(fragileOrders, received, bodies...)
		f.advance(1)
	}
	f.deadLetters(fragileOrders, bodies...)
}

func deadAgain(f *fixture) {
	dead := queue.DeadLetters(fragile)
	f.send(fragile, "", "message")
	for range limit {
		f.giveBack(fragile, f.expect(fragile, 0, "message")...)
	}
	f.giveBack(dead, f.deadLetters(fragile, "message")...)
	for range 2 * limit {
		f.expect(dead, 0, "message")
		f.quiet(dead, f.in(0.5))
		f.advance(1)
	}
	f.delete(dead, f.expect(dead, 0, "message")...)
}
