// Package awsmeter counts what requests to DynamoDB, SQS, KMS and S3 cost. It counts in the SDK's
// middleware, below its retries, so that each request counts. It estimates nothing: it counts
// requests that were answered or may have been carried out, and takes units from DynamoDB's
// answers.
//
// [internal/meter] counts the calls of the ports, whatever implements them. The two agree if a call
// of a port is a single request: always for appends, records of attempts and pages of the log. They
// differ if a call is several requests, such as a read of timers or of the list from several
// shards, or if a request was repeated.
//
// DynamoDB bills a conditional write whose condition failed, but does not report its units. Lost
// counts such writes.
//
// [internal/meter]: https://pkg.go.dev/github.com/seed-41655fb1/weft/internal/meter
package awsmeter

import (
	"context"
	"sync"
)

// Cost is the cost of requests.
type Cost struct {
	// Writes are items written or deleted, or that may have been.
	Writes int64
	// Lost are conditional writes whose condition failed. Each item of a transaction counts.
	Lost int64
	// StrongReads and EventualReads are requests that read, such as one page of a query.
	StrongReads, EventualReads int64
	// Throttled are requests to DynamoDB that were refused for now. They cost nothing.
	Throttled int64
	// WriteUnits, IndexUnits and ReadUnits are what DynamoDB consumed: for writes to the table, for
	// its indexes, and for reads. They are counted only if the meter asks for them.
	WriteUnits, IndexUnits, ReadUnits float64
	// Requests are requests to SQS, and Chunks what they are billed as: one for each 64 KB that
	// they carry, and at least one.
	Requests, Chunks int64
	// FIFOChunks are the Chunks that are billed at the price of FIFO queues.
	FIFOChunks int64
	// Messages are messages that SQS accepted, or may have accepted.
	Messages int64

	// KeyRequests are requests to KMS that create or unwrap a data key.
	KeyRequests int64
	// BlobPuts are requests to S3 that put an object or list objects, which have the same price.
	// BlobGets are requests that get an object. Deletions are free.
	BlobPuts, BlobGets int64
}

// Minus returns the difference of c and d.
func (c Cost) Minus(d Cost) Cost {
	c.add(d, -1)
	return c
}

// add adds d, multiplied by sign.
func (c *Cost) add(d Cost, sign int64) {
	c.Writes += sign * d.Writes
	c.Lost += sign * d.Lost
	c.StrongReads += sign * d.StrongReads
	c.EventualReads += sign * d.EventualReads
	c.Throttled += sign * d.Throttled
	c.WriteUnits += float64(sign) * d.WriteUnits
	c.IndexUnits += float64(sign) * d.IndexUnits
	c.ReadUnits += float64(sign) * d.ReadUnits
	c.Requests += sign * d.Requests
	c.Chunks += sign * d.Chunks
	c.FIFOChunks += sign * d.FIFOChunks
	c.Messages += sign * d.Messages
	c.KeyRequests += sign * d.KeyRequests
	c.BlobPuts += sign * d.BlobPuts
	c.BlobGets += sign * d.BlobGets
}

// Meter adds up costs. Its zero value is ready for use by many goroutines.
type Meter struct {
	mu   sync.Mutex
	cost Cost
}

// Cost returns the sum so far.
func (m *Meter) Cost() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost
}

func (m *Meter) add(c Cost) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost.add(c, 1)
}

// chain is the list of a context's meters, the last added first.
type chain struct {
	meter *Meter
	outer *chain
}

type key struct{}

// With returns a context whose costs are added up in the returned meter, and in the meters that ctx
// already has.
func With(ctx context.Context) (context.Context, *Meter) {
	m := &Meter{}
	return m.Counting(ctx), m
}

// Counting is With for an existing meter.
func (m *Meter) Counting(ctx context.Context) context.Context {
	outer, _ := ctx.Value(key{}).(*chain)
	return context.WithValue(ctx, key{}, &chain{m, outer})
}

// add adds a cost to all meters of the context.
func add(ctx context.Context, c Cost) {
	for at, _ := ctx.Value(key{}).(*chain); at != nil; at = at.outer {
		at.meter.add(c)
	}
}
