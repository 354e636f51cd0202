package storetest

import (
	"errors"

	"github.com/seed-41655fb1/weft/store"
)

var limitTests = []test{
	{"the largest item is taken", limitTaken},
	{"an item that is too large changes nothing", limitItem},
	{"one of two that is too large changes nothing", limitPair},
	{"an attempt that is too large changes nothing", limitAttempt},
	{"a timer that is too large changes nothing", limitTimer},
}

func (f *fixture) tooLarge(what string, err error) {
	f.Helper()
	if !errors.Is(err, store.ErrTooLarge) {
		f.Errorf("%s that is too large: %v, want ErrTooLarge", what, err)
	}
}

func (f *fixture) largest(workflow string, run, slot uint32) store.Item {
	item := f.item(workflow, run, slot)
	item.Body = bytesOf(int(slot), f.MaxBody)
	return item
}

func (f *fixture) oversize(workflow string, run, slot uint32) store.Item {
	item := f.item(workflow, run, slot)
	item.Body = bytesOf(int(slot), 2*f.MaxBody)
	return item
}

func limitTaken(f *fixture) {
	one, two, three := f.largest("order", 1, 0), f.largest("order", 1, 1), f.largest("order", 2, 0)
	f.put(one)
	f.put(two, three)
	f.holds("order", one, two, three)
}

func limitItem(f *fixture) {
	items := f.fill("order", 1, 1)
	err, _ := f.settle(f.oversize("order", 1, 1))
	f.tooLarge("an item", err)
	f.holds("order", items...)
	next := f.item("order", 1, 1)
	f.put(next)
	f.holds("order", append(items, next)...)
}

func limitPair(f *fixture) {
	items := f.fill("order", 1, 1)
	err, _ := f.settle(f.item("order", 1, 1), f.oversize("order", 2, 0))
	f.tooLarge("the second of two", err)
	err, _ = f.settle(f.oversize("order", 1, 1), f.item("order", 2, 0))
	f.tooLarge("the first of two", err)
	f.holds("order", items...)
	pair := []store.Item{f.item("order", 1, 1), f.item("order", 2, 0)}
	f.put(pair...)
	f.holds("order", append(items, pair...)...)
}

func limitAttempt(f *fixture) {
	first := store.Attempt{Workflow: "order", Run: 1, Event: 5, Number: 1, Body: bytesOf(1, f.MaxBody)}
	f.record(first)
	second := first
	second.Number, second.Body = 2, bytesOf(2, 2*f.MaxBody)
	f.tooLarge("an attempt", f.store.RecordAttempt(f.Context(), second))
	f.hasAttempts("order", 1, first)
	second.Body = bytesOf(2, f.MaxBody)
	f.record(second)
	f.hasAttempts("order", 1, second)
}

func limitTimer(f *fixture) {
	good := store.Timer{ID: "good", Due: f.now, Body: bytesOf(1, f.MaxBody)}
	f.putTimers(good)
	beside := store.Timer{ID: "beside", Due: f.now, Body: []byte("small")}
	large := store.Timer{ID: "large", Due: f.now, Body: bytesOf(2, 2*f.MaxBody)}
	f.tooLarge("a timer", f.store.PutTimers(f.Context(), []store.Timer{beside, large}))
	f.hasTimers(good)
}
