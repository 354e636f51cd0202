package queuetest

import (
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

var visibilityTests = []test{
	{"a message in flight is redelivered after the timeout", visibilityTimeout},
	{"each delivery has its own timeout", visibilitySeparate},
	{"an extended message is redelivered later", visibilityExtend},
	{"a shortened message is redelivered sooner", visibilityShorten},
	{"a message that is given back is redelivered at once", visibilityGiveBack},
	{"extending a message that is not in flight does nothing", visibilityStale},
	{"without a limit a message is redelivered forever", visibilityForever},
}

var deleteTests = []test{
	{"a deleted message is not redelivered", deleteOne},
	{"other messages stay", deleteOthers},
	{"deleting twice, and with an old receipt", deleteStale},
	{"a batch with receipts that are no longer valid", deleteBatch},
}

func visibilityTimeout(f *fixture) {
	f.send(tasks, "", "message")
	seen := map[string]bool{}
	for received := 1; received <= 4; received++ {
		visible := f.in(1)
		d := f.expect(tasks, received, "message")[0]
		if seen[d.Receipt] {
			f.Errorf("the receipt %q was issued twice", d.Receipt)
		}
		seen[d.Receipt] = true
		f.quiet(tasks, visible)
		f.advance(0.75)
		f.quiet(tasks, visible)
		f.advance(0.25)
	}
}

func visibilitySeparate(f *fixture) {
	f.send(tasks, "", "first")
	first := f.in(1)
	f.expect(tasks, 1, "first")
	f.advance(0.5)
	f.send(tasks, "", "second")
	second := f.in(1)
	f.expect(tasks, 1, "second")
	f.quiet(tasks, first)
	f.advance(0.5)
	f.delete(tasks, f.expect(tasks, 2, "first")...)
	f.quiet(tasks, second)
	f.advance(0.5)
	f.expect(tasks, 2, "second")
}

func visibilityExtend(f *fixture) {
	f.send(tasks, "", "message")
	d := f.expect(tasks, 1, "message")[0]
	f.advance(0.5)
	visible := f.in(2)
	f.extend(tasks, d, 2)
	f.advance(1) // past the first time-out
	f.quiet(tasks, visible)
	visible = f.in(2)
	f.extend(tasks, d, 2) // again, from now on
	f.advance(1.5)
	f.quiet(tasks, visible)
	f.advance(0.5)
	again := f.expect(tasks, 2, "message")[0]
	f.advance(0.5) // the next delivery has the queue's time-out
	f.quiet(tasks, f.in(0.4))
	f.delete(tasks, again)
}

func visibilityShorten(f *fixture) {
	f.send(tasks, "", "message")
	d := f.expect(tasks, 1, "message")[0]
	visible := f.in(0.5)
	f.extend(tasks, d, 0.5)
	f.quiet(tasks, visible)
	f.advance(0.5)
	f.expect(tasks, 2, "message")
}

func visibilityGiveBack(f *fixture) {
	f.send(tasks, "", "message", "other")
	taken := f.expect(tasks, 1, "message", "other")
	f.giveBack(tasks, taken[0])
	again := f.expect(tasks, 2, "message")
	f.quiet(tasks, f.in(0.5))
	f.giveBack(tasks, again[0], taken[1])
	f.delete(tasks, f.expect(tasks, 0, "message", "other")...)
	f.quiet(tasks, time.Time{})
}

func visibilityStale(f *fixture) {
	f.send(tasks, "", "message")
	d := f.expect(tasks, 1, "message")[0]
	f.delete(tasks, d)
	f.extend(tasks, d, 0)
	f.extend(tasks, d, 1)
	f.quiet(tasks, time.Time{})
	f.advance(1)
	f.quiet(tasks, time.Time{})

	f.send(orders, "group", "message")
	d = f.expect(orders, 1, "message")[0]
	f.giveBack(orders, d)
	visible := f.in(1)
	again := f.expect(orders, 2, "message")[0]
	f.extend(orders, d, 0) // it is in flight again, with another receipt
	f.quiet(orders, visible)
	f.delete(orders, again)
}

func visibilityForever(f *fixture) {
	f.send(tasks, "", "message")
	for received := range 30 {
		f.giveBack(tasks, f.expect(tasks, received+1, "message")...)
	}
}

func deleteOne(f *fixture) {
	f.send(tasks, "", "message")
	f.delete(tasks, f.expect(tasks, 1, "message")...)
	f.quiet(tasks, time.Time{})
	f.advance(2)
	f.quiet(tasks, time.Time{})
}

func deleteOthers(f *fixture) {
	f.send(tasks, "", "first", "second", "third")
	taken := f.expect(tasks, 1, "first", "second", "third")
	f.delete(tasks, taken[1])
	f.quiet(tasks, f.in(0.5))
	f.advance(1)
	f.delete(tasks, f.expect(tasks, 2, "first", "third")...)
	f.advance(1)
	f.quiet(tasks, time.Time{})
}

// An old receipt deletes the message or does nothing. The valid one deletes it.
func deleteStale(f *fixture) {
	for _, name := range []string{tasks, orders} {
		group := ""
		if name == orders {
			group = "group"
		}
		f.send(name, group, "message")
		d := f.expect(name, 1, "message")[0]
		f.delete(name, d)
		f.delete(name, d)

		f.send(name, group, "second")
		old := f.expect(name, 1, "second")[0]
		f.giveBack(name, old)
		again := f.expect(name, 2, "second")[0]
		f.delete(name, old)
		f.delete(name, again)
		f.delete(name, old, again)
		f.advance(1)
		f.quiet(name, time.Time{})
	}
}

func deleteBatch(f *fixture) {
	bodies := numbered("message", queue.MaxBatch)
	f.send(tasks, "", bodies...)
	taken := f.expect(tasks, 1, bodies...)
	f.delete(tasks, taken[0], taken[5])
	f.delete(tasks, taken...) // two of them are gone, the others are deleted
	f.advance(1)
	f.quiet(tasks, time.Time{})
}
