package embedded

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// markKey is where the mark is kept.
var markKey = []byte("scan")

// Scan implements store.Scanner. The cursor is the key of the last item, which need not be there any more.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) (items []store.Item, next string, err error) {
	after, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(after) > 0 && !isLogKey(after) {
		return nil, "", fmt.Errorf("%w: %q", store.ErrBadToken, cursor)
	}
	err = s.read(ctx, func(tx *disk.Tx) error {
		items, next = nil, ""
		var last []byte
		size := 0
		return tx.AscendSound(disk.Log, after, nil, func(k, v []byte) bool {
			if len(after) > 0 && bytes.Equal(k, after) {
				return true
			}
			size += len(k) + len(v)
			if full(len(items), limit, size) {
				next = base64.RawURLEncoding.EncodeToString(last)
				return false
			}
			last = append(last[:0], k...)
			items = append(items, decodeItem(decodeKey(workflowOf(k), k), v))
			return true
		})
	})
	return items, next, err
}

// workflowOf is the workflow of a key of the log.
func workflowOf(key []byte) string { return string(key[2 : len(key)-8]) }

// isLogKey reports whether a key has the form of one that logKey makes.
func isLogKey(key []byte) bool {
	return len(key) >= 2+8 && len(key) == 2+int(binary.BigEndian.Uint16(key))+8
}

// Delete implements store.Scanner. It is one transaction: a crash leaves all or nothing.
func (s *Store) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	var stale error
	err := s.write(ctx, func(tx *disk.Tx) error {
		stale = nil
		deleted := 0
		for _, item := range items {
			there, err := get(tx, item.Key)
			switch {
			case err != nil:
				return err
			case there == nil:
				continue
			case there.Commit != item.Commit:
				stale = fmt.Errorf("%w: another commit stands at %v", store.ErrStale, item.Key)
				continue
			}
			key := logKey(item.Key)
			tx.Delete(disk.Expiry, expiryKey(there.Expires, key))
			if err := expire(tx, key); err != nil {
				return err
			}
			deleted++
		}
		n, stale2, err := deleteAttempts(tx, attempts)
		if stale = errors.Join(stale, stale2); deleted+n == 0 && err == nil {
			return errNothing
		}
		return err
	})
	if err != nil && !errors.Is(err, errNothing) {
		return err
	}
	return stale
}

func deleteAttempts(tx *disk.Tx, attempts []store.Attempt) (deleted int, stale, err error) {
	for _, a := range attempts {
		key := binary.BigEndian.AppendUint64(attemptsOf(a.Workflow, a.Run), uint64(a.Event))
		standing, err := tx.Get(disk.Attempts, key)
		if err != nil {
			return deleted, stale, err
		}
		if standing == nil {
			continue
		}
		if there := decodeAttempt(standing); there.Number != a.Number || there.RunID != a.RunID {
			stale = fmt.Errorf("%w: attempt %d of run %q is recorded of event %d", store.ErrStale, there.Number, there.RunID, a.Event)
			continue
		}
		tx.Delete(disk.Attempts, key)
		deleted++
	}
	return deleted, stale, nil
}

// ReadMark implements store.Scanner.
func (s *Store) ReadMark(ctx context.Context) (mark []byte, err error) {
	err = s.read(ctx, func(tx *disk.Tx) (err error) {
		mark, err = tx.Get(disk.Marks, markKey)
		return err
	})
	return mark, err
}

// WriteMark implements store.Scanner. When it returns nil the mark is on the disk.
func (s *Store) WriteMark(ctx context.Context, old, mark []byte) error {
	return s.write(ctx, func(tx *disk.Tx) error {
		standing, err := tx.Get(disk.Marks, markKey)
		if err != nil {
			return err
		}
		if !bytes.Equal(standing, old) {
			return fmt.Errorf("%w: the mark was moved", store.ErrStale)
		}
		tx.Put(disk.Marks, markKey, mark)
		return nil
	})
}
