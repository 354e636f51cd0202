package backend_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// countingStore counts the appends to a store in memory.
type countingStore struct {
	*memory.Store // the concrete type, whose methods include those of store.Lister
	appends       atomic.Int64
}

// Append implements store.Log.
func (c *countingStore) Append(ctx context.Context, items ...store.Item) error {
	c.appends.Add(1)
	return c.Store.Append(ctx, items...)
}

func TestCountingStore(t *testing.T) {
	t.Parallel()
	const maxBody = 256 << 10
	storetest.Run(t, storetest.Harness{
		New: func(*testing.T) func() storetest.Store {
			s := &countingStore{Store: memory.New(memory.Options{MaxBody: maxBody})}
			return func() storetest.Store { return s } // memory survives a reopening
		},
		MaxBody: maxBody, PageBytes: 1 << 20, Reopens: true, Lists: true,
	})
}
