// Package channels has what the rule channel finds, and what it does not.
package channels

import (
	"sync"

	"github.com/seed-41655fb1/weft/workflow"
)

// What initializes a variable stands in no function.
var (
	started = make(chan int)
	first   = <-started
)

func run(ctx workflow.Context, c chan int) (n int, err error) {
	c <- 1             // want `workflow code sends to a Go channel: use workflow.Channel, which waits with the workflow \[channel\]`
	n = <-c            // want `receives from a Go channel`
	for m := range c { // want `ranges over a Go channel`
		n += m
	}
	select { // want `selects between Go channels: use workflow.Select`
	case m := <-c:
		n += m
	case c <- n:
	default:
		n = <-c // want `receives from a Go channel`
	}
	close(c) // want `closes a Go channel`
	return n, nil
}

func generic[C ~chan int](ctx workflow.Context, c C) {
	for range c { // want `ranges over a Go channel`
	}
}

func locks(ctx workflow.Context, mu *sync.RWMutex, c *sync.Cond) {
	mu.Lock() // want `calls sync.RWMutex.Lock: use workflow.Mutex`
	mu.Unlock()
	mu.RLock() // want `calls sync.RWMutex.RLock`
	c.Wait()   // want `calls sync.Cond.Wait: use workflow.Await`
	c.L.Lock() // want `calls sync.Locker.Lock`
	var g sync.WaitGroup
	g.Wait() // want `calls sync.WaitGroup.Wait`
}

func fine(ctx workflow.Context) (int, error) {
	c := workflow.NewChannel[int](1)
	if err := c.Send(ctx, 1); err != nil {
		return 0, err
	}
	for range 3 {
	}
	return c.Receive(ctx)
}
