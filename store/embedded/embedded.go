// Package embedded is the store of a deployment in one process: a file in its data directory, without any service. An
// Append is on the disk when it returns; many of them share a flush (see package disk).
//
//	space     key                                         value
//	log       workflow, run, slot                         commit id, expiry, summary, body
//	list      started (last first), workflow, run         summary
//	rows      workflow, run                               key of its row in the list
//	attempts  workflow, run, event                        number, body
//	timers    due, id                                     body
//	expiry    when, workflow, run, slot                   -
//	marks     "scan"                                      the mark of the slow check over all runs
//
// Numbers are big-endian and a workflow's id comes with its length, so that the order of the keys is the order that the
// port wants and no id is a prefix of another.
package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// MaxBody is the largest body that the store takes: more than the engine makes, and small enough for a page.
const MaxBody = 1 << 20

// pageBytes is about how much one read returns.
const pageBytes = 1 << 20

// Store keeps histories in a file.
type Store struct{ db *disk.DB }

var _ interface {
	store.Log
	store.Attempts
	store.Timers
	store.Lister
	store.Scanner
} = (*Store)(nil)

// New returns the store in a data directory. Whoever opened the directory closes it.
func New(db *disk.DB) *Store { return &Store{db: db} }

// write makes an operation, unless the context has ended: once it is in the line it is not called back.
func (s *Store) write(ctx context.Context, op disk.Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.db.Write(op)
	if errors.Is(err, disk.ErrUnknown) {
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return err
}

func (s *Store) read(ctx context.Context, fn func(tx *disk.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.db.Read(fn)
}

// Append implements store.Log. When it returns nil the items are on the disk; a crash before that leaves all of them or
// none, and the caller, who has not been answered, finds out by reading.
func (s *Store) Append(ctx context.Context, items ...store.Item) error {
	for _, item := range items {
		if err := fits(item.Body); err != nil {
			return err
		}
	}
	return s.write(ctx, func(tx *disk.Tx) error {
		standing := make([]*store.Item, len(items))
		for i, item := range items {
			there, err := get(tx, item.Key)
			if err != nil {
				return err
			}
			if there != nil && (item.Over == [16]byte{} || there.Commit != item.Over) {
				return &store.Conflict{Existing: *there}
			}
			standing[i] = there
		}
		for i, item := range items {
			put(tx, item, standing[i])
		}
		return nil
	})
}

// get reads an item; nil if there is none.
func get(tx *disk.Tx, key store.Key) (*store.Item, error) {
	value, err := tx.Get(disk.Log, logKey(key))
	if value == nil || err != nil {
		return nil, err
	}
	item := decodeItem(key, value)
	return &item, nil
}

// put puts an item in place of the one that stands there, or nil.
func put(tx *disk.Tx, item store.Item, standing *store.Item) {
	key := logKey(item.Key)
	if standing != nil && !standing.Expires.IsZero() {
		tx.Delete(disk.Expiry, expiryKey(standing.Expires, key))
	}
	tx.Put(disk.Log, key, encodeItem(item))
	if !item.Expires.IsZero() {
		tx.Put(disk.Expiry, expiryKey(item.Expires, key), nil)
	}
	if item.Summary != nil {
		row := rowKey(item.Summary)
		tx.Put(disk.Rows, runPrefix(key), row)
		tx.Put(disk.List, row, encodeSummary(item.Summary))
	}
}

func fits(body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, len(body), MaxBody)
	}
	return nil
}

// Backward implements store.Log.
func (s *Store) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (page store.Page, err error) {
	before.Workflow, until.Workflow = workflow, workflow
	err = s.read(ctx, func(tx *disk.Tx) error {
		page = store.Page{}
		end := afterWorkflow(workflow)
		if before.Run != 0 || before.Slot != 0 {
			end = logKey(before)
		}
		size := 0
		return tx.Descend(disk.Log, logKey(until), end, func(k, v []byte) bool {
			size += len(k) + len(v)
			if page.More = full(len(page.Items), limit, size); !page.More {
				page.Items = append(page.Items, decodeItem(decodeKey(workflow, k), v))
			}
			return !page.More
		})
	})
	return page, err
}

// full reports whether a page of so many items takes no other, which would make it this large.
func full(items, limit, size int) bool {
	return limit > 0 && items >= limit || items > 0 && size > pageBytes
}

// Forward implements store.Log.
func (s *Store) Forward(ctx context.Context, from store.Key, limit int) (page store.Page, err error) {
	err = s.read(ctx, func(tx *disk.Tx) error {
		page = store.Page{}
		start := logKey(from)
		size := 0
		return tx.Ascend(disk.Log, start, disk.After(runPrefix(start)), func(k, v []byte) bool {
			size += len(k) + len(v)
			if page.More = full(len(page.Items), limit, size); !page.More {
				page.Items = append(page.Items, decodeItem(decodeKey(from.Workflow, k), v))
			}
			return !page.More
		})
	})
	return page, err
}

// DeleteExpired deletes at most limit items whose expiry has passed, and returns how many it deleted. Nothing depends on
// its being called: readers treat what has expired as gone.
func (s *Store) DeleteExpired(ctx context.Context, now time.Time, limit int) (deleted int, err error) {
	err = s.write(ctx, func(tx *disk.Tx) error {
		deleted = 0
		var due [][]byte
		err := tx.AscendSound(disk.Expiry, nil, nil, func(k, _ []byte) bool {
			if len(due) == limit || expiryOf(k).After(now) {
				return false
			}
			due = append(due, bytes.Clone(k))
			return true
		})
		if err != nil {
			return err
		}
		for _, k := range due {
			if err := expire(tx, keyOf(k)); err != nil {
				return err
			}
			tx.Delete(disk.Expiry, k)
			deleted++
		}
		if deleted == 0 {
			return errNothing
		}
		return nil
	})
	if errors.Is(err, errNothing) {
		return 0, nil
	}
	return deleted, err
}

// errNothing is how an operation says that it has changed nothing.
var errNothing = errors.New("nothing to do")

// expire deletes an item. With the last one of its run go the run's row in the list and its attempts.
func expire(tx *disk.Tx, key []byte) error {
	tx.Delete(disk.Log, key)
	run := runPrefix(key)
	others := false
	err := tx.AscendSound(disk.Log, run, disk.After(run), func([]byte, []byte) bool {
		others = true
		return false
	})
	if others || err != nil {
		return err
	}
	row, err := tx.Get(disk.Rows, run)
	if err != nil {
		return err
	}
	if row != nil {
		tx.Delete(disk.List, row)
		tx.Delete(disk.Rows, run)
	}
	var attempts [][]byte
	err = tx.AscendSound(disk.Attempts, run, disk.After(run), func(k, _ []byte) bool {
		attempts = append(attempts, bytes.Clone(k))
		return true
	})
	for _, k := range attempts {
		tx.Delete(disk.Attempts, k)
	}
	return err
}
