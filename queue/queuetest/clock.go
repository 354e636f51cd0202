package queuetest

import (
	"sync"
	"time"
)

// ManualClock is a clock that only moves when told to, for a queue in the test's process. It is
// safe for concurrent use.
type ManualClock struct {
	mu    sync.Mutex
	now   time.Time
	moved func()
}

// NewClock returns a clock that shows some fixed time.
func NewClock() *ManualClock {
	return &ManualClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// Now returns the time that the clock shows.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock and calls the function that OnMove set.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	moved := c.moved
	c.mu.Unlock()
	if moved != nil {
		moved()
	}
}

// OnMove sets the function that is called after each move, and replaces the previous one.
func (c *ManualClock) OnMove(moved func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved = moved
}
