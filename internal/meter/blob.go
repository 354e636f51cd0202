package meter

import (
	"context"

	"github.com/seed-41655fb1/weft/blob"
)

// Blobs counts the bodies that are offloaded, and read back.
func Blobs(inner blob.Blobs) blob.Blobs { return &blobs{inner} }

type blobs struct{ blob.Blobs }

// Put counts a put.
func (b *blobs) Put(ctx context.Context, key string, body []byte) error {
	of(ctx).add(Cost{BlobPuts: 1})
	return b.Blobs.Put(ctx, key, body)
}

// Get counts a get.
func (b *blobs) Get(ctx context.Context, key string) ([]byte, error) {
	of(ctx).add(Cost{BlobGets: 1})
	return b.Blobs.Get(ctx, key)
}
