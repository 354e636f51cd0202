package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

var listTests = []test{
	{"those started last come first", listOrder},
	{"filters", listFilters},
	{"those started first come first", listOldest},
	{"pages", listPages},
	{"those started at the same moment", listTies},
	{"a run that closes changes its row", listClosing},
	{"a run that moves changes its row", listMoving},
	{"a run whose attributes change changes its row", listAttributes},
	{"a row that no longer counts is not selected", listOldRows},
	{"a run that closes while the list is read appears once", listClosingBetweenPages},
	{"a run and its successor", listSuccessor},
	{"only what was put is listed", listConflict},
	{"a run whose last item is replaced is not listed", listReplaced},
	{"a token that the store did not make", listBadToken},
}

// list reads one page.
func (f *fixture) list(filter store.Filter, token string, limit int) ([]store.Summary, string) {
	f.Helper()
	lister, ok := f.store.(store.Lister)
	if !ok {
		f.Fatal("the harness says that the store lists, and it is no store.Lister")
	}
	if f.CatchUp != nil {
		f.CatchUp(f.T, f.store)
	}
	rows, next, err := lister.ListRuns(f.Context(), filter, token, limit)
	if err != nil {
		f.Fatalf("ListRuns: %v", err)
	}
	if len(rows) > limit {
		f.Errorf("a page of %d runs, the limit was %d", len(rows), limit)
	}
	return rows, next
}

// pages reads the whole list and returns its rows. It calls between after each page.
func (f *fixture) pages(filter store.Filter, limit int, between func(page int)) []store.Summary {
	f.Helper()
	const tooMany = 1000
	var rows []store.Summary
	for token, page := "", 0; page < tooMany; page++ {
		got, next := f.list(filter, token, limit)
		rows = append(rows, got...)
		if token = next; token == "" {
			return rows
		}
		between(page)
	}
	f.Fatalf("the list does not end: %v...", rowNames(rows[:min(len(rows), 20)]))
	return nil
}

func nothing(int) {}

// lists demands that a filter selects these runs, in order, however the list is cut into pages.
func (f *fixture) lists(filter store.Filter, want ...store.Summary) {
	f.Helper()
	for _, limit := range []int{1, 2, 3, 100} {
		if got := f.pages(filter, limit, nothing); !slices.EqualFunc(got, want, sameSummary) {
			f.Errorf("runs in pages of %d: %v\nwant %v", limit, rowNames(got), rowNames(want))
		}
	}
}

func rowNames(rows []store.Summary) []string {
	var n []string
	for _, r := range rows {
		n = append(n, fmt.Sprintf("%s/%d %s %s", r.Workflow, r.Run, r.Type, r.Status))
	}
	return n
}

// start puts the first item of a run, and returns the run's row.
func (f *fixture) start(workflow string, run uint32, kind string, started time.Time) store.Summary {
	f.Helper()
	item, row := f.opening(workflow, run, kind, started)
	f.put(item)
	return row
}

func (f *fixture) opening(workflow string, run uint32, kind string, started time.Time) (store.Item, store.Summary) {
	row := store.Summary{
		Workflow: workflow, Run: run, RunID: fmt.Sprintf("%d-%016x", run, len(workflow)), Type: kind, Status: "running", Started: started,
	}
	if kind == "Parcel" {
		row.Build, row.Memo = "build-1", "\xff\x00"
	} else {
		row.Attributes = attributesOf(workflow)
	}
	item, handed := f.item(workflow, run, 0), row
	item.Summary = &handed
	return item, row
}

// closing returns the item that closes a run in slot 1, and its row.
func (f *fixture) closing(row store.Summary, status string) (store.Item, store.Summary) {
	row.Status, row.Closed = status, row.Started.Add(time.Minute)
	item, handed := f.item(row.Workflow, row.Run, 1), row
	item.Summary = &handed
	return item, row
}

