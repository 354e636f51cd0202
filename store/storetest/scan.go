package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

var scanTests = []test{
	{"a walk returns everything, in order within a workflow", scanAll},
	{"a walk returns only commits", scanCommitsOnly},
	{"walks that delete their findings end", scanPastDeleted},
	{"a cursor that Scan did not make", scanBadCursor},
	{"deleted items are gone, and may be deleted again", deleteItems},
	{"another commit in its place stays", deleteStale},
	{"attempts", deleteAttempts},
	{"a deleted run is not listed", deleteListed},
	{"a deleted run of a long chain is not listed, and others are", deleteNumbers},
	{"the mark moves from what it was", markMoves},
}

// walk reads from a cursor to the end, and calls each for every page.
func (f *fixture) walk(cursor string, limit int, each func(page []store.Item, next string)) {
	f.Helper()
	if f.CatchUp != nil {
		f.CatchUp(f.T, f.store)
	}
	for {
		page, next, err := f.store.Scan(f.Context(), cursor, limit)
		if err != nil {
			f.Fatalf("Scan: %v", err)
		}
		if len(page) > limit {
			f.Errorf("a page of %d items, the limit was %d", len(page), limit)
		}
		if each(page, next); next == "" {
			return
		}
		if next == cursor {
			f.Fatalf("Scan does not continue from %q", cursor)
		}
		cursor = next
	}
}

func (f *fixture) delete(items []store.Item, attempts ...store.Attempt) {
	f.Helper()
	if err := f.store.Delete(f.Context(), items, attempts); err != nil {
		f.Errorf("Delete of %v: %v", keys(items), err)
	}
}

// some fills a few workflows, whose ids are prefixes of each other, and returns their items.
func (f *fixture) some() map[string][]store.Item {
	held := map[string][]store.Item{}
	for i, name := range []string{"o", "order", "order/1", "order-2", "ö"} {
		items := f.fill(name, 1, 3+i)
		held[name] = append(items, f.fill(name, 2, 2)...)
	}
	return held
}

func scanAll(f *fixture) {
	held := f.some()
	for _, limit := range []int{1000, 50, 7} {
		seen := map[string][]store.Item{}
		var last string
		f.walk("", limit, func(page []store.Item, _ string) {
			for _, item := range page {
				if item.Workflow != last && len(seen[item.Workflow]) > 0 {
					f.Errorf("limit %d: %s is repeated after %s", limit, item.Workflow, last)
				}
				last = item.Workflow
				seen[last] = append(seen[last], item)
			}
		})
		for name, items := range held {
			f.same(fmt.Sprintf("limit %d: a walk by %s", limit, name), seen[name], items...)
		}
		if len(seen) != len(held) {
			f.Errorf("limit %d: %d workflows, want %d", limit, len(seen), len(held))
		}
	}
}

func scanCommitsOnly(f *fixture) {
	f.record(attempt("order", 1, 5, 1))
	f.putTimers(f.timer("one", 0))
	if err := f.store.WriteMark(f.Context(), nil, []byte("mark")); err != nil {
		f.Errorf("WriteMark: %v", err)
	}
	f.walk("", 1000, func(page []store.Item, _ string) {
		if len(page) > 0 {
			f.Errorf("a walk by %v, want none", keys(page))
		}
	})
}

func scanPastDeleted(f *fixture) {
	held := f.some()
	for walks, left := 0, 1; left > 0 && walks < 10; walks++ {
		left = 0
		f.walk("", 50, func(page []store.Item, _ string) {
			left += len(page)
			for _, item := range page { // one by one, the last one last
				f.delete([]store.Item{item})
			}
		})
	}
	for name := range held {
		f.holds(name)
	}
}

func scanBadCursor(f *fixture) {
	f.fill("order", 1, 1)
	for _, cursor := range []string{"x", "AAAA", "not a cursor!"} {
		if _, _, err := f.store.Scan(f.Context(), cursor, 10); !errors.Is(err, store.ErrBadToken) {
			f.Errorf("Scan from %q: %v, want ErrBadToken", cursor, err)
		}
	}
}

