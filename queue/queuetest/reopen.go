package queuetest

import (
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var reopenTests = []test{
	{"messages survive", reopenMessages},
	{"delays survive", reopenDelays},
	{"counts of receives survive", reopenReceived},
	{"messages in flight become visible", reopenInFlight},
	{"groups keep their order", reopenGroups},
	{"dead letters survive", reopenDead},
	{"dead letters that were moved back survive", reopenRedriven},
	{"again and again", reopenOften},
}

// reopen ends the queues and opens them again. First it receives a message: the port promises that
// a message survives if something survives that was acknowledged after it, and that a receive is
// durable before its delivery.
func (f *fixture) reopen() {
	f.Helper()
	f.quiet(queue.DeadLetters(tasks), time.Time{})
	f.queue = f.open()
}

func reopenMessages(f *fixture) {
	bodies := numbered("message", 25)
	f.send(tasks, "", bodies...)
	f.reopen()
	f.delete(tasks, f.expect(tasks, 1, bodies...)...)
	f.send(tasks, "", "next")
	f.expect(tasks, 1, "next")
}

func reopenDelays(f *fixture) {
	due := f.in(2)
	f.sendAll(tasks, f.delayed("message", 2))
	f.reopen()
	f.quiet(tasks, due)
	f.advance(1.5)
	f.quiet(tasks, due)
	f.advance(0.5)
	f.expect(tasks, 1, "message")
}

func reopenReceived(f *fixture) {
	f.send(tasks, "", "message")
	f.send(orders, "group", "message")
	for received := 1; received <= 3; received++ {
		f.expect(tasks, received, "message")
		f.expect(orders, received, "message")
		f.reopen()
		f.advance(1)
	}
}

// The message becomes visible at once or, at the latest, when its time-out is over.
func reopenInFlight(f *fixture) {
	f.send(tasks, "", "first", "second")
	taken := f.expect(tasks, 1, "first", "second")
	f.extend(tasks, taken[0], 3)
	f.reopen()
	f.advance(3)
	f.delete(tasks, f.expect(tasks, 2, "first", "second")...)
	f.advance(1)
	f.quiet(tasks, time.Time{})
}

func reopenGroups(f *fixture) {
	a, b := numbered("a", 15), numbered("b", 5)
	f.send(orders, "a", a...)
	f.inOrder(f.receive(orders, 1), 1, a[0])
	f.send(orders, "b", b...)
	f.reopen()
	f.send(orders, "b", "b last")
	f.advance(1)
	want := map[string][]string{"a": a, "b": append(b, "b last")}
	for left := len(a) + len(b) + 1; left > 0; {
		for group, part := range byGroup(f.receive(orders, 4)) {
			f.inOrder(part, 0, want[group][:len(part)]...)
			want[group] = want[group][len(part):]
			f.delete(orders, part...)
			left -= len(part)
		}
	}
}

// After a reopening, a message that was given back may be in flight again: the receive is durable,
// and giving it back is not.
func reopenDead(f *fixture) {
	f.send(fragile, "", "message")
	f.send(fragileOrders, "group", "message")
	for received := 1; received <= limit; received++ {
		f.giveBack(fragile, f.expect(fragile, received, "message")...)
		f.giveBack(fragileOrders, f.expect(fragileOrders, received, "message")...)
		f.reopen()
		f.advance(1)
	}
	f.giveBack(queue.DeadLetters(fragile), f.deadLetters(fragile, "message")...)
	f.reopen()
	f.advance(1)
	f.expect(queue.DeadLetters(fragile), 0, "message")
	f.deadLetters(fragileOrders, "message")
}

func reopenOften(f *fixture) {
	for round := range 5 {
		f.send(tasks, "", fmt.Sprint("message ", round))
		f.reopen()
	}
	f.expect(tasks, 1, numbered("message", 5)...)
}

func reopenRedriven(f *fixture) {
	if !f.Redrives {
		return
	}
	f.die(fragile, "", "message")
	f.redrive(fragile)
	f.reopen()
	f.delete(fragile, f.expect(fragile, 1, "message")...)
	f.quiet(queue.DeadLetters(fragile), time.Time{})
	f.quiet(fragile, time.Time{})
}
