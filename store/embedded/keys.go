package embedded

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/store"
)

// signingKey is where the key is kept that the server signs with.
var signingKey = []byte("key")

// ReadKey implements store.Keys.
func (s *Store) ReadKey(ctx context.Context) (key []byte, err error) {
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		key = bytes.Clone(tx.Bucket(marksBucket).Get(signingKey))
		return nil
	})
	return key, err
}

// MakeKey implements store.Keys. When it returns nil the key is on the disk.
func (s *Store) MakeKey(ctx context.Context, key []byte) error {
	return s.write(ctx, func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(marksBucket)
		if bucket.Get(signingKey) != nil {
			return fmt.Errorf("%w: there is a key", store.ErrStale)
		}
		return bucket.Put(signingKey, key)
	})
}
