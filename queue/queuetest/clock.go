package queuetest

import (
	"sync"
	"time"
)

// ManualClock is a clock that stands until it is moved: the Clock of a queue that lives in the
// test's process. It is safe for concurrent use.
type ManualClock struct {
	mu    sync.Mutex
	now   time.Time
	moved func()
}

// NewClock returns a clock that stands at some moment.
func NewClock() *ManualClock {
	return &ManualClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// Now is the moment at which the clock stands.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock and tells whoever follows it.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	moved := c.moved
	c.mu.Unlock()
	if moved != nil {
		moved()
	}
}

// OnMove sets what is called after each move, in place of what was set before.
func (c *ManualClock) OnMove(moved func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved = moved
}
