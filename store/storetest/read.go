package storetest

import (
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/store"
)

var readTests = []test{
	{"backward, with all bounds and limits", readBackward},
	{"forward, from all slots with all limits", readForward},
	{"the workflow of a bound does not count", readBounds},
	{"order goes by number", readOrder},
	{"runs are separate, whatever bytes their numbers have", readNumbers},
	{"pages backward", readPagesBackward},
	{"pages forward", readPagesForward},
	{"workflows with similar ids are separate", readSeparate},
}

// someRuns puts a few runs of a workflow, and neighbours before and after it.
func someRuns(f *fixture) []store.Item {
	f.fill("ordeq", 1, 2)
	f.fill("order-2", 1, 2)
	items := f.fill("order", 1, 4)
	items = append(items, f.fill("order", 2, 1)...)
	return append(items, f.fill("order", 4, 3)...)
}

// readBackward compares the store with a twin that is too simple to be wrong.
func readBackward(f *fixture) {
	items := someRuns(f)
	slices.Reverse(items)
	bounds := []store.Key{{}, {Run: 1}, {Run: 1, Slot: 2}, {Run: 1, Slot: 9}, {Run: 2}, {Run: 3}, {Run: 4, Slot: 1}, {Run: 5}}
	for _, before := range bounds {
		for _, until := range bounds {
			want := slices.DeleteFunc(slices.Clone(items), func(i store.Item) bool {
				return before != (store.Key{}) && !i.Before(before) || i.Before(until)
			})
			for _, limit := range []int{0, 1, 2, len(items), len(items) + 1} {
				f.window(f.backward("order", before, until, limit), want, limit)
			}
		}
	}
}

func readForward(f *fixture) {
	items := someRuns(f)
	for _, from := range append(keys(items), store.Key{Run: 1, Slot: 4}, store.Key{Run: 3}, store.Key{Run: 4, Slot: 9}) {
		from.Workflow = "order"
		want := slices.DeleteFunc(slices.Clone(items), func(i store.Item) bool { return i.Run != from.Run || i.Slot < from.Slot })
		for _, limit := range []int{0, 1, 2, len(items)} {
			f.window(f.forward(from, limit), want, limit)
		}
	}
	if p := f.forward(store.Key{Workflow: "nobody", Run: 1}, 0); len(p.Items) > 0 {
		f.Errorf("forward in a workflow that is not there: %v", keys(p.Items))
	}
}

// window demands that a page has the first of these items, at most limit. A full page may have More
// although nothing follows.
func (f *fixture) window(p store.Page, want []store.Item, limit int) {
	f.Helper()
	rest := 0
	if limit > 0 && len(want) >= limit {
		want, rest = want[:limit], len(want)-limit
	}
	f.same("the page", p.Items, want...)
	if full := limit > 0 && len(want) == limit; !full && p.More {
		f.Errorf("More after %v, although there is nothing more", keys(p.Items))
	}
	if rest > 0 && !p.More {
		f.Errorf("no More after %v, although %d follow", keys(p.Items), rest)
	}
}

// numbers has run numbers around the ends of a byte, or of its lower half.
var numbers = []uint32{1, 127, 128, 129, 130, 191, 192, 254, 255, 256, 257, 383, 384, 385, 511, 512, 0x7fff, 0x8000, 0x8080, 0x80ff, 0xffff, 0x10000}

func readNumbers(f *fixture) {
	runs := map[uint32][]store.Item{}
	for _, run := range numbers {
		runs[run] = f.fill("chain", run, 3)
	}
	for i, run := range numbers {
		for _, limit := range []int{0, 2, 4} {
			f.window(f.forward(store.Key{Workflow: "chain", Run: run, Slot: 1}, limit), runs[run][1:], limit)
		}
		want := slices.Clone(runs[run])
		if i > 0 {
			want = append(slices.Clone(runs[numbers[i-1]]), want...)
		}
		slices.Reverse(want)
		until := want[len(want)-1].Key
		f.window(f.backward("chain", store.Key{Run: run + 1}, until, 0), want, 0)
	}
}

