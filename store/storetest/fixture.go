package storetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

// fixture is a test with its store.
type fixture struct {
	*testing.T
	Harness
	open  func() Store
	store Store
	// now is a moment near the present, as precise as the port stores times. Nothing here depends
	// on elapsed time.
	now     time.Time
	commits atomic.Uint64
}

func newFixture(t *testing.T, h Harness) *fixture {
	f := &fixture{T: t, Harness: h, open: h.New(t), now: time.Now().UTC().Truncate(time.Microsecond)}
	f.store = f.open()
	return f
}

// commit returns a new commit id.
func (f *fixture) commit() (id [16]byte) {
	binary.BigEndian.PutUint64(id[8:], f.commits.Add(1))
	return id
}

// item returns an item with a commit id and a body of its own.
func (f *fixture) item(workflow string, run, slot uint32) store.Item {
	id := f.commit()
	k := store.Key{Workflow: workflow, Run: run, Slot: slot}
	return store.Item{Key: k, Commit: id, Body: fmt.Appendf(nil, "%v by %x", k, id)}
}

// settle repeats an Append until its outcome is known, and returns the outcome. repeated is set if
// it was unknown at first.
func (f *fixture) settle(items ...store.Item) (outcome error, repeated bool) {
	for {
		err := f.store.Append(f.Context(), items...)
		unknown := errors.Is(err, store.ErrUnknown)
		if !unknown && !errors.Is(err, store.ErrThrottled) {
			return err, repeated
		}
		repeated = repeated || unknown
	}
}

// try appends, and returns nil if the items were put. It may be called from any goroutine.
func (f *fixture) try(items ...store.Item) *store.Conflict {
	err, repeated := f.settle(items...)
	var conflict *store.Conflict
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &conflict):
		f.Errorf("Append at %v: %v", items[0].Key, err)
		return &store.Conflict{}
	case repeated && f.own(conflict.Existing, items):
		return nil
	}
	return conflict
}

// own reports whether an item is one of these.
func (f *fixture) own(existing store.Item, items []store.Item) bool {
	return slices.ContainsFunc(items, func(i store.Item) bool { return i.Commit == existing.Commit })
}

// put appends items, and demands that there is no conflict.
func (f *fixture) put(items ...store.Item) {
	f.Helper()
	if conflict := f.try(items...); conflict != nil {
		f.Errorf("Append at %v: %v, want it to be put", items[0].Key, conflict)
	}
}

// fill puts slots 0 to n-1 of a run, two at a time, and returns them.
func (f *fixture) fill(workflow string, run uint32, n int) []store.Item {
	f.Helper()
	var items []store.Item
	for slot := range n {
		items = append(items, f.item(workflow, run, uint32(slot)))
	}
	for pair := range slices.Chunk(items, 2) {
		f.put(pair...)
	}
	return items
}

// conflicts appends, demands a Conflict with one of the standing items, and returns that item.
func (f *fixture) conflicts(standing []store.Item, items ...store.Item) store.Item {
	f.Helper()
	err, _ := f.settle(items...)
	var conflict *store.Conflict
	if !errors.As(err, &conflict) {
		f.Fatalf("Append at %v: %v, want a Conflict", items[0].Key, err)
	}
	i := slices.IndexFunc(standing, func(s store.Item) bool { return s.Key == conflict.Existing.Key })
	if i < 0 {
		f.Fatalf("Append at %v: a Conflict with %v, want one of %v", items[0].Key, conflict.Existing.Key, keys(standing))
	}
	f.same("the item in the Conflict", []store.Item{conflict.Existing}, standing[i])
	return conflict.Existing
}

// backward reads a page and checks what holds for every page.
func (f *fixture) backward(workflow string, before, until store.Key, limit int) store.Page {
	f.Helper()
	p, err := f.store.Backward(f.Context(), workflow, before, until, limit)
	if err != nil {
		f.Fatalf("Backward %s from %v until %v: %v", workflow, before, until, err)
	}
	f.page(p, limit)
	return p
}

