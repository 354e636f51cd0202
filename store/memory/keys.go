package memory

import (
	"bytes"
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/store"
)

// ReadKey implements store.Keys.
func (s *Store) ReadKey(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.key), nil
}

// MakeKey implements store.Keys.
func (s *Store) MakeKey(ctx context.Context, key []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil {
		return fmt.Errorf("%w: a key exists already", store.ErrStale)
	}
	s.key = bytes.Clone(key)
	return nil
}
