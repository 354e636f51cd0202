package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/store"
)

func timerKey(t store.Timer) []byte {
	return append(binary.BigEndian.AppendUint64(nil, sortable(t.Due.UnixMicro())), t.ID...)
}

// PutTimers implements store.Timers. When it returns nil the timers are on the disk; a crash before that leaves all of
// them or none.
func (s *Store) PutTimers(ctx context.Context, timers []store.Timer) error {
	for _, t := range timers {
		if err := fits(t.Body); err != nil {
			return err
		}
	}
	return s.write(ctx, func(tx *bbolt.Tx) error {
		for _, t := range timers {
			if err := tx.Bucket(timersBucket).Put(timerKey(t), t.Body); err != nil {
				return err
			}
		}
		return nil
	})
}

// DueTimers implements store.Timers.
func (s *Store) DueTimers(ctx context.Context, before time.Time, limit int) (timers []store.Timer, err error) {
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		timers = nil
		c := tx.Bucket(timersBucket).Cursor()
		end := binary.BigEndian.AppendUint64(nil, sortable(before.UnixMicro()))
		for k, v := c.First(); k != nil && len(timers) < limit && bytes.Compare(k[:8], end) < 0; k, v = c.Next() {
			due := int64(binary.BigEndian.Uint64(k) ^ 1<<63)
			timers = append(timers, store.Timer{ID: string(k[8:]), Due: time.UnixMicro(due).UTC(), Body: bytes.Clone(v)})
		}
		return nil
	})
	return timers, err
}

// DeleteTimers implements store.Timers. A crash before it is on the disk leaves timers that are sent again.
func (s *Store) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	return s.write(ctx, func(tx *bbolt.Tx) error {
		for _, t := range timers {
			if err := tx.Bucket(timersBucket).Delete(timerKey(t)); err != nil {
				return err
			}
		}
		return nil
	})
}
