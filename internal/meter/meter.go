// Package meter counts what a request costs: the units that a store and a queue bill. Nothing is
// estimated: each call is counted.
package meter

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/seed-41655fb1/weft/store"
)

// Cost is what something cost.
type Cost struct {
	// Writes are conditional puts and other writes that were applied, or may have been.
	Writes int64
	// Lost are conditional writes whose condition failed: billed, and nothing written.
	Lost int64
	// Reads are pages of consistent queries.
	Reads int64
	// Messages are messages sent.
	Messages int64
	// BlobPuts and BlobGets are large bodies that were offloaded, and read back.
	BlobPuts, BlobGets int64
}

// String returns the value of the Weft-Cost header. Lost races and blobs appear only if there were
// any.
func (c Cost) String() string {
	s := fmt.Sprintf("writes=%d, reads=%d, messages=%d", c.Writes, c.Reads, c.Messages)
	if c.Lost > 0 {
		s += fmt.Sprintf(", lost=%d", c.Lost)
	}
	if c.BlobPuts+c.BlobGets > 0 {
		s += fmt.Sprintf(", blobPuts=%d, blobGets=%d", c.BlobPuts, c.BlobGets)
	}
	return s
}

// Meter adds up costs. Its zero value is ready to use, by many goroutines.
type Meter struct {
	writes, lost, reads, messages, puts, gets atomic.Int64
	waits                                     atomic.Int32
}

// Waits is what some work waits for.
type Waits int32

// What work waits for.
const (
	// ForNothing here: its last call was answered.
	ForNothing Waits = iota
	// ForStore and ForQueue: the last call is in flight, or has failed.
	ForStore
	ForQueue
	// ForRace: others wrote first.
	ForRace
)

// WaitsOf returns what the work of a context waits for, as the last of its calls shows.
func WaitsOf(ctx context.Context) Waits {
	if c := of(ctx); c != nil {
		return Waits(c.meter.waits.Load())
	}
	return ForNothing
}

// Cost returns the sum so far.
func (m *Meter) Cost() Cost {
	return Cost{
		Writes: m.writes.Load(), Lost: m.lost.Load(), Reads: m.reads.Load(), Messages: m.messages.Load(),
		BlobPuts: m.puts.Load(), BlobGets: m.gets.Load(),
	}
}

// chain is the meters of a context, the one that was added last first. A nil chain has none.
type chain struct {
	meter *Meter
	outer *chain
}

type key struct{}

// With returns a context whose costs are added up in the returned meter, and in the meters of ctx.
func With(ctx context.Context) (context.Context, *Meter) {
	m := &Meter{}
	return m.Counting(ctx), m
}

// Counting is With for an existing meter: it counts the costs of several requests together.
func (m *Meter) Counting(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, &chain{m, of(ctx)})
}

// of returns the meters of the context.
func of(ctx context.Context) *chain {
	c, _ := ctx.Value(key{}).(*chain)
	return c
}

func (c *chain) add(cost Cost) {
	for ; c != nil; c = c.outer {
		c.meter.writes.Add(cost.Writes)
		c.meter.lost.Add(cost.Lost)
		c.meter.reads.Add(cost.Reads)
		c.meter.messages.Add(cost.Messages)
		c.meter.puts.Add(cost.BlobPuts)
		c.meter.gets.Add(cost.BlobGets)
	}
}

// begin records that a call is in flight.
func (c *chain) begin(w Waits) *chain {
	for m := c; m != nil; m = m.outer {
		m.meter.waits.Store(int32(w))
	}
	return c
}

// end records the error of the last call.
func (c *chain) end(err error) {
	if err == nil {
		c.begin(ForNothing)
		return
	}
	if _, lost := errors.AsType[*store.Conflict](err); lost || errors.Is(err, store.ErrStale) {
		c.begin(ForRace)
	}
}

func (c *chain) read() { c.add(Cost{Reads: 1}) }