// someRows starts a few workflows, closes some, and returns their rows in the order of the list.
func someRows(f *fixture) []store.Summary {
	var rows []store.Summary
	for i := range 9 {
		at := (i * 4) % 9 // not in the order of the list
		row := f.start(fmt.Sprint("order-", at), 1, []string{"Order", "Parcel"}[at%2], f.now.Add(time.Duration(at)*time.Millisecond))
		if at%3 > 0 {
			item, closed := f.closing(row, []string{"", "completed", "failed"}[at%3])
			f.put(item)
			row = closed
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b store.Summary) int { return b.Started.Compare(a.Started) })
	return rows
}

func listOrder(f *fixture) {
	f.lists(store.Filter{})
	f.lists(store.Filter{}, someRows(f)...)
}

// listFilters compares the store with a simple twin, with all filters of a few values.
func listFilters(f *fixture) {
	rows := someRows(f)
	times := []time.Time{{}, f.now.Add(-time.Second), f.now, f.now.Add(3 * time.Millisecond), f.now.Add(time.Second)}
	var filters []store.Filter
	for _, where := range wheres {
		for _, after := range times {
			for _, before := range times {
				filters = append(filters, store.Filter{Where: where, StartedAfter: after, StartedBefore: before})
				filters = append(filters, store.Filter{Where: where, StartedAfter: after, StartedBefore: before, Oldest: true})
			}
		}
	}
	for _, filter := range filters {
		want := slices.DeleteFunc(slices.Clone(rows), func(r store.Summary) bool { return !selects(filter, r) })
		if filter.Oldest {
			slices.Reverse(want)
		}
		if got := f.pages(filter, 4, nothing); !slices.EqualFunc(got, want, sameSummary) {
			f.Errorf("filter %+v: %v\nwant %v", filter, rowNames(got), rowNames(want))
		}
	}
}

// wheres has conditions on each part of a row.
var wheres = []func(*store.Summary) bool{
	nil,
	func(r *store.Summary) bool { return r.Workflow < "order-4" },
	func(r *store.Summary) bool { return r.Type == "Order" && r.Status == "completed" },
	func(r *store.Summary) bool { return r.Build == "build-1" },
	func(r *store.Summary) bool { return r.Run == 1 && r.RunID != "" && !r.Closed.IsZero() },
	func(r *store.Summary) bool { return r.Attributes == attributesOf("order-4") },
	func(*store.Summary) bool { return false },
}

// attributesOf returns bytes like those of encoded search attributes.
func attributesOf(workflow string) string { return "\x01\x00\xff" + workflow }

// selects is a simple twin of a store's filter.
func selects(filter store.Filter, r store.Summary) bool {
	if filter.Where != nil && !filter.Where(&r) {
		return false
	}
	if !filter.StartedAfter.IsZero() && !r.Started.After(filter.StartedAfter) {
		return false
	}
	return filter.StartedBefore.IsZero() || r.Started.Before(filter.StartedBefore)
}

func withStatus(status string) store.Filter {
	return store.Filter{Where: func(r *store.Summary) bool { return r.Status == status }}
}

func withBuild(build string) store.Filter {
	return store.Filter{Where: func(r *store.Summary) bool { return r.Build == build }}
}

func listPages(f *fixture) {
	rows := someRows(f)
	first, token := f.list(store.Filter{}, "", 4)
	if len(first) == 4 && token == "" {
		f.Error("no token after 4 of 9 runs")
	}
	for range 2 { // a token is valid more than once
		second, _ := f.list(store.Filter{}, token, 4)
		if len(first)+len(second) > 0 && !slices.EqualFunc(append(slices.Clone(first), second...), rows[:len(first)+len(second)], sameSummary) {
			f.Errorf("two pages: %v and %v\nwant the first of %v", rowNames(first), rowNames(second), rowNames(rows))
		}
	}
}

