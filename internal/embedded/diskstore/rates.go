package diskstore

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// Reserve implements store.Rates. The mark, in microseconds since 1970, is on the disk when it
// returns nil. A damaged mark is reported and replaced: the rate begins anew, and permits at most
// one burst too many.
func (s *Store) Reserve(ctx context.Context, reservation store.Reservation) (at time.Time, err error) {
	key := []byte("rate/" + reservation.TaskQueue)
	err = s.write(ctx, func(tx *disk.Tx) error {
		mark := int64(0)
		standing, err := s.getOrReplace(tx, key)
		if err != nil {
			return err
		}
		if standing != nil && len(standing) != 8 {
			s.db.Report(malformed(disk.Marks, key))
			standing = nil
		}
		if standing != nil {
			mark = int64(binary.BigEndian.Uint64(standing))
		}
		next, err := reservation.Next(mark)
		if err != nil {
			return err
		}
		at = fromMicros(next)
		tx.Put(disk.Marks, key, binary.BigEndian.AppendUint64(nil, uint64(next)))
		return nil
	})
	return at, err
}
