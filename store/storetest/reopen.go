package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

var reopenTests = []test{
	{"items", reopenItems},
	{"everything acknowledged to parallel writers survives", reopenParallel},
	{"attempts", reopenAttempts},
	{"timers", reopenTimers},
	{"the list", reopenList},
	{"an empty store, and again and again", reopenOften},
}

// reopen ends the store and opens it again.
func (f *fixture) reopen() { f.store = f.open() }

func reopenItems(f *fixture) {
	items := f.fill("order", 1, 5)
	last := f.item("order", 1, 5)
	last.Body = bytesOf(1, f.MaxBody)
	last.Expires = f.now.Truncate(time.Second).Add(24 * time.Hour)
	last.Summary = &store.Summary{Workflow: "order", Run: 1, RunID: "1-00", Type: "Order", Status: "running", Started: f.now}
	f.put(last)
	items = append(items, last)
	f.reopen()
	f.holds("order", items...)

	f.conflicts(items[5:], f.item("order", 1, 5))
	f.conflicts(items[5:], last)
	pair := []store.Item{f.item("order", 1, 6), f.item("order", 2, 0)}
	f.put(pair...)
	f.reopen()
	f.holds("order", append(items, pair...)...)
	f.conflicts(pair, pair...)
}

func reopenParallel(f *fixture) {
	var mu sync.Mutex
	held := map[string][]store.Item{}
	parallel(10, func(i int) {
		workflow := fmt.Sprint("order-", i)
		for slot := range uint32(6) {
			item := f.item(workflow, 1, slot)
			if f.try(item) != nil {
				f.Errorf("Append at %v: want it to be put", item.Key)
				return
			}
			mu.Lock()
			held[workflow] = append(held[workflow], item)
			mu.Unlock()
		}
	})
	f.reopen()
	for workflow, items := range held {
		f.holds(workflow, items...)
	}
}

func reopenAttempts(f *fixture) {
	f.record(attempt("order", 1, 5, 1))
	f.record(attempt("order", 1, 5, 2))
	f.record(attempt("order", 1, 12, 1))
	f.reopen()
	f.hasAttempts("order", 1, attempt("order", 1, 5, 2), attempt("order", 1, 12, 1))
	f.stale(attempt("order", 1, 5, 2))
	f.record(attempt("order", 1, 5, 3))
	f.reopen()
	f.hasAttempts("order", 1, attempt("order", 1, 5, 3), attempt("order", 1, 12, 1))
}

func reopenTimers(f *fixture) {
	one, two, three := f.timer("one", time.Hour), f.timer("two", 0), f.timer("three", time.Minute)
	f.putTimers(one, two, three)
	f.reopen()
	f.hasTimers(one, two, three)
	f.putTimers(one)
	f.deleteTimers(two)
	f.reopen()
	f.hasTimers(one, three)
}

func reopenList(f *fixture) {
	if !f.Lists {
		f.Skip("the harness says that this adapter does not list")
	}
	rows := someRows(f)
	f.reopen()
	f.lists(store.Filter{}, rows...)
	item, closed := f.closing(rows[len(rows)-1], "completed")
	f.put(item)
	f.reopen()
	rows[len(rows)-1] = closed
	f.lists(store.Filter{}, rows...)
}

func reopenOften(f *fixture) {
	f.reopen()
	f.holds("order")
	var items []store.Item
	for slot := range uint32(5) {
		items = append(items, f.item("order", 1, slot))
		f.put(items[slot])
		f.reopen()
		f.holds("order", items...)
	}
}
