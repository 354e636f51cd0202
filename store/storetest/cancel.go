package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

// A call with a context that has ended may or may not be done, but its result is true.
var cancelTests = []test{
	{"Append", cancelAppend},
	{"reads", cancelReads},
	{"attempts", cancelAttempts},
	{"timers", cancelTimers},
}

// ended returns a context that has ended.
func (f *fixture) ended() context.Context {
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	return ctx
}

func cancelAppend(f *fixture) {
	items := f.fill("order", 1, 1)
	for _, pair := range [][]store.Item{
		{f.item("order", 1, 1)},
		{f.item("order", 1, 2), f.item("order", 2, 0)},
	} {
		err := f.store.Append(f.ended(), pair...)
		before := f.all("order")
		put := len(before) > len(items)
		var conflict *store.Conflict
		switch {
		case errors.As(err, &conflict):
			f.Errorf("Append to an empty slot: %v", err)
		case err == nil && !put:
			f.Errorf("Append returned nil and put nothing at %v", pair[0].Key)
		case err != nil && put && !errors.Is(err, store.ErrUnknown):
			f.Errorf("Append put the item at %v and returned %v, which says that it did not", pair[0].Key, err)
		case put:
			f.conflicts(pair, pair...)
		default: // if the outcome is unknown, the put may still come: the identical Append settles it
			if conflict := f.try(pair...); conflict != nil && !f.own(conflict.Existing, pair) {
				f.Errorf("Append to an empty slot: %v", conflict)
			}
		}
		items = append(items, pair...)
		f.holds("order", items...)
	}
}

func cancelReads(f *fixture) {
	items := f.fill("order", 1, 2)
	if p, err := f.store.Backward(f.ended(), "order", store.Key{}, store.Key{}, 0); err == nil {
		f.same("Backward", p.Items, items[1], items[0])
	}
	if p, err := f.store.Forward(f.ended(), items[0].Key, 0); err == nil {
		f.same("Forward", p.Items, items...)
	}
	if a, err := f.store.ReadAttempts(f.ended(), "order", 1); err == nil && len(a) > 0 {
		f.Errorf("ReadAttempts found %v, although there are none", a)
	}
	if due, err := f.store.DueTimers(f.ended(), f.now, 1); err == nil && len(due) > 0 {
		f.Errorf("DueTimers found %v, although there are none", due)
	}
}

func cancelAttempts(f *fixture) {
	a := store.Attempt{Workflow: "order", Run: 1, Event: 5, Number: 1, Body: []byte("out of stock")}
	err := f.store.RecordAttempt(f.ended(), a)
	if got := f.attempts("order", 1); err == nil && len(got) == 0 || len(got) > 1 {
		f.Errorf("RecordAttempt returned %v, and %d are recorded", err, len(got))
	}
	if err := f.store.RecordAttempt(f.Context(), a); err != nil && !errors.Is(err, store.ErrStale) {
		f.Errorf("RecordAttempt: %v", err)
	}
	f.hasAttempts("order", 1, a)
}

func cancelTimers(f *fixture) {
	t := store.Timer{ID: "one", Due: f.now, Body: []byte("wake up")}
	err := f.store.PutTimers(f.ended(), []store.Timer{t})
	if got := f.due(f.now.Add(time.Second), 10); err == nil && len(got) == 0 {
		f.Error("PutTimers returned nil and kept nothing")
	}
	f.putTimers(t)
	due := f.due(f.now.Add(time.Second), 10)
	err = f.store.DeleteTimers(f.ended(), due)
	if got := f.due(f.now.Add(time.Second), 10); err == nil && len(got) > 0 {
		f.Error("DeleteTimers returned nil and deleted nothing")
	}
	f.deleteTimers(due...)
	f.hasTimers()
}
