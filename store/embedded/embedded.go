// Package embedded is the store of a deployment in one process: a file in its data directory, without any service. An
// Append is on the disk when it returns; many of them share a flush (see package disk).
//
//	bucket    key                                         value
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

	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

var (
	logBucket      = []byte("log")
	listBucket     = []byte("list")
	rowsBucket     = []byte("rows")
	attemptsBucket = []byte("attempts")
	timersBucket   = []byte("timers")
	expiryBucket   = []byte("expiry")
	marksBucket    = []byte("marks")
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

// New returns the store in a file, and makes its buckets where they are not there. Whoever opened the file closes it.
func New(db *disk.DB) (*Store, error) {
	err := db.Write(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{logBucket, listBucket, rowsBucket, attemptsBucket, timersBucket, expiryBucket, marksBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	return &Store{db: db}, err
}

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

func (s *Store) read(ctx context.Context, fn func(tx *bbolt.Tx) error) error {
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
	return s.write(ctx, func(tx *bbolt.Tx) error {
		log := tx.Bucket(logBucket)
		for _, item := range items {
			if standing := log.Get(logKey(item.Key)); standing != nil {
				if there := decodeItem(item.Key, standing); item.Over == [16]byte{} || there.Commit != item.Over {
					return &store.Conflict{Existing: there}
				}
			}
		}
		for _, item := range items {
			if err := put(tx, item); err != nil {
				return err
			}
		}
		return nil
	})
}

func put(tx *bbolt.Tx, item store.Item) error {
	key := logKey(item.Key)
	if standing := tx.Bucket(logBucket).Get(key); standing != nil {
		if err := tx.Bucket(expiryBucket).Delete(expiryKey(decodeItem(item.Key, standing).Expires, key)); err != nil {
			return err
		}
	}
	if err := tx.Bucket(logBucket).Put(key, encodeItem(item)); err != nil {
		return err
	}
	if !item.Expires.IsZero() {
		if err := tx.Bucket(expiryBucket).Put(expiryKey(item.Expires, key), nil); err != nil {
			return err
		}
	}
	if item.Summary == nil {
		return nil
	}
	row := rowKey(item.Summary)
	if err := tx.Bucket(rowsBucket).Put(runPrefix(key), row); err != nil {
		return err
	}
	return tx.Bucket(listBucket).Put(row, encodeSummary(item.Summary))
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
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		page = store.Page{}
		c := tx.Bucket(logBucket).Cursor()
		k, v := lastBefore(c, workflow, before)
		for size := 0; inWorkflow(k, workflow); k, v = c.Prev() {
			key := decodeKey(workflow, k)
			if key.Before(until) {
				break
			}
			size += len(k) + len(v)
			if page.More = full(len(page.Items), limit, size); page.More {
				break
			}
			page.Items = append(page.Items, decodeItem(key, v))
		}
		return nil
	})
	return page, err
}

// full reports whether a page of so many items takes no other, which would make it this large.
func full(items, limit, size int) bool {
	return limit > 0 && items >= limit || items > 0 && size > pageBytes
}

// lastBefore moves the cursor to the last item of a workflow before a key; a zero key is after all.
func lastBefore(c *bbolt.Cursor, workflow string, before store.Key) (k, v []byte) {
	seek := afterWorkflow(workflow)
	if before.Run != 0 || before.Slot != 0 {
		seek = logKey(before)
	}
	if k, _ = c.Seek(seek); k == nil {
		return c.Last()
	}
	return c.Prev()
}

// Forward implements store.Log.
func (s *Store) Forward(ctx context.Context, from store.Key, limit int) (page store.Page, err error) {
	err = s.read(ctx, func(tx *bbolt.Tx) error {
		page = store.Page{}
		c := tx.Bucket(logBucket).Cursor()
		k, v := c.Seek(logKey(from))
		for size := 0; inWorkflow(k, from.Workflow); k, v = c.Next() {
			key := decodeKey(from.Workflow, k)
			if key.Run != from.Run {
				break
			}
			size += len(k) + len(v)
			if page.More = full(len(page.Items), limit, size); page.More {
				break
			}
			page.Items = append(page.Items, decodeItem(key, v))
		}
		return nil
	})
	return page, err
}

// DeleteExpired deletes at most limit items whose expiry has passed, and returns how many it deleted. Nothing depends on
// its being called: readers treat what has expired as gone.
func (s *Store) DeleteExpired(ctx context.Context, now time.Time, limit int) (deleted int, err error) {
	err = s.write(ctx, func(tx *bbolt.Tx) error {
		deleted = 0
		c := tx.Bucket(expiryBucket).Cursor()
		for k, _ := c.First(); k != nil && deleted < limit && !expiryOf(k).After(now); k, _ = c.First() {
			if err := expire(tx, keyOf(k)); err != nil {
				return err
			}
			if err := c.Delete(); err != nil {
				return err
			}
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
func expire(tx *bbolt.Tx, key []byte) error {
	if err := tx.Bucket(logBucket).Delete(key); err != nil {
		return err
	}
	run := runPrefix(key)
	if k, _ := tx.Bucket(logBucket).Cursor().Seek(run); bytes.HasPrefix(k, run) {
		return nil
	}
	if row := tx.Bucket(rowsBucket).Get(run); row != nil {
		if err := tx.Bucket(listBucket).Delete(row); err != nil {
			return err
		}
		if err := tx.Bucket(rowsBucket).Delete(run); err != nil {
			return err
		}
	}
	c := tx.Bucket(attemptsBucket).Cursor()
	for k, _ := c.Seek(run); bytes.HasPrefix(k, run); k, _ = c.Seek(run) {
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}
