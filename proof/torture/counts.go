package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// counts is what a counting server has done so far, and what it now has.
type counts struct {
	// Invocations are the answered requests, and the handled parts of messages, that have cost
	// something. A deployment would invoke a function for each.
	Writes, Reads, Messages, Invocations int64
	// Closed is how many runs have ended.
	Closed int64
	// Goroutines is the number of goroutines. Heap is the live heap after a collection, in bytes.
	Goroutines, Heap int64
}

// counter is a telemetry that counts.
type counter struct {
	mu  sync.Mutex
	all counts
}

// Observe implements observe.Sink.
func (c *counter) Observe(_ context.Context, e observe.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case *observe.Request:
		c.spend(e.Cost)
	case *observe.Spent:
		c.spend(e.Cost)
	case *observe.Closed:
		c.all.Closed++
	}
}

func (c *counter) spend(cost meter.Cost) {
	if cost == (meter.Cost{}) {
		return
	}
	c.all.Invocations++
	c.all.Writes += cost.Writes + cost.Lost // AWS bills both
	c.all.Reads += cost.Reads
	c.all.Messages += cost.Messages
}

// Request implements observe.Tracer.
func (c *counter) Request(ctx context.Context, _ *observe.Request) (context.Context, func()) {
	return ctx, func() {}
}

// Attempt implements observe.Tracer.
func (c *counter) Attempt(ctx context.Context, _ *observe.Attempt) (context.Context, func()) {
	return ctx, func() {}
}

// TraceParent implements observe.Tracer.
func (c *counter) TraceParent(context.Context) string { return "" }

// Flush implements observe.Telemetry.
func (c *counter) Flush(context.Context) error { return nil }

// Close implements observe.Telemetry.
func (c *counter) Close(context.Context) error { return nil }

// now returns the counts. If collect is set, it collects garbage first.
func (c *counter) now(collect bool) counts {
	if collect {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.all
	n.Goroutines, n.Heap = int64(runtime.NumGoroutine()), int64(m.HeapAlloc)
	return n
}

// serveCounted does the same as serve, with a telemetry that counts. It answers each line of the
// standard input with the counts.
func serveCounted() {
	c := &counter{}
	go c.answer(os.Stdin, os.Stdout)
	weft.Main(weft.Register(registry()...), weft.Options{Telemetry: func(context.Context, observe.Settings) (observe.Telemetry, error) { return c, nil }})
}

// answer answers lines until the input ends.
func (c *counter) answer(in io.Reader, out io.Writer) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		text, err := json.Marshal(c.now(lines.Text() == "collect"))
		if err == nil {
			_, _ = fmt.Fprintf(out, "%s%s\n", countsPrefix, text)
		}
	}
}

// countsPrefix is the beginning of a line of the standard output with counts.
const countsPrefix = "counts "

// count asks a counting server for its counts.
func (p *server) count(collect bool) (n counts, err error) {
	ask := "count"
	if collect {
		ask = "collect"
	}
	if _, err := fmt.Fprintln(p.stdin, ask); err != nil {
		return n, err
	}
	for late := time.After(startWithin); ; {
		select {
		case line := <-p.lines:
			if len(line) > len(countsPrefix) && line[:len(countsPrefix)] == countsPrefix {
				return n, json.Unmarshal([]byte(line[len(countsPrefix):]), &n)
			}
		case <-p.exited:
			return n, errNoStart
		case <-late:
			return n, errors.New("the server did not print its counts")
		}
	}
}