func readBounds(f *fixture) {
	items := someRuns(f)
	for _, w := range []string{"", "order", "zebra"} {
		p := f.backward("order", store.Key{Workflow: w}, store.Key{Workflow: w, Run: 4, Slot: 1}, 0)
		f.same("the page until 4/1", p.Items, items[7], items[6])
		p = f.backward("order", store.Key{Workflow: w, Run: 1, Slot: 1}, store.Key{Workflow: w}, 0)
		f.same("the page before 1/1", p.Items, items[0])
	}
}

func readOrder(f *fixture) {
	items := f.fill("order", 1, 260)
	for _, run := range []uint32{2, 9, 10, 255, 256, 257, 65536, 1 << 31} {
		items = append(items, f.fill("order", run, 1)...)
	}
	f.holds("order", items...)
	p := f.forward(store.Key{Workflow: "order", Run: 1, Slot: 254}, 3)
	f.same("the page", p.Items, items[254:257]...)
}

// large puts a run of more than three pages.
func large(f *fixture) []store.Item {
	const perPage = 6
	body := min(f.MaxBody, f.PageBytes/perPage)
	n := 3*f.PageBytes/body + 2
	f.put(f.item("order", 1, 0))
	var items []store.Item
	for slot := range n {
		item := f.item("order", 2, uint32(slot))
		item.Body = bytesOf(slot, body)
		f.put(item)
		items = append(items, item)
	}
	f.put(f.item("order", 3, 0))
	return items
}

// full demands that a page which was cut is about as large as a page can be.
func (f *fixture) full(p store.Page, next int) {
	f.Helper()
	if n := size(p.Items); p.More && n+next < f.PageBytes/2 {
		f.Errorf("a page of %d bytes was cut, although %d fit", n, f.PageBytes)
	}
}

func readPagesBackward(f *fixture) {
	items := large(f)
	var got []store.Item
	pages := 0
	for before, more := (store.Key{Run: 3}), true; more; pages++ {
		p := f.backward("order", before, store.Key{Run: 2}, 0)
		f.full(p, len(items[0].Body))
		got = append(got, p.Items...)
		if more = p.More; more {
			before = got[len(got)-1].Key
		}
	}
	slices.Reverse(got)
	f.same("all pages", got, items...)
	if pages < 4 {
		f.Errorf("%d bytes came in %d pages of at most %d", size(items), pages, f.PageBytes)
	}
}

func readPagesForward(f *fixture) {
	items := large(f)
	var got []store.Item
	pages := 0
	for from, more := (store.Key{Workflow: "order", Run: 2}), true; more; pages++ {
		p := f.forward(from, 0)
		f.full(p, len(items[0].Body))
		got = append(got, p.Items...)
		if more = p.More; more {
			from.Slot = got[len(got)-1].Slot + 1
		}
	}
	f.same("all pages", got, items...)
	if pages < 4 {
		f.Errorf("%d bytes came in %d pages of at most %d", size(items), pages, f.PageBytes)
	}
}

// ids has workflow ids that an adapter could confuse if it joined them with a separator that they
// contain.
var ids = []string{
	"a", "ab", "a/", "a/1", "a/1/0", "a#1", "a#1#0", "a|1", "a:1", "a-1", "a.1", "a,1", "a 1", "a\x00", "a\x00\x00", "a\x00\x01",
	"a\x01", "a\x1f1", "a\n", "a%", "a%2F", "a_", "A", "a\u00ff", "a\u00e9", "ae\u0301", "a\U0010ffff", "/", "#", "\x00", " ", ".", "..",
	"../a", "00000001", "1", strings.Repeat("a", 400), strings.Repeat("a", 401),
}

func readSeparate(f *fixture) {
	held := map[string][]store.Item{}
	for i, id := range ids {
		held[id] = f.fill(id, 1, 1+i%3)
	}
	for _, id := range ids {
		f.holds(id, held[id]...)
		p := f.forward(store.Key{Workflow: id, Run: 1}, 0)
		f.same("forward "+id, p.Items, held[id]...)
		f.conflicts(held[id][:1], f.item(id, 1, 0))
	}
}
