// Package meter counts what a request costs: the units that a store and a queue bill. Nothing is estimated: the counts
// are taken where the calls are made.
package meter

import (
	"context"
	"fmt"
	"sync/atomic"
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
}

// String is the form of the Weft-Cost header. Lost races appear only where there were any.
func (c Cost) String() string {
	s := fmt.Sprintf("writes=%d, reads=%d, messages=%d", c.Writes, c.Reads, c.Messages)
	if c.Lost > 0 {
		s += fmt.Sprintf(", lost=%d", c.Lost)
	}
	return s
}

// Meter adds up costs. Its zero value is ready to use, by many goroutines.
type Meter struct{ writes, lost, reads, messages atomic.Int64 }

// Cost is the sum so far.
func (m *Meter) Cost() Cost {
	return Cost{Writes: m.writes.Load(), Lost: m.lost.Load(), Reads: m.reads.Load(), Messages: m.messages.Load()}
}

type key struct{}

// With returns a context whose costs are added up in the meter that comes with it.
func With(ctx context.Context) (context.Context, *Meter) {
	m := &Meter{}
	return context.WithValue(ctx, key{}, m), m
}

// of is the meter of the context, or one that nobody looks at.
func of(ctx context.Context) *Meter {
	if m, ok := ctx.Value(key{}).(*Meter); ok {
		return m
	}
	return &Meter{}
}
