package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// RequestCost is what requests have cost, as the server has counted it: writes, reads and messages.
// docs/cost.md says what AWS bills for each.
type RequestCost struct {
	// Writes are writes to the store, and Reads are reads from it. Messages are messages sent.
	Writes, Reads, Messages int64
	// Lost are writes that lost a race: billed, and nothing written.
	Lost int64
	// BlobPuts and BlobGets are large bodies that were offloaded, and read back.
	BlobPuts, BlobGets int64
}

// Add adds another cost to this one.
func (c *RequestCost) Add(other RequestCost) {
	c.Writes += other.Writes
	c.Reads += other.Reads
	c.Messages += other.Messages
	c.Lost += other.Lost
	c.BlobPuts += other.BlobPuts
	c.BlobGets += other.BlobGets
}

// Meter adds up what the calls with a context have cost. It is safe for concurrent use.
type Meter struct {
	outer *Meter
	mu    sync.Mutex
	sum   RequestCost
}

type meterKey struct{}

// Metered returns a context whose calls are added up in the returned meter, and in the meters that
// the context has already:
//
//	ctx, cost := client.Metered(ctx)
//	total, err := AddItem.Call(ctx, c, "cart-42", item)
//	log.Printf("%d writes", cost.Sum().Writes)
//
// A call counts with all its attempts and polls, and also if it is refused. A response that was
// lost does not count, so a sum after a lost response is the least that the calls have cost.
func Metered(ctx context.Context) (context.Context, *Meter) {
	m := &Meter{outer: meterOf(ctx)}
	return context.WithValue(ctx, meterKey{}, m), m
}

// Sum returns the cost so far.
func (m *Meter) Sum() RequestCost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sum
}

func meterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}

// meter adds the cost of a response to the meters of the context.
func meter(ctx context.Context, resp *http.Response) {
	m := meterOf(ctx)
	if m == nil {
		return
	}
	cost := costOf(resp.Header.Get("Weft-Cost"))
	for ; m != nil; m = m.outer {
		m.mu.Lock()
		m.sum.Add(cost)
		m.mu.Unlock()
	}
}

// costOf parses the header Weft-Cost. It ignores what it does not know: a proxy's answer has no
// header, and a later server may count more.
func costOf(header string) (c RequestCost) {
	parts := map[string]*int64{
		"writes": &c.Writes, "reads": &c.Reads, "messages": &c.Messages, "lost": &c.Lost, "blobPuts": &c.BlobPuts, "blobGets": &c.BlobGets,
	}
	for part := range strings.SplitSeq(header, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && parts[name] != nil && n > 0 {
			*parts[name] = n
		}
	}
	return c
}
