package diskstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// attemptsOf returns the prefix of the keys of a run's attempts.
func attemptsOf(workflow string, run uint32) []byte {
	return binary.BigEndian.AppendUint32(workflowPrefix(workflow), run)
}

// keyOfAttempt returns the key of the record of an attempt. Each event has one.
func keyOfAttempt(a store.Attempt) []byte {
	return binary.BigEndian.AppendUint64(attemptsOf(a.Workflow, a.Run), uint64(a.Event))
}

// RecordAttempt implements store.Attempts. The record is on the disk when it returns nil. A crash
// before that leaves the earlier record, and the queue redelivers the attempt's message.
func (s *Store) RecordAttempt(ctx context.Context, a store.Attempt) error {
	if err := fits(a.Body); err != nil {
		return err
	}
	if len(a.RunID) > maxRunID {
		return fmt.Errorf("diskstore: a run id of %d bytes: at most %d", len(a.RunID), maxRunID)
	}
	key := keyOfAttempt(a)
	return s.writeSized(ctx, len(a.Body), func(tx *disk.Tx) error {
		there, err := getAttempt(tx, key)
		if err != nil {
			return err
		}
		if there != nil && there.RunID == a.RunID && there.Number >= a.Number {
			return fmt.Errorf("%w: attempt %d of event %d", store.ErrStale, a.Number, a.Event)
		}
		tx.Put(disk.Attempts, key, encodeAttempt(a))
		return nil
	})
}

// getAttempt reads a record. It returns nil if there is none.
func getAttempt(tx *disk.Tx, key []byte) (*store.Attempt, error) {
	value, err := tx.Get(disk.Attempts, key)
	if value == nil || err != nil {
		return nil, err
	}
	a, err := decodeAttempt(key, value)
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// ReadAttempts implements store.Attempts.
func (s *Store) ReadAttempts(ctx context.Context, workflow string, run uint32) (attempts []store.Attempt, err error) {
	prefix := attemptsOf(workflow, run)
	err = s.read(ctx, func(tx *disk.Tx) error {
		attempts = nil
		var bad error
		err := tx.Ascend(disk.Attempts, prefix, disk.After(prefix), func(k, v []byte) bool {
			var a store.Attempt
			if a, bad = decodeAttempt(k, v); bad != nil {
				return false
			}
			a.Workflow, a.Run, a.Event = workflow, run, int64(binary.BigEndian.Uint64(k[len(prefix):]))
			attempts = append(attempts, a)
			return true
		})
		return errors.Join(err, bad)
	})
	return attempts, err
}

// maxRunID is the longest run id, in bytes. Weft's have 27 at most.
const maxRunID = 255

// withRunID is set in the number of a record with a run id: the body is then preceded by the id's
// length in one byte, and the id. Earlier versions wrote none.
const withRunID = 1 << 63

// encodeAttempt returns the value of a record: its number, its expiry in seconds, its run id and
// its body.
func encodeAttempt(a store.Attempt) []byte {
	number := uint64(a.Number)
	if a.RunID != "" {
		number |= withRunID
	}
	value := binary.BigEndian.AppendUint64(nil, number)
	value = binary.BigEndian.AppendUint64(value, uint64(seconds(a.Expires)))
	if a.RunID != "" {
		value = append(append(value, byte(len(a.RunID))), a.RunID...)
	}
	return append(value, a.Body...)
}

// decodeAttempt reads the result of encodeAttempt. Its result does not share memory with value,
// which belongs to the file.
func decodeAttempt(key, value []byte) (a store.Attempt, err error) {
	const fixed = 8 + 8
	if !isOfWorkflow(key, 4+8) || len(value) < fixed {
		return a, malformed(disk.Attempts, key)
	}
	number := binary.BigEndian.Uint64(value)
	a.Number = int(number &^ withRunID)
	if s := int64(binary.BigEndian.Uint64(value[8:])); s != 0 {
		a.Expires = fromMicros(s * 1e6)
	}
	rest := value[fixed:]
	if number&withRunID != 0 {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return a, malformed(disk.Attempts, key)
		}
		n := int(rest[0])
		a.RunID, rest = string(rest[1:1+n]), rest[1+n:]
	}
	a.Body = bytes.Clone(rest)
	return a, nil
}
