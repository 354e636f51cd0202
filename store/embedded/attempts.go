package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/store"
)

// attemptsOf begins the keys of the attempts of a run.
func attemptsOf(workflow string, run uint32) []byte {
	return binary.BigEndian.AppendUint32(workflowPrefix(workflow), run)
}

// RecordAttempt implements store.Attempts. When it returns nil the record is on the disk; a crash before that leaves the
// one before it, and the message of the attempt comes again.
func (s *Store) RecordAttempt(ctx context.Context, a store.Attempt) error {
	if err := fits(a.Body); err != nil {
		return err
	}
	key := binary.BigEndian.AppendUint64(attemptsOf(a.Workflow, a.Run), uint64(a.Event))
	return s.write(ctx, func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(attemptsBucket)
		if standing := bucket.Get(key); standing != nil && int(binary.BigEndian.Uint64(standing)) >= a.Number {
			return fmt.Errorf("%w: attempt %d of event %d", store.ErrStale, a.Number, a.Event)
		}
		value := binary.BigEndian.AppendUint64(nil, uint64(a.Number))
		value = binary.BigEndian.AppendUint64(value, uint64(seconds(a.Expires)))
		return bucket.Put(key, append(value, a.Body...))
	})
}

// ReadAttempts implements store.Attempts.
func (s *Store) ReadAttempts(ctx context.Context, workflow string, run uint32) (attempts []store.Attempt, err error) {
	prefix := attemptsOf(workflow, run)
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		attempts = nil
		c := tx.Bucket(attemptsBucket).Cursor()
		for k, v := c.Seek(prefix); len(k) == len(prefix)+8 && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			a := store.Attempt{
				Workflow: workflow, Run: run, Event: int64(binary.BigEndian.Uint64(k[len(prefix):])),
				Number: int(binary.BigEndian.Uint64(v)), Body: bytes.Clone(v[16:]),
			}
			if s := int64(binary.BigEndian.Uint64(v[8:])); s != 0 {
				a.Expires = fromMicros(s * 1e6)
			}
			attempts = append(attempts, a)
		}
		return nil
	})
	return attempts, err
}
