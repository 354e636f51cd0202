package storetest

import (
	"fmt"
	"sync/atomic"

	"github.com/seed-41655fb1/weft/store"
)

var parallelTests = []test{
	{"one of 50 Appends to one key is put", raceForOneKey},
	{"one of several Appends to the same two keys is put", raceForTwoKeys},
	{"an Append of one and one of two exclude each other", raceOneWithTwo},
	{"Appends to different workflows do not hinder each other", raceSeparate},
	{"a run that many writers extend has no gap", raceToTheEnd},
}

// race lets n writers append concurrently. It demands that one Append is put, and returns its
// items.
func (f *fixture) race(n int, items func(i int) []store.Item) []store.Item {
	f.Helper()
	tries := make([][]store.Item, n)
	for i := range n {
		tries[i] = items(i)
	}
	conflicts := make([]*store.Conflict, n)
	parallel(n, func(i int) { conflicts[i] = f.try(tries[i]...) })
	winner := -1
	for i, c := range conflicts {
		switch {
		case c != nil:
		case winner >= 0:
			f.Fatalf("writers %d and %d both put an item at %v", winner, i, tries[i][0].Key)
		default:
			winner = i
		}
	}
	if winner < 0 {
		f.Fatalf("none of %d writers put an item at %v", n, tries[0][0].Key)
	}
	for _, c := range conflicts {
		if c != nil && !f.own(c.Existing, tries[winner]) {
			f.Errorf("a Conflict with commit %x, but commit %x was put", c.Existing.Commit, tries[winner][0].Commit)
		}
	}
	return tries[winner]
}

func raceForOneKey(f *fixture) {
	won := f.race(50, func(int) []store.Item { return []store.Item{f.item("order", 1, 0)} })
	f.holds("order", won...)
	next := f.race(50, func(int) []store.Item { return []store.Item{f.item("order", 1, 1)} })
	f.holds("order", append(won, next...)...)
}

func raceForTwoKeys(f *fixture) {
	first := f.fill("order", 1, 1)
	won := f.race(20, func(i int) []store.Item {
		closing, opening := f.item("order", 1, 1), f.item("order", 2, 0)
		if i%2 == 1 {
			return []store.Item{opening, closing} // the order in which they are named makes no difference
		}
		return []store.Item{closing, opening}
	})
	if won[0].Run == 2 {
		won[0], won[1] = won[1], won[0]
	}
	f.holds("order", append(first, won...)...)
}

func raceOneWithTwo(f *fixture) {
	for round := range 5 {
		workflow := fmt.Sprint("order-", round)
		first := f.fill(workflow, 1, 1)
		won := f.race(16, func(i int) []store.Item {
			if i%2 == 1 {
				return []store.Item{f.item(workflow, 1, 1)}
			}
			return []store.Item{f.item(workflow, 1, 1), f.item(workflow, 2, 0)}
		})
		f.holds(workflow, append(first, won...)...)
	}
}

func raceSeparate(f *fixture) {
	parallel(30, func(i int) {
		if item := f.item(fmt.Sprint("order-", i), 1, 0); f.try(item) != nil {
			f.Errorf("Append at %v: want it to be put", item.Key)
		}
	})
}

// Each writer reads the end, appends after it, and starts again after a lost race.
func raceToTheEnd(f *fixture) {
	const writers, each = 8, 5
	f.fill("order", 1, 1)
	var lost atomic.Int64
	parallel(writers, func(int) {
		for done := 0; done < each; {
			p, err := f.store.Backward(f.Context(), "order", store.Key{}, store.Key{}, 1)
			if err != nil || len(p.Items) != 1 {
				f.Errorf("Backward: %v, %v", keys(p.Items), err)
				return
			}
			if f.try(f.item("order", 1, p.Items[0].Slot+1)) == nil {
				done++
			} else if lost.Add(1); f.Failed() {
				return
			}
		}
	})
	items := f.all("order")
	if len(items) != 1+writers*each {
		f.Errorf("%d items, want %d (%d Appends were lost)", len(items), 1+writers*each, lost.Load())
	}
	for i, item := range items {
		if int(item.Slot) != i {
			f.Errorf("item %d stands at %v", i, item.Key)
		}
	}
}
