// Package diskstore is the store of a deployment in one process: a file in its data directory,
// without any service. An Append is on the disk when it returns; many Appends share a flush (see
// package disk).
//
//	space     key                                         value
//	log       workflow, run, slot                         commit id, expiry, summary, body
//	list      started (last first), workflow, run         summary
//	rows      workflow, run                               key of its row in the list
//	attempts  workflow, run, event                        number, body
//	timers    due, id                                     body
//	expiry    when, workflow, run, slot                   -
//	marks     "scan"                                      the mark of the slow check over all runs
//	marks     "key"                                       the key that tokens are signed with
//	marks     "rate/", task queue                         the last reserved moment of the task queue
//
// Numbers are big-endian, and a workflow's id is preceded by its length. So keys sort in the port's
// order, and no id is a prefix of another.
package diskstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// MaxBody is the largest body that the store takes: larger than the engine's, and small enough for
// a page.
const MaxBody = 1 << 20

// pageBytes is about how many bytes one read returns.
const pageBytes = 1 << 20

// Store stores histories in a file.
type Store struct{ db *disk.DB }

var _ interface {
	store.Log
	store.Attempts
	store.Timers
	store.Lister
	store.Scanner
} = (*Store)(nil)

// New returns the store in a data directory. The caller who opened the directory closes it.
func New(db *disk.DB) *Store { return &Store{db: db} }

// write does what writeSized does, for an operation that holds little memory.
func (s *Store) write(ctx context.Context, op disk.Op) error { return s.writeSized(ctx, 0, op) }

