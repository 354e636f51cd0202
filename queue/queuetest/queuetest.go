// Package queuetest is the conformance suite of the queue port, and its specification in code.
// Every adapter passes it. A sentence of the port that is not tested here is not a promise.
//
// An adapter's own test describes the adapter in a [Harness] and calls [Run]:
//
//	func TestConformance(t *testing.T) {
//		queuetest.Run(t, queuetest.Harness{
//			New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
//				clock := queuetest.NewClock()
//				dir, last := t.TempDir(), (*embedded.Queue)(nil)
//				return func() queuetest.Queue {
//					last = ... // end the last one as a crash would, and open dir with clock.Now
//					clock.OnMove(last.Tick)
//					return last
//				}, clock
//			},
//			MaxBody: 256 << 10, Reopens: true,
//		})
//	}
//
// The suite never waits for time to pass: it moves the clock. It keeps the rules for callers, so
// that a fake that checks its callers can pass. It does not know which adapter it tests: the
// differences between adapters are values of the harness.
//
// To show that a message is not delivered, the suite sends another one later, a probe, and receives
// only that. If an adapter never delivers a message, its test waits until go test's -timeout, which
// shows where.
package queuetest

import (
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// Queue is an adapter: both ends of its queues.
type Queue = queue.Queue

// Clock is the clock for delays and visibility time-outs.
type Clock interface {
	Now() time.Time
	// Advance moves the time forward by d, or a little more, and returns when the queue has
	// noticed. The clock of a service with its own time waits.
	Advance(d time.Duration)
}

// Harness describes an adapter to the suite.
type Harness struct {
	// New makes a place for new, empty queues with these settings. It returns a function that opens
	// the queues of that place, and their clock.
	//
	//   - Each test has a place of its own, and tests run in parallel.
	//   - If Reopens is set, the suite opens a place again when it no longer uses the queues that
	//     it opened before. open ends those first, as a crash would if possible.
	//   - t.Cleanup closes what has to be closed in the end.
	New func(t *testing.T, settings map[string]queue.Settings) (open func() Queue, clock Clock)
	// Visibility is the visibility time-out of the suite's queues, and the unit of its delays; 0
	// means 30 seconds. If the clock waits, a few seconds save a lot of time.
	Visibility time.Duration
	// MaxBody is the size of a body that the queues take. They refuse one of twice the size.
	MaxBody int
	// Duplicates says that a standard queue may redeliver a message that is in flight.
	Duplicates bool
	// GroupLeaks describes a server that violates the order of groups: it frees a group when one of
	// its messages is given back, although another one is in flight. Then tests that give messages
	// back have at most one message of a group in flight.
	GroupLeaks bool
	// Reopens says that messages survive when the queues are opened again.
	Reopens bool
	// Inspects, Redrives and Browses say that the queues are a queue.Inspector, a queue.Redriver
	// and a queue.Browser.
	Inspects, Redrives, Browses bool
	// DepthBehind says that the counts of a queue.Inspector may be behind.
	DepthBehind bool
	// RedriveDrops describes a server that drops what a queue.Redriver moves to a FIFO queue,
	// because it takes the message for a duplicate of the one that was sent first.
	RedriveDrops bool
}

// The suite's queues. A fragile one moves a message to its dead letters after limit receives.
const (
	tasks         = "tasks"
	orders        = "orders" // FIFO
	fragile       = "fragile"
	fragileOrders = "fragile-orders" // FIFO
	limit         = 3
)

// settings are the settings of the suite's queues.
func (h Harness) settings() map[string]queue.Settings {
	all := map[string]queue.Settings{
		tasks:         {},
		orders:        {FIFO: true},
		fragile:       {MaxReceives: limit},
		fragileOrders: {MaxReceives: limit, FIFO: true},
	}
	for _, name := range []string{tasks, orders, fragile, fragileOrders} {
		s := all[name]
		s.Visibility = h.Visibility
		all[name] = s
		s.MaxReceives = 0
		all[queue.DeadLetters(name)] = s
	}
	return all
}

// test is one test of the suite.
type test struct {
	name string
	run  func(f *fixture)
}

// Run tests an adapter.
func Run(t *testing.T, h Harness) {
	if h.Visibility == 0 {
		h.Visibility = 30 * time.Second
	}
	groups := []struct {
		name  string
		tests []test
		skip  bool
	}{
		{name: "Send", tests: sendTests},
		{name: "Invalid", tests: invalidTests},
		{name: "Receive", tests: receiveTests},
		{name: "Delay", tests: delayTests},
		{name: "Visibility", tests: visibilityTests},
		{name: "Delete", tests: deleteTests},
		{name: "DeadLetters", tests: deadTests},
		{name: "FIFO", tests: fifoTests},
		{name: "Depth", tests: depthTests, skip: !h.Inspects},
		{name: "Redrive", tests: redriveTests, skip: !h.Redrives},
		{name: "Browse", tests: browseTests, skip: !h.Browses},
		{name: "Parallel", tests: parallelTests},
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
