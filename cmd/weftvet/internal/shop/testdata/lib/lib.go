// Package lib is a library of another module.
package lib

import (
	"sync"
	"time"
)

var mu sync.Mutex

// Now asks for the time.
func Now() time.Time { return time.Now() }

func second() { Now() }

// Third is three calls from the clock.
func Third() { second() }

func third() { Third() }

// Fourth is further.
func Fourth() { third() }

// Locked locks.
func Locked() {
	mu.Lock()
	defer mu.Unlock()
}

// Counter counts.
type Counter struct{ n int }

// Add adds.
func (c *Counter) Add(n int) { c.n += n }

// Cached counts what is cached.
var Cached Counter

// Keys are the keys, in any order.
func Keys(m map[string]int) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// Get is what was counted.
func (c *Counter) Get() int { return c.n }
