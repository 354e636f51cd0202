package storetest

import (
	"bytes"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

var valueTests = []test{
	{"bodies come back as they were", valueBodies},
	{"commit ids come back as they were", valueCommits},
	{"expiries come back, rounded up to the second", valueExpiries},
	{"summaries come back as they were", valueSummaries},
	{"what a read returned is the caller's", valueOwned},
}

func valueBodies(f *fixture) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	bodies := [][]byte{
		nil,
		{},
		{0},
		{0, 0, 0},
		{'\n'},
		{0xff},
		{0xff, 0xfe, 0xfd},
		all, bytes.Repeat(all, 40), []byte("{}"), []byte("null"), []byte(" "),
		[]byte("\xe2\x82"), // half a rune
	}
	var items []store.Item
	for slot, body := range bodies {
		item := f.item("order", 1, uint32(slot))
		item.Body = body
		f.put(item)
		items = append(items, item)
	}
	f.holds("order", items...)
	p := f.forward(store.Key{Workflow: "order", Run: 1}, 0)
	f.same("forward", p.Items, items...)
	for _, item := range items {
		other := f.item("order", 1, item.Slot)
		f.conflicts([]store.Item{item}, other)
	}
}

func valueCommits(f *fixture) {
	var items []store.Item
	for slot, fill := range []byte{0x00, 0xff, 0x80, 0x0a} {
		item := f.item("order", 1, uint32(slot))
		for i := range item.Commit {
			item.Commit[i] = fill
		}
		item.Commit[0] = byte(slot)
		f.put(item)
		items = append(items, item)
	}
	f.holds("order", items...)
}

func valueExpiries(f *fixture) {
	day := f.now.Truncate(time.Second).Add(24 * time.Hour)
	expiries := []time.Time{
		{},
		day, day.AddDate(1, 0, 0), day.In(time.FixedZone("east", 3600)),
		day.Add(time.Microsecond), day.Add(time.Second - time.Microsecond),
	}
	var items []store.Item
	for slot, expires := range expiries {
		item := f.item("order", 1, uint32(slot))
		item.Expires = expires
		f.put(item)
		if slot >= 4 {
			item.Expires = day.Add(time.Second)
		}
		items = append(items, item)
	}
	f.holds("order", items...)
	f.conflicts(items[1:2], f.item("order", 1, 1))
}

func valueSummaries(f *fixture) {
	row := store.Summary{
		Workflow: "order", Run: 1, RunID: "1-00ff00ff00ff00ff", Type: "Order/\u00e9\x00", Status: "running", Started: f.now,
	}
	row.Attributes, row.Memo, row.Facts = "\x00\xff attributes", "a memo\xff\x00", "\x00facts\xff"
	open, middle, done := f.item("order", 1, 0), f.item("order", 1, 1), f.item("order", 1, 2)
	open.Summary = &row
	closed := row
	closed.Status, closed.Closed = "completed", f.now.Add(time.Microsecond)
	done.Summary = &closed
	next := f.item("order", 2, 0)
	next.Summary = &store.Summary{Workflow: "order", Run: 2, RunID: "2-00", Type: "T", Status: "running", Started: f.now.Add(time.Hour)}
	f.put(open)
	f.put(middle)
	f.put(done, next)
	f.holds("order", open, middle, done, next)
	f.conflicts([]store.Item{open}, f.item("order", 1, 0))
	p := f.forward(store.Key{Workflow: "order", Run: 1}, 0)
	f.same("forward", p.Items, open, middle, done)
}

func valueOwned(f *fixture) {
	item := f.item("order", 1, 0)
	item.Summary = &store.Summary{Workflow: "order", Run: 1, RunID: "1-00", Type: "Order", Status: "running", Started: f.now}
	f.put(item)
	spoil := func(got store.Item) {
		clear(got.Body)
		*got.Summary = store.Summary{Type: "spoiled"}
	}
	for range 2 {
		spoil(f.backward("order", store.Key{}, store.Key{}, 0).Items[0])
		spoil(f.forward(item.Key, 0).Items[0])
		spoil(f.conflicts([]store.Item{item}, f.item("order", 1, 0)))
	}
	f.holds("order", item)

	attempt := store.Attempt{Workflow: "order", Run: 1, Event: 5, Number: 1, Body: []byte("out of stock")}
	timer := store.Timer{ID: "one", Due: f.now, Body: []byte("wake up")}
	f.record(attempt)
	f.putTimers(timer)
	clear(f.attempts("order", 1)[0].Body)
	clear(f.due(f.now.Add(time.Second), 1)[0].Body)
	f.hasAttempts("order", 1, attempt)
	f.hasTimers(timer)
}
