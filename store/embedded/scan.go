package embedded

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

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
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		items, next = nil, ""
		c := tx.Bucket(logBucket).Cursor()
		k, v := c.Seek(after)
		if bytes.Equal(k, after) && len(after) > 0 {
			k, v = c.Next()
		}
		var last []byte
		for size := 0; k != nil; k, v = c.Next() {
			size += len(k) + len(v)
			if full(len(items), limit, size) {
				next = base64.RawURLEncoding.EncodeToString(last)
				return nil
			}
			last = bytes.Clone(k)
			items = append(items, decodeItem(decodeKey(workflowOf(k), k), v))
		}
		return nil
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
	err := s.write(ctx, func(tx *bbolt.Tx) error {
		stale = nil
		deleted := 0
		for _, item := range items {
			key := logKey(item.Key)
			standing := tx.Bucket(logBucket).Get(key)
			if standing == nil {
				continue
			}
			there := decodeItem(item.Key, standing)
			if there.Commit != item.Commit {
				stale = fmt.Errorf("%w: another commit stands at %v", store.ErrStale, item.Key)
				continue
			}
			if err := errors.Join(tx.Bucket(expiryBucket).Delete(expiryKey(there.Expires, key)), expire(tx, key)); err != nil {
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

func deleteAttempts(tx *bbolt.Tx, attempts []store.Attempt) (deleted int, stale, err error) {
	bucket := tx.Bucket(attemptsBucket)
	for _, a := range attempts {
		key := binary.BigEndian.AppendUint64(attemptsOf(a.Workflow, a.Run), uint64(a.Event))
		standing := bucket.Get(key)
		if standing == nil {
			continue
		}
		if there := decodeAttempt(standing); there.Number != a.Number || there.RunID != a.RunID {
			stale = fmt.Errorf("%w: attempt %d of run %q is recorded of event %d", store.ErrStale, there.Number, there.RunID, a.Event)
			continue
		}
		if err := bucket.Delete(key); err != nil {
			return deleted, stale, err
		}
		deleted++
	}
	return deleted, stale, nil
}

// ReadMark implements store.Scanner.
func (s *Store) ReadMark(ctx context.Context) (mark []byte, err error) {
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		mark = bytes.Clone(tx.Bucket(marksBucket).Get(markKey))
		return nil
	})
	return mark, err
}

// WriteMark implements store.Scanner. When it returns nil the mark is on the disk.
func (s *Store) WriteMark(ctx context.Context, old, mark []byte) error {
	return s.write(ctx, func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(marksBucket)
		if !bytes.Equal(bucket.Get(markKey), old) {
			return fmt.Errorf("%w: the mark was moved", store.ErrStale)
		}
		return bucket.Put(markKey, mark)
	})
}
