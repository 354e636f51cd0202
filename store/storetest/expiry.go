package storetest

import (
	"time"

	"github.com/seed-41655fb1/weft/store"
)

var expiryTests = []test{
	{"expired items are deleted, and others stay", expiryPassed},
	{"a limit", expiryLimit},
	{"an item that replaces an expiring one", expiryReplaced},
	{"the list and the attempts are deleted with the last item", expiryRest},
}

// expire deletes what has expired by a moment, at most limit items, and demands that want are
// deleted.
func (f *fixture) expire(now time.Time, limit, want int) {
	f.Helper()
	expirer, ok := f.store.(store.Expirer)
	if !ok {
		f.Fatal("the harness says that the store deletes what has expired, and it is no store.Expirer")
	}
	if deleted, err := expirer.DeleteExpired(f.Context(), now, limit); err != nil || deleted != want {
		f.Errorf("DeleteExpired: %d, %v; want %d", deleted, err, want)
	}
}

// perishable returns an item that expires a whole number of seconds from now.
func (f *fixture) perishable(workflow string, run, slot uint32, seconds int) store.Item {
	item := f.item(workflow, run, slot)
	item.Expires = f.second(seconds)
	return item
}

// second returns the moment n whole seconds from now.
func (f *fixture) second(n int) time.Time {
	return f.now.Truncate(time.Second).Add(time.Duration(n) * time.Second)
}

func expiryPassed(f *fixture) {
	one, two, three := f.perishable("order", 1, 0, 10), f.perishable("order", 1, 1, 20), f.item("order", 1, 2)
	f.put(one)
	f.put(two)
	f.put(three)
	f.expire(f.second(9), 10, 0)
	f.holds("order", one, two, three)
	f.expire(f.second(10), 10, 1)
	f.holds("order", two, three)
	f.expire(f.second(1000), 10, 1)
	f.holds("order", three)
	f.expire(f.second(1000), 10, 0)
}

func expiryLimit(f *fixture) {
	for slot := range uint32(5) {
		f.put(f.perishable("order", 1, slot, 10))
	}
	f.expire(f.second(20), 3, 3)
	f.expire(f.second(20), 3, 2)
	f.holds("order")
	f.put(f.item("order", 1, 0)) // its runs are numbered from 1 again
}

func expiryReplaced(f *fixture) {
	standing := f.perishable("order", 1, 0, 10)
	f.put(standing)
	later := f.over(standing)
	later.Expires = f.second(30)
	f.put(later)
	f.expire(f.second(20), 10, 0)
	f.holds("order", later)
	f.expire(f.second(30), 10, 1)
	f.holds("order")
}

func expiryRest(f *fixture) {
	item, row := f.opening("order", 1, "Order", f.now)
	item.Expires = f.second(10)
	next := f.perishable("order", 1, 1, 20)
	f.put(item)
	f.put(next)
	other := f.start("parcel", 1, "Order", f.now.Add(-time.Hour))
	f.record(attempt("order", 1, 5, 1))
	f.record(attempt("parcel", 1, 5, 1))
	f.expire(f.second(10), 10, 1)
	f.hasAttempts("order", 1, attempt("order", 1, 5, 1))
	if f.Lists {
		f.lists(store.Filter{}, row, other)
	}
	f.expire(f.second(20), 10, 1)
	f.hasAttempts("order", 1)
	f.hasAttempts("parcel", 1, attempt("parcel", 1, 5, 1))
	if f.Lists {
		f.lists(store.Filter{}, other)
	}
}
