package main

import (
	"bytes"
	"errors"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

func init() { stores["badger"] = openBadger }

type badgerStore struct {
	*group
	db *badger.DB

	// mu keeps readers out of a commit: badger shows what it could not sync.
	mu     sync.RWMutex
	broken error // a commit failed: what is on disk is not known any more
}

func openBadger(dir string) (store, error) {
	db, err := badger.Open(badger.DefaultOptions(dir).
		WithSyncWrites(true). // Sync() would miss a log that was rotated since
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithLogger(nil).
		WithNumCompactors(2).
		WithBlockCacheSize(32 << 20).
		WithValueLogFileSize(16 << 20)) // values stay in the tree; the file is mapped at twice its size
	if err != nil {
		return nil, err
	}
	s := &badgerStore{db: db}
	s.group = newGroup(false, s.commit)
	return s, nil
}

func (s *badgerStore) commit(ops []*op, _ bool) error {
	tx := s.db.NewTransaction(true)
	defer tx.Discard()
	for _, o := range ops {
		if err := badgerApply(tx, o); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = tx.Commit()
	}
	return s.broken
}

func badgerApply(tx *badger.Txn, o *op) error {
	switch o.kind {
	case opInsert:
		return tx.Set(o.key, o.value)
	case opRemove:
		return tx.Delete(o.key)
	}
	switch _, err := tx.Get(o.key); {
	case errors.Is(err, badger.ErrKeyNotFound):
		return tx.Set(o.key, o.value)
	case err != nil:
		return err
	}
	o.lost = true
	return nil
}

func (s *badgerStore) latest(prefix []byte, n int) (values [][]byte, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.broken != nil {
		return nil, s.broken
	}
	err = s.db.View(func(tx *badger.Txn) error {
		o := badger.IteratorOptions{Reverse: true, PrefetchValues: false, Prefix: prefix}
		it := tx.NewIterator(o)
		defer it.Close()
		for it.Seek(append(bytes.Clone(prefix), 0xff, 0xff, 0xff, 0xff, 0xff)); it.Valid() && len(values) < n; it.Next() {
			v, err := it.Item().ValueCopy(nil)
			if err != nil {
				return err
			}
			values = append(values, v)
		}
		return nil
	})
	return values, err
}

func (s *badgerStore) next(from []byte, n int) (keys [][]byte, err error) {
	if err := s.flush(); err != nil {
		return nil, err
	}
	err = s.db.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.IteratorOptions{Prefix: []byte("q")})
		defer it.Close()
		for it.Seek(from); it.Valid() && len(keys) < n; it.Next() {
			keys = append(keys, it.Item().KeyCopy(nil))
		}
		return nil
	})
	return keys, err
}

func (s *badgerStore) load(items []item) error { return s.commit(appends(items), true) }

func (s *badgerStore) compact() error {
	if err := s.db.Flatten(2); err != nil {
		return err
	}
	if err := s.db.RunValueLogGC(0.1); err != nil && !errors.Is(err, badger.ErrNoRewrite) {
		return err
	}
	return nil
}

func (s *badgerStore) close() error {
	s.group.close()
	return s.db.Close()
}
