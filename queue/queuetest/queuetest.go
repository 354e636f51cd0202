// Package queuetest is the conformance suite of the queue port, and its specification in code: every adapter passes it,
// and a sentence of the port that is not tested here is not promised.
//
// An adapter's own test says what it is like in a [Harness] and calls [Run]:
//
//	func TestConformance(t *testing.T) {
//		queuetest.Run(t, queuetest.Harness{
//			New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
//				clock := queuetest.NewClock()
//				dir, last := t.TempDir(), (*embedded.Queue)(nil)
//				return func() queuetest.Queue {
//					last = ... // end the one before as a crash would, and open what is in dir with clock.Now
//					clock.OnMove(last.Tick)
//					return last
//				}, clock
//			},
//			MaxBody: 256 << 10, Reopens: true,
//		})
//	}
//
// The suite never waits for time to pass: it moves the clock. It keeps the rules that callers have,
// so that a fake which checks them can pass it. It never asks which adapter it tests: the
// differences between adapters are values of the harness.
//
// That a message is not delivered is shown by another one, a probe, that was sent later and is delivered without it. An
// adapter that never delivers a message makes its test wait for ever: go test's -timeout shows where.
package queuetest

import (
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/queue"
)

// Queue is what an adapter has that is both ends of its queues.
type Queue = queue.Queue

// Clock is the time by which a queue delays messages and ends their flight.
type Clock interface {
	Now() time.Time
	// Advance moves the time on by d, or a little more, and returns when the queue has been told. The clock of a service
	// that has its own time waits.
	Advance(d time.Duration)
}

// Harness is what the suite knows of an adapter.
type Harness struct {
	// New makes a place for new, empty queues with these settings, and returns what opens the queues that are there, and
	// their clock. Each test has a place of its own, and tests run in parallel. Where Reopens is set, the suite calls
	// open again while it uses nothing of the queues opened before; open ends those first, without a goodbye if it can.
	// What has to be closed in the end is closed by t.Cleanup.
	New func(t *testing.T, settings map[string]queue.Settings) (open func() Queue, clock Clock)
	// Visibility is the time-out of the suite's queues, and the unit of the delays in it; 0 is 30 seconds. Where the
	// clock waits, a few seconds spare a lot of waiting.
	Visibility time.Duration
	// MaxBody is a size that a message may have. One of twice the size is refused.
	MaxBody int
	// Duplicates says that a standard queue may deliver a message that is in flight.
	Duplicates bool
	// GroupLeaks says that a group is let go when one of its messages is given back, although another of it is in flight:
	// a server lies. Then no group has more than one message in flight in a test that gives messages of it back.
	GroupLeaks bool
	// Reopens says that what was sent outlives the queues that were opened.
	Reopens bool
}

// The suite's queues. Those called fragile give a message up after limit receives.
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
