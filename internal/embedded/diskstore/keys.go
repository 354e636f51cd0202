package diskstore

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// signingKey is the key in the file of the server's signing key.
var signingKey = []byte("key")

// ReadKey implements store.Keys.
func (s *Store) ReadKey(ctx context.Context) (key []byte, err error) {
	err = s.read(ctx, func(tx *disk.Tx) (err error) {
		key, err = tx.Get(disk.Marks, signingKey)
		return err
	})
	return key, err
}

// MakeKey implements store.Keys. The key is on the disk when it returns nil.
func (s *Store) MakeKey(ctx context.Context, key []byte) error {
	return s.write(ctx, func(tx *disk.Tx) error {
		standing, err := s.getOrReplace(tx, signingKey)
		if err != nil {
			return err
		}
		if standing != nil {
			return fmt.Errorf("%w: a key exists already", store.ErrStale)
		}
		tx.Put(disk.Marks, signingKey, key)
		return nil
	})
}