func listTies(f *fixture) {
	for i, id := range ids {
		f.start(id, 1, "Order", f.now.Add(time.Duration(i%2)*time.Microsecond))
	}
	f.eachOnce(f.pages(store.Filter{}, 1, nothing), ids...)
	f.eachOnce(f.pages(store.Filter{Oldest: true}, 1, nothing), ids...)
}

// listOldest reads the list in the reverse order, while runs change their rows and close.
func listOldest(f *fixture) {
	oldest := store.Filter{Oldest: true}
	f.lists(oldest)
	rows := someRows(f)
	slices.Reverse(rows)
	f.lists(oldest, rows...)
	for i, row := range rows {
		if !row.Closed.IsZero() {
			continue
		}
		for slot := range uint32(3) {
			row.Attributes = fmt.Sprint("attributes ", slot)
			f.change(row, slot+1)
		}
		rows[i] = row
	}
	f.lists(oldest, rows...)
	having := func(value string) store.Filter {
		return store.Filter{Oldest: true, Where: func(r *store.Summary) bool { return r.Attributes == value }}
	}
	f.lists(having("attributes 1"))
	f.lists(having("attributes 2"), slices.DeleteFunc(slices.Clone(rows), func(r store.Summary) bool { return r.Attributes != "attributes 2" })...)
	open := slices.DeleteFunc(slices.Clone(rows), func(r store.Summary) bool { return !r.Closed.IsZero() })
	got := f.pages(oldest, 2, func(page int) {
		if page == 0 {
			for _, row := range []store.Summary{open[0], open[len(open)-1]} { // one was read, and one is to be read
				row.Status, row.Closed = "canceled", row.Started.Add(time.Minute)
				f.change(row, 4)
			}
		}
	})
	var workflows []string
	for _, r := range rows {
		workflows = append(workflows, r.Workflow)
	}
	f.eachOnce(got, workflows...)
}

// eachOnce demands one row of each of these workflows.
func (f *fixture) eachOnce(rows []store.Summary, workflows ...string) {
	f.Helper()
	times := map[string]int{}
	for _, r := range rows {
		times[r.Workflow]++
	}
	for _, w := range workflows {
		if times[w] != 1 {
			f.Errorf("%q appears %d times", w, times[w])
		}
	}
	if len(rows) > len(workflows) {
		f.Errorf("%d rows, want %d", len(rows), len(workflows))
	}
}

func listClosing(f *fixture) {
	older := f.start("older", 1, "Order", f.now.Add(-time.Hour))
	row := f.start("order", 1, "Order", f.now)
	newer := f.start("newer", 1, "Order", f.now.Add(time.Hour))
	f.lists(withStatus("running"), newer, row, older)
	item, closed := f.closing(row, "completed")
	f.put(item)
	f.lists(store.Filter{}, newer, closed, older)
	f.lists(withStatus("running"), newer, older)
	f.lists(withStatus("completed"), closed)
}

func listClosingBetweenPages(f *fixture) {
	rows := someRows(f)
	first, last := rows[2], rows[len(rows)-1] // both are open; one closes after it was read
	got := f.pages(store.Filter{}, 4, func(page int) {
		if page == 0 {
			one, _ := f.closing(first, "canceled")
			other, _ := f.closing(last, "canceled")
			f.put(one, other)
		}
	})
	var workflows []string
	for _, r := range rows {
		workflows = append(workflows, r.Workflow)
	}
	f.eachOnce(got, workflows...)
}

func listSuccessor(f *fixture) {
	row := f.start("order", 1, "Order", f.now)
	ending, closed := f.closing(row, "continuedAsNew")
	next, successor := f.opening("order", 2, "Order", f.now.Add(time.Minute))
	f.put(ending, next)
	f.lists(store.Filter{}, successor, closed)
	f.put(f.item("order", 2, 1)) // an item without a summary changes no row
	f.lists(store.Filter{}, successor, closed)
}

