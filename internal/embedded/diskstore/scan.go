package diskstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// markKey is the key of the mark.
var markKey = []byte("scan")

// Scan implements store.Scanner. The cursor is the key of the last item, which may have been
// deleted.
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
			item, err := decodeAny(k, v)
			if err != nil {
				s.db.Report(err)
				return true
			}
			size += len(k) + len(v)
			if full(len(items), limit, size) {
				next = base64.RawURLEncoding.EncodeToString(last)
				return false
			}
			last = append(last[:0], k...)
			items = append(items, item)
			return true
		})
	})
	return items, next, err
}

// Delete implements store.Scanner in one transaction: a crash leaves all or nothing. It leaves
// damaged items, because it is unknown whether they are what was read, and returns an error for
// them that wraps disk.ErrCorrupt. It deletes the others.
func (s *Store) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	keys := make([][]byte, len(items))
	for i, item := range items {
		keys[i] = logKey(item.Key)
	}
	var left map[string]rest
	err := s.read(ctx, func(tx *disk.Tx) (err error) {
		left, err = besides(tx, keys)
		return err
	})
	if err != nil {
		return err
	}
	var stay error
	err = s.write(ctx, func(tx *disk.Tx) error {
		stay = nil
		for i, item := range items {
			there, err := get(tx, item.Key)
			switch {
			case errors.Is(err, disk.ErrCorrupt):
				stay = errors.Join(stay, err)
				continue
			case err != nil:
				return err
			case there == nil:
				continue
			case there.Commit != item.Commit:
				stay = errors.Join(stay, fmt.Errorf("%w: there is another commit at %v", store.ErrStale, item.Key))
				continue
			}
			tx.Delete(disk.Expiry, expiryKey(there.Expires, keys[i]))
			if err := s.expire(tx, keys[i], there, left); err != nil {
				return err
			}
		}
		staying, err := deleteAttempts(tx, attempts)
		stay = errors.Join(stay, staying)
		return err
	})
	return damaged(cmp.Or(err, stay))
}

// deleteAttempts deletes attempts. stay says why it left some.
func deleteAttempts(tx *disk.Tx, attempts []store.Attempt) (stay, err error) {
	for _, a := range attempts {
		key := keyOfAttempt(a)
		there, err := getAttempt(tx, key)
		switch {
		case errors.Is(err, disk.ErrCorrupt):
			stay = errors.Join(stay, err)
		case err != nil:
			return stay, err
		case there == nil:
		case there.Number != a.Number || there.RunID != a.RunID:
			stay = errors.Join(stay, fmt.Errorf("%w: event %d has the record of attempt %d of run %q", store.ErrStale, a.Event, there.Number, there.RunID))
		default:
			tx.Delete(disk.Attempts, key)
		}
	}
	return stay, nil
}

// ReadMark implements store.Scanner.
func (s *Store) ReadMark(ctx context.Context) (mark []byte, err error) {
	err = s.read(ctx, func(tx *disk.Tx) (err error) {
		mark, err = s.getOrReplace(tx, markKey)
		return err
	})
	return mark, err
}

// WriteMark implements store.Scanner. The mark is on the disk when it returns nil.
func (s *Store) WriteMark(ctx context.Context, old, mark []byte) error {
	return s.write(ctx, func(tx *disk.Tx) error {
		standing, err := s.getOrReplace(tx, markKey)
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