// writeSized runs an operation that holds this many bytes of memory. It returns an error if the
// context ends before there is room in the queue of writes. An operation in that queue is not
// canceled.
func (s *Store) writeSized(ctx context.Context, bytes int, op disk.Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.db.WriteSized(ctx, bytes, op)
	if errors.Is(err, disk.ErrUnknown) {
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return damaged(err)
}

// getOrReplace returns a value that the operation then writes anew. It reports a damaged value, and
// returns nothing for it. It returns an error for a value that a later version stored, which must
// not be replaced.
func (s *Store) getOrReplace(tx *disk.Tx, key []byte) ([]byte, error) {
	value, err := tx.Get(disk.Marks, key)
	if errors.Is(err, disk.ErrCorrupt) && !errors.Is(err, disk.ErrLater) {
		s.db.Report(err)
		return nil, nil
	}
	return value, err
}

// damaged converts an error of the disk to the port's.
func damaged(err error) error {
	if errors.Is(err, disk.ErrCorrupt) && !errors.Is(err, store.ErrCorrupt) {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return err
}

func (s *Store) read(ctx context.Context, fn func(tx *disk.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return damaged(s.db.Read(fn))
}

// Append implements store.Log. The items are on the disk when it returns nil. A crash before that
// leaves all of them or none, and the caller, who got no answer, finds out by reading.
func (s *Store) Append(ctx context.Context, items ...store.Item) error {
	bytes := 0
	for _, item := range items {
		if err := fits(item.Body); err != nil {
			return err
		}
		bytes += len(item.Body)
	}
	return s.writeSized(ctx, bytes, func(tx *disk.Tx) error {
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
			if err := put(tx, item, standing[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// get reads an item. It returns nil if there is none.
func get(tx *disk.Tx, key store.Key) (*store.Item, error) {
	value, err := tx.Get(disk.Log, logKey(key))
	if value == nil || err != nil {
		return nil, err
	}
	item, err := decodeItem(key, value)
	if err != nil {
		return nil, err
	}
	return &item, nil
}

// put puts an item. standing is the item that it replaces, or nil: its row in the list goes, unless
// another item of the run has replaced the row.
func put(tx *disk.Tx, item store.Item, standing *store.Item) error {
	key := logKey(item.Key)
	if standing != nil && !standing.Expires.IsZero() {
		tx.Delete(disk.Expiry, expiryKey(standing.Expires, key))
	}
	if standing != nil && standing.Summary != nil {
		row := rowKey(standing.Summary)
		value, err := tx.Get(disk.List, row)
		damaged := errors.Is(err, disk.ErrCorrupt)
		if err != nil && !damaged {
			return err
		}
		if damaged || bytes.Equal(value, encodeSummary(standing.Summary)) {
			tx.Delete(disk.List, row)
			tx.Delete(disk.Rows, runPrefix(key))
		}
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
	return nil
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
		end := afterWorkflow(workflow)
		if before.Run != 0 || before.Slot != 0 {
			end = logKey(before)
		}
		p := pager{workflow: workflow, limit: limit}
		page, err = p.filled(tx.Descend(disk.Log, logKey(until), end, p.add))
		return err
	})
	return page, err
}

// pager fills a page with the items of a workflow that a scan finds.
type pager struct {
	workflow    string
	limit, size int
	page        store.Page
	err         error // the error of an unreadable item
}

// add adds an item. It returns false if the page is full.
func (p *pager) add(k, v []byte) bool {
	p.size += len(k) + len(v)
	if p.page.More = full(len(p.page.Items), p.limit, p.size); p.page.More {
		return false
	}
	item, err := decodeEntry(p.workflow, k, v)
	if err != nil {
		p.err = err
		return false
	}
	p.page.Items = append(p.page.Items, item)
	return true
}

// filled returns the page after a scan that ended with err.
func (p *pager) filled(err error) (store.Page, error) { return p.page, errors.Join(err, p.err) }

// full reports whether a page with this many items takes no further item, with which it would have
// this size.
func full(items, limit, size int) bool {
	return limit > 0 && items >= limit || items > 0 && size > pageBytes
}

// Forward implements store.Log.
func (s *Store) Forward(ctx context.Context, from store.Key, limit int) (page store.Page, err error) {
	err = s.read(ctx, func(tx *disk.Tx) error {
		start := logKey(from)
		p := pager{workflow: from.Workflow, limit: limit}
		page, err = p.filled(tx.Ascend(disk.Log, start, disk.After(runPrefix(start)), p.add))
		return err
	})
	return page, err
}

// DeleteExpired implements store.Expirer. It reports damaged items and deletes them too, because
// their keys are enough. No reader depends on it: readers treat what has expired as gone.
func (s *Store) DeleteExpired(ctx context.Context, now time.Time, limit int) (deleted int, err error) {
	due, left, err := s.due(ctx, now, limit)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	return s.deleteDue(ctx, due, left)
}

// due returns keys of expired items in the expiry space, and what else their runs have. It does not
// block writers, because skipping damage takes long.
func (s *Store) due(ctx context.Context, now time.Time, limit int) (due [][]byte, left map[string]rest, err error) {
	err = s.read(ctx, func(tx *disk.Tx) error {
		var keys [][]byte
		err := tx.AscendKeys(disk.Expiry, nil, nil, func(k []byte) bool {
			k = bytes.Clone(k)
			expires, key, err := decodeExpiry(k)
			if len(due) == limit || err == nil && expires.After(now) {
				return false
			}
			due = append(due, k)
			if err == nil {
				keys = append(keys, key)
			}
			return true
		})
		if err != nil {
			return err
		}
		left, err = besides(tx, keys)
		return err
	})
	return due, left, err
}

// deleteDue deletes the items that due returned. It checks each again, because others may have
// written meanwhile: an item is only deleted if it still expires at that moment.
func (s *Store) deleteDue(ctx context.Context, due [][]byte, left map[string]rest) (deleted int, err error) {
	err = s.write(ctx, func(tx *disk.Tx) error {
		deleted = 0
		for _, k := range due {
			tx.Delete(disk.Expiry, k)
			expires, key, err := decodeExpiry(k)
			if err != nil {
				s.db.Report(err)
				deleted++
				continue
			}
			item, err := getAt(tx, key)
			switch {
			case errors.Is(err, disk.ErrCorrupt):
				s.db.Report(err)
			case err != nil:
				return err
			case item != nil && !item.Expires.Equal(expires):
				continue
			}
			if err := s.expire(tx, key, item, left); err != nil {
				return err
			}
			deleted++
		}
		return nil
	})
	return deleted, err
}

// getAt does what get does, by the key in the log.
func getAt(tx *disk.Tx, key []byte) (*store.Item, error) {
	k, err := decodeKey(workflowOf(key), key)
	if err != nil {
		return nil, err
	}
	return get(tx, k)
}

// rest is what a run has besides the items that are to be deleted.
type rest struct {
	items    bool
	attempts [][]byte // their keys
}

// besides returns, by run, what the runs of these items have besides them. It skips damaged items;
// for an attempt its key is enough.
func besides(tx *disk.Tx, keys [][]byte) (map[string]rest, error) {
	going, left := map[string]bool{}, map[string]rest{}
	for _, k := range keys {
		going[string(k)] = true
	}
	for _, k := range keys {
		run := runPrefix(k)
		if _, done := left[string(run)]; done {
			continue
		}
		var r rest
		err := tx.AscendSound(disk.Log, run, disk.After(run), func(k, _ []byte) bool {
			r.items = isLogKey(k) && !going[string(k)]
			return !r.items
		})
		if err == nil {
			err = tx.AscendKeys(disk.Attempts, run, disk.After(run), func(k []byte) bool {
				r.attempts = append(r.attempts, bytes.Clone(k))
				return true
			})
		}
		if err != nil {
			return nil, err
		}
		left[string(run)] = r
	}
	return left, nil
}

// expire deletes an item, which is nil if it cannot be read. With the last item of its run it
// deletes the run's row in the list and its attempts. left is the result of besides: for a damaged
// run it says whether there are other items.
func (s *Store) expire(tx *disk.Tx, key []byte, item *store.Item, left map[string]rest) error {
	tx.Delete(disk.Log, key)
	run := runPrefix(key)
	others := false
	err := tx.Ascend(disk.Log, run, disk.After(run), func(k, _ []byte) bool {
		others = isLogKey(k)
		return !others
	})
	if errors.Is(err, disk.ErrCorrupt) {
		others, err = left[string(run)].items, nil
	}
	if others || err != nil {
		return err
	}
	row, err := tx.Get(disk.Rows, run)
	switch {
	case errors.Is(err, disk.ErrCorrupt):
		s.db.Report(err)
		tx.Delete(disk.Rows, run)
		if item != nil && item.Summary != nil {
			tx.Delete(disk.List, rowKey(item.Summary))
		}
	case err != nil:
		return err
	case row != nil:
		tx.Delete(disk.List, row)
		tx.Delete(disk.Rows, run)
	}
	for _, k := range left[string(run)].attempts {
		tx.Delete(disk.Attempts, k)
	}
	return nil
}
