package embedded

import (
	"context"
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/store"
)

// Reserve implements store.Rates. When it returns nil the mark is on the disk, in microseconds since 1970.
func (s *Store) Reserve(ctx context.Context, slot store.Slot) (at time.Time, err error) {
	key := []byte("rate/" + slot.TaskQueue)
	err = s.write(ctx, func(tx *bbolt.Tx) error {
		bucket, mark := tx.Bucket(marksBucket), int64(0)
		if standing := bucket.Get(key); standing != nil {
			mark = int64(binary.BigEndian.Uint64(standing))
		}
		next, err := slot.Next(mark)
		if err != nil {
			return err
		}
		at = fromMicros(next)
		return bucket.Put(key, binary.BigEndian.AppendUint64(nil, uint64(next)))
	})
	return at, err
}
