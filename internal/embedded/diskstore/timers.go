package diskstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

func timerKey(t store.Timer) []byte {
	return append(binary.BigEndian.AppendUint64(nil, sortable(t.Due.UnixMicro())), t.ID...)
}

// PutTimers implements store.Timers. The timers are on the disk when it returns nil. A crash before
// that leaves all of them or none.
func (s *Store) PutTimers(ctx context.Context, timers []store.Timer) error {
	bytes := 0
	for _, t := range timers {
		if err := fits(t.Body); err != nil {
			return err
		}
		bytes += len(t.Body)
	}
	return s.writeSized(ctx, bytes, func(tx *disk.Tx) error {
		for _, t := range timers {
			tx.Put(disk.Timers, timerKey(t), t.Body)
		}
		return nil
	})
}

// DueTimers implements store.Timers.
func (s *Store) DueTimers(ctx context.Context, before time.Time, limit int) (timers []store.Timer, err error) {
	err = s.read(ctx, func(tx *disk.Tx) error {
		timers = nil
		end := binary.BigEndian.AppendUint64(nil, sortable(before.UnixMicro()))
		return tx.AscendSound(disk.Timers, nil, end, func(k, v []byte) bool {
			if len(timers) == limit {
				return false
			}
			if len(k) < 8 {
				s.db.Report(malformed(disk.Timers, k))
				return true
			}
			due := int64(binary.BigEndian.Uint64(k) ^ 1<<63)
			timers = append(timers, store.Timer{ID: string(k[8:]), Due: time.UnixMicro(due).UTC(), Body: bytes.Clone(v)})
			return true
		})
	})
	return timers, err
}

// DeleteTimers implements store.Timers. A crash before the deletion is on the disk leaves timers
// that are sent again.
func (s *Store) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	return s.write(ctx, func(tx *disk.Tx) error {
		for _, t := range timers {
			tx.Delete(disk.Timers, timerKey(t))
		}
		return nil
	})
}