// forward reads a page and checks what holds for every page.
func (f *fixture) forward(from store.Key, limit int) store.Page {
	f.Helper()
	p, err := f.store.Forward(f.Context(), from, limit)
	if err != nil {
		f.Fatalf("Forward from %v: %v", from, err)
	}
	f.page(p, limit)
	return p
}

func (f *fixture) page(p store.Page, limit int) {
	f.Helper()
	if limit > 0 && len(p.Items) > limit {
		f.Errorf("a page of %d items, the limit was %d", len(p.Items), limit)
	}
	if n := size(p.Items); n > f.PageBytes && len(p.Items) > 1 {
		f.Errorf("a page of %d bytes, at most %d fit", n, f.PageBytes)
	}
	if len(p.Items) == 0 && p.More {
		f.Fatalf("a page without items says that there are more")
	}
}

// all returns the items of a workflow, in order, read backwards page by page.
func (f *fixture) all(workflow string) []store.Item {
	f.Helper()
	var items []store.Item
	for before, more := (store.Key{}), true; more; {
		p := f.backward(workflow, before, store.Key{}, 0)
		if items = append(items, p.Items...); p.More {
			before = items[len(items)-1].Key
		}
		more = p.More
	}
	slices.Reverse(items)
	return items
}

// holds demands that a workflow has exactly these items, in order.
func (f *fixture) holds(workflow string, want ...store.Item) {
	f.Helper()
	f.same("the items of "+workflow, f.all(workflow), want...)
}

// same demands that two lists of items are equal.
func (f *fixture) same(what string, got []store.Item, want ...store.Item) {
	f.Helper()
	if !slices.Equal(keys(got), keys(want)) {
		f.Errorf("%s: got %v, want %v", what, keys(got), keys(want))
		return
	}
	for i := range got {
		if d := difference(got[i], want[i]); d != "" {
			f.Errorf("%s: %v: %s", what, want[i].Key, d)
		}
	}
}

// difference describes how two items at the same key differ. It returns "" if they are equal.
func difference(got, want store.Item) string {
	switch {
	case got.Commit != want.Commit:
		return fmt.Sprintf("commit %x, want %x", got.Commit, want.Commit)
	case got.Over != [16]byte{}:
		return fmt.Sprintf("it has Over %x, which no read returns", got.Over)
	case !bytes.Equal(got.Body, want.Body):
		return fmt.Sprintf("body %s, want %s", brief(got.Body), brief(want.Body))
	case !got.Expires.Equal(want.Expires):
		return fmt.Sprintf("expires %v, want %v", got.Expires, want.Expires)
	case (got.Summary == nil) != (want.Summary == nil):
		return fmt.Sprintf("summary %v, want %v", got.Summary, want.Summary)
	case got.Summary != nil && !sameSummary(*got.Summary, *want.Summary):
		return fmt.Sprintf("summary %+v, want %+v", *got.Summary, *want.Summary)
	}
	return ""
}

func sameSummary(a, b store.Summary) bool {
	sameTimes := a.Started.Equal(b.Started) && a.Closed.Equal(b.Closed)
	a.Started, a.Closed = b.Started, b.Closed
	return sameTimes && a == b
}

func brief(body []byte) string {
	const enough = 60
	if len(body) <= enough {
		return fmt.Sprintf("%q", body)
	}
	return fmt.Sprintf("%q... of %d bytes", body[:enough], len(body))
}

func keys(items []store.Item) []store.Key {
	k := make([]store.Key, len(items))
	for i, item := range items {
		k[i] = item.Key
	}
	return k
}

func size(items []store.Item) int {
	n := 0
	for _, item := range items {
		n += len(item.Body)
	}
	return n
}

// parallel calls fn n times at once and returns when all have returned.
func parallel(n int, fn func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	wg.Wait()
}

// bytesOf returns a body of n bytes that differs from those of other seeds.
func bytesOf(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i/256 + seed*31)
	}
	return b
}
