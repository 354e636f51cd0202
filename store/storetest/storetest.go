// Package storetest is the conformance suite of the store port, and its specification in code: every adapter passes it,
// and a sentence of the port that is not tested here is not promised.
//
// An adapter's own test says what it is like in a [Harness] and calls [Run]:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			New: func(t *testing.T) func() storetest.Store {
//				dir, last := t.TempDir(), (*embedded.Store)(nil)
//				return func() storetest.Store {
//					last = ... // end the one before as a crash would, and open what is in dir
//					return last
//				}
//			},
//			MaxBody: 400 << 10, PageBytes: 1 << 20, Reopens: true, Lists: true,
//		})
//	}
//
// The suite keeps the rules that callers have, so that a fake which checks them can pass it. It
// never asks which adapter it tests: the differences between adapters are values of the harness.
package storetest

import (
	"testing"

	"github.com/seed-41655fb1/weft/store"
)

// Store is what every adapter has. One that lists workflows is a store.Lister too, and one that deletes what has expired a
// store.Expirer.
type Store = store.Store

// Harness is what the suite knows of an adapter.
type Harness struct {
	// New makes a place for a new, empty store (a directory, a table prefix), and returns what opens the store that is
	// there. Each test has a place of its own, and tests run in parallel. Where Reopens is set, the suite calls open
	// again while it uses nothing of the store opened before; open ends that one first, without a goodbye if it can.
	// What has to be closed in the end is closed by t.Cleanup.
	New func(t *testing.T) (open func() Store)
	// MaxBody is a size that the body of an item, an attempt and a timer may have. One of twice the size is refused.
	MaxBody int
	// PageBytes is the most that the bodies of one page have together; the port says about 1 MB.
	PageBytes int
	// Reopens says that what was stored outlives the store that was opened.
	Reopens bool
	// Lists says that the store is a store.Lister.
	Lists bool
	// Expires says that the store is a store.Expirer.
	Expires bool
	// CatchUp returns when the list has what was appended before; nil if the list is never behind.
	CatchUp func(t *testing.T, s Store)
	// Damage changes a byte of what is stored, as a fault of the medium or of a person would. s is
	// not used after it, and the suite opens the store again. It is nil if nothing is stored that
	// could be damaged.
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
