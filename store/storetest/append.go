package storetest

import (
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

var appendTests = []test{
	{"one item is put at a free key", appendOne},
	{"a conflict returns the existing item", appendConflict},
	{"a repeat conflicts with the caller's own item", appendRepeat},
	{"an item replaces the one that it names", appendOver},
	{"an item replaces the last one after the others were deleted", appendOverLast},
	{"an item replaces no other", appendOverAnother},
	{"two items of which one replaces another are put all or none", appendOverTwo},
	{"two items are put together", appendTwo},
	{"two items are put all or none", appendAllOrNone},
	{"a repeat of two conflicts with the caller's own", appendRepeatTwo},
	{"many items are put all or none", appendMany},
	{"an item is visible at once", appendVisible},
}

func appendOne(f *fixture) {
	f.holds("order")
	first, second := f.item("order", 1, 0), f.item("order", 1, 1)
	f.put(first)
	f.holds("order", first)
	f.put(second)
	f.holds("order", first, second)
	f.holds("another")
}

func appendConflict(f *fixture) {
	standing := f.fill("order", 1, 3)
	standing = append(standing, f.fill("order", 2, 1)...)
	for _, s := range standing {
		f.conflicts([]store.Item{s}, f.item("order", s.Run, s.Slot))
	}
	sameBody := f.item("order", 1, 1)
	sameBody.Body = standing[1].Body
	if f.conflicts(standing[1:2], sameBody).Commit == sameBody.Commit {
		f.Error("the Conflict has the commit id of the item that was not put")
	}
	f.holds("order", standing...)
}

func appendRepeat(f *fixture) {
	items := f.fill("order", 1, 1)
	next := f.item("order", 1, 1)
	f.put(next)
	for range 3 {
		f.conflicts([]store.Item{next}, next)
	}
	f.holds("order", items[0], next)
}

// over returns an item that may replace another.
func (f *fixture) over(standing store.Item) store.Item {
	item := f.item(standing.Workflow, standing.Run, standing.Slot)
	item.Over = standing.Commit
	return item
}

func appendOver(f *fixture) {
	standing := f.item("order", 1, 0)
	standing.Expires = f.now.Truncate(time.Second).Add(time.Hour)
	f.put(standing)
	second := f.over(standing)
	f.put(second)
	f.holds("order", second)
	f.conflicts([]store.Item{second}, second) // a repeat
	third := f.over(second)
	third.Expires = f.now.Truncate(time.Second).Add(2 * time.Hour)
	f.put(third)
	f.holds("order", third)

	free := f.over(f.item("parcel", 1, 0)) // the key has no item
	f.put(free)
	f.holds("parcel", free)
}

func appendOverLast(f *fixture) {
	for _, n := range []int{1, 2, 5} {
		workflow := fmt.Sprint("order-", n)
		items := f.fill(workflow, 1, n)
		last := items[n-1]
		f.delete(items[:n-1])
		void := f.over(last)
		void.Expires = f.second(3600)
		f.put(void)
		f.holds(workflow, void)
		f.conflicts([]store.Item{void}, void)         // a repeat
		f.conflicts([]store.Item{void}, f.over(last)) // the same by another process
		f.delete([]store.Item{void})
		f.holds(workflow)
	}
	items := f.fill("order", 1, 2)
	f.delete(items[:1])
	void, next := f.over(items[1]), f.item("order", 2, 0)
	f.put(void)
	f.put(next)
	first := f.item("order", 1, 0) // takes the place of the deleted one
	f.put(first, f.item("order", 3, 0))
	if got := f.all("order"); len(got) != 4 {
		f.Errorf("the items are %v, want 4", keys(got))
	}
}

func appendOverAnother(f *fixture) {
	standing := f.fill("order", 1, 1)
	f.conflicts(standing, f.over(f.item("order", 1, 0)))
	f.holds("order", standing...)
}

func appendOverTwo(f *fixture) {
	standing := f.fill("order", 1, 1)
	f.conflicts(standing, f.over(f.item("order", 1, 0)), f.item("order", 2, 0))
	f.holds("order", standing...)
	first, next := f.over(standing[0]), f.item("order", 2, 0)
	f.put(first, next)
	f.holds("order", first, next)
	f.conflicts([]store.Item{first, next}, first, next)
}

func appendTwo(f *fixture) {
	first := f.item("order", 1, 0)
	f.put(first)
	closing, opening := f.item("order", 1, 1), f.item("order", 2, 0)
	opening.Commit = closing.Commit // one commit does both
	f.put(closing, opening)
	f.holds("order", first, closing, opening)

	third, fourth := f.item("order", 2, 1), f.item("order", 2, 2)
	f.put(third, fourth)
	f.holds("order", first, closing, opening, third, fourth)

	parent, child := f.item("order", 2, 3), f.item("parcel", 1, 0)
	f.put(parent, child)
	f.holds("order", first, closing, opening, third, fourth, parent)
	f.holds("parcel", child)
}

func appendAllOrNone(f *fixture) {
	standing := append(f.fill("order", 1, 2), f.fill("order", 2, 1)...)
	newest := standing[2]
	fresh := func() store.Item { return f.item("order", 2, 1) }

	f.conflicts([]store.Item{newest}, f.item("order", 2, 0), fresh())
	f.conflicts([]store.Item{newest}, fresh(), f.item("order", 2, 0))
	f.conflicts(standing[:1], f.item("order", 1, 0), f.item("parcel", 1, 0))
	f.conflicts(standing, f.item("order", 1, 0), f.item("order", 1, 1))
	f.holds("order", standing...)
	f.holds("parcel")

	last := fresh()
	f.put(last) // the place is still free
	f.holds("order", append(standing, last)...)
}

func appendRepeatTwo(f *fixture) {
	items := f.fill("order", 1, 1)
	pair := []store.Item{f.item("order", 1, 1), f.item("order", 2, 0)}
	f.put(pair...)
	for range 3 {
		f.conflicts(pair, pair...)
	}
	f.holds("order", append(items, pair...)...)
}

func appendMany(f *fixture) {
	first := f.item("order", 1, 0)
	f.put(first)
	many := []store.Item{f.item("order", 1, 1)}
	for slot := range uint32(store.MaxAppend - 1) {
		item := f.item("order", 2, slot)
		if slot > 0 {
			item.Commit = many[1].Commit // a reset gives all commits of a run the same id
		}
		many = append(many, item)
	}
	f.put(many...)
	f.holds("order", append([]store.Item{first}, many...)...)
	f.conflicts(many, many...)

	last := f.item("parcel", 1, 0)
	f.conflicts(many[50:51], last, f.item("order", 2, 49))
	f.holds("parcel")
}

func appendVisible(f *fixture) {
	parallel(8, func(i int) {
		workflow := string(rune('a' + i))
		for slot := range uint32(10) {
			item := f.item(workflow, 1, slot)
			if f.try(item) != nil {
				f.Errorf("Append at %v: want it to be put", item.Key)
				return
			}
			back, err := f.store.Backward(f.Context(), workflow, store.Key{}, store.Key{}, 1)
			if err != nil || len(back.Items) != 1 || back.Items[0].Commit != item.Commit {
				f.Errorf("Backward after the Append at %v: got %v, %v", item.Key, keys(back.Items), err)
			}
			on, err := f.store.Forward(f.Context(), item.Key, 0)
			if err != nil || len(on.Items) != 1 || on.Items[0].Commit != item.Commit {
				f.Errorf("Forward after the Append at %v: got %v, %v", item.Key, keys(on.Items), err)
			}
		}
	})
}