func listReplaced(f *fixture) {
	rows := someRows(f)
	for i, row := range rows {
		items := f.all(row.Workflow)
		last := items[len(items)-1]
		f.delete(items[:len(items)-1])
		void := f.over(last)
		if void.Expires = f.second(3600); i%2 == 0 { // a conflict leaves the row
			f.conflicts([]store.Item{last}, f.over(f.item(row.Workflow, last.Run, last.Slot)))
			f.lists(store.Filter{}, rows[i:]...)
		}
		f.put(void)
		f.lists(store.Filter{}, rows[i+1:]...)
	}
	again := f.start(rows[0].Workflow, 2, "Order", f.now)
	f.lists(store.Filter{}, again)
}

func listConflict(f *fixture) {
	row := f.start("order", 1, "Order", f.now)
	second, _ := f.opening("order", 1, "Parcel", f.now)
	f.conflicts([]store.Item{f.all("order")[0]}, second)
	f.lists(store.Filter{}, row)
}

func listBadToken(f *fixture) {
	someRows(f)
	_, good := f.list(store.Filter{}, "", 2)
	if good == "" {
		f.Fatal("no token after 2 of 9 runs")
	}
	lister := f.store.(store.Lister)
	for _, token := range []string{"?", "not a token", "bm90IGEgdG9rZW4", good[:len(good)/2], good + "x", " " + good} {
		if rows, _, err := lister.ListRuns(f.Context(), store.Filter{}, token, 2); !errors.Is(err, store.ErrBadToken) {
			f.Errorf("ListRuns with the token %q: %v, %v, want ErrBadToken", token, rowNames(rows), err)
		}
	}
}

// listMoving moves a run to several builds, and then closes it. Its last row counts.
func listMoving(f *fixture) {
	row := f.start("order", 1, "Order", f.now)
	other := f.start("parcel", 1, "Order", f.now.Add(-time.Second))
	for slot := range uint32(12) {
		row.Build = fmt.Sprint("build-", slot)
		handed, item := row, f.item("order", 1, slot+1)
		item.Summary = &handed
		f.put(item)
		f.lists(store.Filter{}, row, other)
		f.lists(withBuild(row.Build), row)
	}
	row.Status, row.Closed = "completed", row.Started.Add(time.Minute)
	handed, item := row, f.item("order", 1, 13)
	item.Summary = &handed
	f.put(item)
	f.lists(store.Filter{}, row, other)
	f.lists(withBuild("build-3"))
}

// change puts an item that changes a row, in a slot.
func (f *fixture) change(row store.Summary, slot uint32) {
	item := f.item(row.Workflow, row.Run, slot)
	item.Summary = &row
	f.put(item)
}

// listAttributes changes the attributes and the memo of a run, removes them, and closes the run.
func listAttributes(f *fixture) {
	row := f.start("order", 1, "Order", f.now)
	for slot, value := range []string{"a", "\xff\xfe", "", strings.Repeat("x", 6<<10), "z"} {
		row.Attributes, row.Memo, row.Facts = value, "memo "+value, "facts "+value
		f.change(row, uint32(slot)+1)
		f.lists(store.Filter{}, row)
	}
	row.Attributes, row.Memo, row.Status, row.Closed = "", "", "completed", f.now.Add(time.Minute)
	f.change(row, 6)
	f.lists(store.Filter{}, row)
}

// listOldRows filters by the contents of outdated rows.
func listOldRows(f *fixture) {
	var rows []store.Summary
	for i := range 5 {
		row := f.start(fmt.Sprint("order-", i), 1, "Order", f.now.Add(time.Duration(i)*time.Second))
		for slot := range uint32(4) {
			row.Attributes = fmt.Sprint("old ", slot)
			f.change(row, slot+1)
		}
		row.Attributes = "new"
		f.change(row, 5)
		rows = append([]store.Summary{row}, rows...)
	}
	having := func(value string) store.Filter {
		return store.Filter{Where: func(r *store.Summary) bool { return r.Attributes == value }}
	}
	f.lists(having("old 3"))
	f.lists(having(attributesOf("order-0")))
	f.lists(having("new"), rows...)
}
