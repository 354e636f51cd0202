// Package diskblobs keeps blobs in the file of package disk, beside the store and the queues.
package diskblobs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/internal/disk"
)

// Blobs are blobs in a file. They are safe for concurrent use.
type Blobs struct {
	db    *disk.DB
	clock func() time.Time
}

var _ blob.Blobs = (*Blobs)(nil)

// New returns the blobs in a file. The caller who opened the file closes it. clock gives the time
// at which blobs are put; nil is time.Now.
func New(db *disk.DB, clock func() time.Time) *Blobs {
	if clock == nil {
		clock = time.Now
	}
	return &Blobs{db: db, clock: clock}
}

// Put implements blob.Blobs. A crash before it returns leaves the whole blob or nothing.
func (b *Blobs) Put(ctx context.Context, key string, body []byte) error {
	if len(body) > blob.MaxBody {
		return fmt.Errorf("%w: %d bytes, at most %d", blob.ErrTooLarge, len(body), blob.MaxBody)
	}
	value := append(binary.BigEndian.AppendUint64(nil, uint64(b.clock().Unix())), body...)
	return b.write(ctx, len(value), func(tx *disk.Tx) { tx.Put(disk.Blobs, []byte(key), value) })
}

// putSize is the length of the time of the put, which is stored before the body.
const putSize = 8

// malformed returns the error for a value that this package has not written.
func malformed(key string) error {
	return &disk.KeyError{Space: disk.Blobs, Key: []byte(key), Why: "it has the wrong form"}
}

// VisitAll calls fn with the key of each blob, and damaged with an error for each malformed one.
func VisitAll(db *disk.DB, fn func(key string), damaged func(error)) error {
	return db.Read(func(tx *disk.Tx) error {
		return tx.AscendSound(disk.Blobs, nil, nil, func(k, v []byte) bool {
			if fn(string(k)); len(v) < putSize {
				damaged(malformed(string(k)))
			}
			return true
		})
	})
}

// write runs an operation that holds this many bytes of memory. It returns an error if the context
// ends before there is room in the queue of writes. An operation in that queue is not canceled.
func (b *Blobs) write(ctx context.Context, bytes int, op func(*disk.Tx)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.db.WriteSized(ctx, bytes, func(tx *disk.Tx) error {
		op(tx)
		return nil
	})
}

// Get implements blob.Blobs.
func (b *Blobs) Get(ctx context.Context, key string) (body []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = b.db.Read(func(tx *disk.Tx) error {
		value, err := tx.Get(disk.Blobs, []byte(key))
		if err != nil {
			return err
		}
		if value == nil {
			return fmt.Errorf("%w: %s", blob.ErrMissing, key)
		}
		if len(value) < putSize {
			return malformed(key)
		}
		body = value[putSize:]
		return nil
	})
	if errors.Is(err, disk.ErrCorrupt) {
		err = fmt.Errorf("%w: %w", blob.ErrCorrupt, err)
	}
	return body, err
}

// List implements blob.Blobs.
func (b *Blobs) List(ctx context.Context, prefix, after string, limit int) (list []blob.Listed, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	from := []byte(max(prefix, after))
	err = b.db.Read(func(tx *disk.Tx) error {
		list = nil
		return tx.AscendSound(disk.Blobs, from, disk.After([]byte(prefix)), func(k, v []byte) bool {
			if len(list) == min(limit, blob.MaxBatch) {
				return false
			}
			if len(v) < putSize {
				b.db.Report(malformed(string(k)))
			} else if string(k) != after {
				list = append(list, blob.Listed{Key: string(k), Put: time.Unix(int64(binary.BigEndian.Uint64(v)), 0).UTC()})
			}
			return true
		})
	})
	return list, err
}

// Delete implements blob.Blobs.
func (b *Blobs) Delete(ctx context.Context, keys ...string) error {
	return b.write(ctx, 0, func(tx *disk.Tx) {
		for _, key := range keys {
			tx.Delete(disk.Blobs, []byte(key))
		}
	})
}
