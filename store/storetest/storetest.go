// Package storetest is the conformance suite of the store port, and its specification in code.
// Every adapter passes it. A sentence of the port that is not tested here is not a promise.
//
// An adapter's own test describes the adapter in a [Harness] and calls [Run]:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			New: func(t *testing.T) func() storetest.Store {
//				dir, last := t.TempDir(), (*embedded.Store)(nil)
//				return func() storetest.Store {
//					last = ... // end the last one as a crash would, and open dir
//					return last
//				}
//			},
//			MaxBody: 400 << 10, PageBytes: 1 << 20, Reopens: true, Lists: true,
//		})
//	}
//
// The suite keeps the rules for callers, so that a fake that checks its callers can pass. It does
// not know which adapter it tests: the differences between adapters are values of the harness.
package storetest

import (
	"testing"

	"github.com/seed-41655fb1/weft/store"
)

// Store is an adapter. One that lists workflows is also a store.Lister, and one that deletes what
// has expired is also a store.Expirer.
type Store = store.Store

// Harness describes an adapter to the suite.
type Harness struct {
	// New makes a place for a new, empty store (a directory, a table prefix), and returns a
	// function that opens the store of that place.
	//
	//   - Each test has a place of its own, and tests run in parallel.
	//   - If Reopens is set, the suite opens a place again when it no longer uses the store that it
	//     opened before. open ends that one first, as a crash would if possible.
	//   - t.Cleanup closes what has to be closed in the end.
	New func(t *testing.T) (open func() Store)
	// MaxBody is the size of a body that the store takes in an item, an attempt and a timer. It
	// refuses one of twice the size.
	MaxBody int
	// PageBytes is the largest sum of the bodies of one page; the port says about 1 MB.
	PageBytes int
	// Reopens says that data survives when the store is opened again.
	Reopens bool
	// Lists says that the store is a store.Lister.
	Lists bool
	// Expires says that the store is a store.Expirer.
	Expires bool
	// CatchUp returns when the list shows everything that was appended before; nil means that the
	// list is never behind.
	CatchUp func(t *testing.T, s Store)
	// Damage changes a byte of the stored data, as a fault of the medium or of a person would. The
	// suite does not use s after it, and opens the store again. It is nil if nothing stored can be
	// damaged.
	Damage func(t *testing.T, s Store, d Damaged)
}

// test is one test of the suite.
type test struct {
	name string
	run  func(f *fixture)
}

// Run tests an adapter.
func Run(t *testing.T, h Harness) {
	groups := []struct {
		name  string
		tests []test
		skip  bool
	}{
		{name: "Append", tests: appendTests},
		{name: "Parallel", tests: parallelTests},
		{name: "Read", tests: readTests},
		{name: "Values", tests: valueTests},
		{name: "Limits", tests: limitTests},
		{name: "Canceled", tests: cancelTests},
		{name: "Attempts", tests: attemptTests},
		{name: "Timers", tests: timerTests},
		{name: "Scan", tests: scanTests},
		{name: "Keys", tests: keyTests},
		{name: "Rates", tests: rateTests},
		{name: "List", tests: listTests, skip: !h.Lists},
		{name: "Expiry", tests: expiryTests, skip: !h.Expires},
		{name: "Damage", tests: damageTests, skip: h.Damage == nil},
		{name: "Reopen", tests: reopenTests, skip: !h.Reopens},
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			if group.skip {
				t.Skip("the harness says that this adapter does not do it")
			}
			t.Parallel()
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(newFixture(t, h))
				})
			}
		})
	}
}