func deleteItems(f *fixture) {
	first, other := f.fill("order", 1, 5), f.fill("other", 1, 2)
	second := f.fill("order", 2, 1)
	f.delete(first[1:3])
	f.holds("order", append([]store.Item{first[0], first[3], first[4]}, second...)...)
	f.delete(first[:4])
	f.delete(first[4:])
	f.delete(first[4:])
	f.holds("order", second...)
	f.holds("other", other...)
	f.delete(second)
	f.holds("order")
	f.delete(second)
	again := f.fill("order", 1, 2) // its runs are numbered from 1 again
	f.holds("order", again...)
	if f.Reopens {
		f.reopen()
		f.holds("order", again...)
		f.holds("other", other...)
	}
}

func deleteStale(f *fixture) {
	items := f.fill("order", 1, 1)
	f.delete(items)
	again := f.fill("order", 1, 1)
	if err := f.store.Delete(f.Context(), items, nil); !errors.Is(err, store.ErrStale) {
		f.Errorf("Delete of a commit in whose place another stands: %v, want ErrStale", err)
	}
	f.holds("order", again...)
}

func deleteAttempts(f *fixture) {
	one, two, next := attempt("order", 1, 5, 1), attempt("order", 1, 7, 3), attempt("order", 2, 5, 1)
	for _, a := range []store.Attempt{one, two, next} {
		f.record(a)
	}
	f.delete(nil, one)
	f.delete(nil, one)
	f.hasAttempts("order", 1, two)
	f.record(attempt("order", 1, 7, 4))
	if err := f.store.Delete(f.Context(), nil, []store.Attempt{two}); !errors.Is(err, store.ErrStale) {
		f.Errorf("Delete of an attempt after which another was recorded: %v, want ErrStale", err)
	}
	f.hasAttempts("order", 1, attempt("order", 1, 7, 4))
	f.delete(nil, attempt("order", 1, 7, 4))
	f.hasAttempts("order", 1)
	f.hasAttempts("order", 2, next)
	f.record(one) // as the first attempt of a run that has the number now
	f.hasAttempts("order", 1, one)
}

func deleteListed(f *fixture) {
	if !f.Lists {
		return
	}
	rows := someRows(f)
	first := rows[len(rows)-1]
	item, closed := f.closing(first, "completed")
	f.put(item)
	rows[len(rows)-1] = closed
	f.lists(store.Filter{}, rows...)
	var all []store.Item
	for _, i := range f.all(first.Workflow) {
		if i.Run == first.Run {
			all = append(all, i)
		}
	}
	f.delete(all[:len(all)-1])
	f.lists(store.Filter{}, rows...)
	f.delete(all[len(all)-1:])
	f.lists(store.Filter{}, rows[:len(rows)-1]...)
}

func deleteNumbers(f *fixture) {
	if !f.Lists {
		return
	}
	var rows []store.Summary // the rows left, the last one first
	items := map[uint32]store.Item{}
	for i, run := range numbers {
		item, row := f.opening("chain", run, "Order", f.now.Add(time.Duration(i)*time.Second))
		f.put(item)
		rows, items[run] = append([]store.Summary{row}, rows...), item
	}
	for _, run := range numbers { // in the order of retention
		f.delete([]store.Item{items[run]})
		rows = rows[:len(rows)-1]
		if got := f.pages(store.Filter{}, 100, nothing); !slices.EqualFunc(got, rows, sameSummary) {
			f.Errorf("without run %d, and those before it: %v\nwant %v", run, rowNames(got), rowNames(rows))
		}
	}
}

func markMoves(f *fixture) {
	read := func(want string) {
		f.Helper()
		if mark, err := f.store.ReadMark(f.Context()); err != nil || string(mark) != want {
			f.Errorf("the mark is %q, %v; want %q", mark, err, want)
		}
	}
	write := func(old, mark string, stale bool) {
		f.Helper()
		if err := f.store.WriteMark(f.Context(), []byte(old), []byte(mark)); errors.Is(err, store.ErrStale) != stale || !stale && err != nil {
			f.Errorf("the mark from %q to %q: %v; want stale: %v", old, mark, err, stale)
		}
	}
	read("")
	write("x", "one", true)
	write("", "one", false)
	write("", "two", true)
	read("one")
	write("one", "two", false)
	write("one", "three", true)
	if f.Reopens {
		f.reopen()
	}
	read("two")
	write("two", "three", false)
	read("three")
}
