// Package memory holds blobs for as long as the process lives.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/blob"
)

// Blobs are blobs in memory. They are safe for concurrent use.
type Blobs struct {
	clock func() time.Time

	mu  sync.Mutex
	all map[string]kept
}

type kept struct {
	body []byte
	put  time.Time
}

var _ blob.Blobs = (*Blobs)(nil)

// New returns an empty store of blobs. clock gives the time at which blobs are put; nil is
// time.Now.
func New(clock func() time.Time) *Blobs {
	if clock == nil {
		clock = time.Now
	}
	return &Blobs{clock: clock, all: map[string]kept{}}
}

// Put implements blob.Blobs.
func (b *Blobs) Put(ctx context.Context, key string, body []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(body) > blob.MaxBody {
		return fmt.Errorf("%w: %d bytes, at most %d", blob.ErrTooLarge, len(body), blob.MaxBody)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[key] = kept{bytes.Clone(body), b.clock()}
	return nil
}

// Get implements blob.Blobs.
func (b *Blobs) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k, ok := b.all[key]
	if !ok {
		return nil, fmt.Errorf("%w: %s", blob.ErrMissing, key)
	}
	return bytes.Clone(k.body), nil
}

// List implements blob.Blobs.
func (b *Blobs) List(ctx context.Context, prefix, after string, limit int) (list []blob.Listed, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, k := range b.all {
		if strings.HasPrefix(key, prefix) && key > after {
			list = append(list, blob.Listed{Key: key, Put: k.put.UTC().Truncate(time.Second)})
		}
	}
	slices.SortFunc(list, func(a, b blob.Listed) int { return strings.Compare(a.Key, b.Key) })
	return list[:min(len(list), limit, blob.MaxBatch)], nil
}

// Delete implements blob.Blobs.
func (b *Blobs) Delete(ctx context.Context, keys ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range keys {
		delete(b.all, key)
	}
	return nil
}
