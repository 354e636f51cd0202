package storetest

import (
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

// Damaged names what Harness.Damage has to damage: the field that is set.
type Damaged struct {
	Item    *store.Item
	Attempt *store.Attempt
	Timer   *store.Timer
	// Row is the row in the list of an item with a summary. The item itself may be damaged too.
	Row *store.Item
}

var damageTests = []test{
	{"a damaged item is an error, and its neighbours are read", damageItem},
	{"an Append at a damaged item is an error", damageAppend},
	{"a damaged attempt is an error", damageAttempt},
	{"a damaged timer is skipped", damageTimer},
	{"a scan continues past a damaged item", damageScan},
	{"a list continues past a damaged row", damageRow},
}

// damage damages something, and opens the store again.
func (f *fixture) damage(d Damaged) {
	f.Helper()
	f.Damage(f.T, f.store, d)
	f.store = f.open()
}

// corrupt demands an error that wraps ErrCorrupt.
func (f *fixture) corrupt(what string, err error) {
	f.Helper()
	if !errors.Is(err, store.ErrCorrupt) {
		f.Errorf("%s: %v, want ErrCorrupt", what, err)
	}
}

func damageItem(f *fixture) {
	old, items := f.fill("order", 1, 3), f.fill("order", 2, 3)
	other := f.fill("parcel", 1, 2)
	f.damage(Damaged{Item: &old[2]})
	f.holds("parcel", other...)
	_, err := f.store.Forward(f.Context(), old[2].Key, 0)
	f.corrupt("Forward from it", err)
	_, err = f.store.Backward(f.Context(), "order", items[0].Key, store.Key{}, 1)
	f.corrupt("Backward from it", err)
	page, err := f.store.Backward(f.Context(), "order", store.Key{}, items[0].Key, 0)
	if err != nil || len(page.Items) != len(items) {
		f.Errorf("the run after it has %v, %v", keys(page.Items), err)
	}
}

func damageAppend(f *fixture) {
	items := f.fill("order", 1, 2)
	f.damage(Damaged{Item: &items[1]})
	f.corrupt("Append", f.store.Append(f.Context(), f.item("order", 1, 1)))
	f.corrupt("Append of two", f.store.Append(f.Context(), f.item("order", 1, 1), f.item("order", 2, 0)))
	f.put(f.item("parcel", 1, 0))
}

func damageAttempt(f *fixture) {
	bad, sound := attempt("order", 1, 5, 1), attempt("parcel", 1, 5, 1)
	f.record(bad)
	f.record(sound)
	f.damage(Damaged{Attempt: &bad})
	_, err := f.store.ReadAttempts(f.Context(), "order", 1)
	f.corrupt("ReadAttempts", err)
	f.corrupt("RecordAttempt", f.store.RecordAttempt(f.Context(), bad))
	f.hasAttempts("parcel", 1, sound)
}

func damageTimer(f *fixture) {
	var timers []store.Timer
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		timers = append(timers, store.Timer{ID: id, Due: f.now.Add(time.Duration(len(timers)) * time.Second), Body: []byte("body of " + id)})
	}
	if err := f.store.PutTimers(f.Context(), timers); err != nil {
		f.Fatal(err)
	}
	f.damage(Damaged{Timer: &timers[0]})
	due, err := f.store.DueTimers(f.Context(), f.now.Add(time.Hour), 2)
	if err != nil || len(due) != 2 || due[0].ID != "b" || due[1].ID != "c" {
		f.Errorf("due are %v, %v; want b and c", due, err)
	}
}

func damageScan(f *fixture) {
	bad, sound := f.fill("order", 1, 2), f.fill("parcel", 1, 2)
	f.damage(Damaged{Item: &bad[1]})
	found := map[[16]byte]bool{}
	for cursor := ""; ; {
		items, next, err := f.store.Scan(f.Context(), cursor, 100)
		if err != nil {
			f.Fatal(err)
		}
		for _, item := range items {
			found[item.Commit] = true
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if found[bad[1].Commit] || !found[bad[0].Commit] || !found[sound[0].Commit] || !found[sound[1].Commit] {
		f.Errorf("the scan found %d items, want all but the damaged one", len(found))
	}
}

func damageRow(f *fixture) {
	if !f.Lists {
		f.Skip("the harness says that this adapter does not list")
	}
	var items []store.Item
	for i, workflow := range []string{"a", "b", "c"} {
		item := f.item(workflow, 1, 0)
		item.Summary = &store.Summary{
			Workflow: workflow, Run: 1, RunID: "1-aa", Type: "t", Status: "running", Started: f.now.Add(time.Duration(i) * time.Second),
		}
		f.put(item)
		items = append(items, item)
	}
	f.damage(Damaged{Row: &items[1]})
	if f.CatchUp != nil {
		f.CatchUp(f.T, f.store)
	}
	rows, _, err := f.store.(store.Lister).ListRuns(f.Context(), store.Filter{}, "", 10)
	if err != nil || len(rows) != 2 || rows[0].Workflow != "c" || rows[1].Workflow != "a" {
		f.Errorf("the list has %v, %v; want c and a", rows, err)
	}
}
