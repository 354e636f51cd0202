package main

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

func init() { stores["bbolt"] = openBolt }

var logBucket, queueBucket = []byte("log"), []byte("queue")

type boltStore struct {
	*group
	db   *bbolt.DB
	path string

	mu      sync.Mutex
	synced  *sync.Cond
	durable int   // id of the last transaction known to be on disk
	broken  error // a commit failed: the meta page may be ahead of durable
}

func boltOptions() *bbolt.Options {
	return &bbolt.Options{
		Timeout:         time.Second,
		FreelistType:    bbolt.FreelistMapType,
		NoFreelistSync:  os.Getenv("BOLT_SYNC_FREELIST") == "",
		InitialMmapSize: 4 << 30, // never remap: a remap waits for readers
	}
}

func openBolt(dir string) (store, error) {
	s := &boltStore{path: filepath.Join(dir, "weft.db")}
	s.synced = sync.NewCond(&s.mu)
	var err error
	if s.db, err = bbolt.Open(s.path, 0o600, boltOptions()); err != nil {
		return nil, err
	}
	s.db.AllocSize = 64 << 20 // each growth of the file is one more fsync
	err = s.db.Update(func(tx *bbolt.Tx) error {
		s.durable = tx.ID()
		for _, name := range [][]byte{logBucket, queueBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.group = newGroup(false, s.commit)
	return s, nil
}

func (s *boltStore) commit(ops []*op, _ bool) error {
	var id int
	err := s.db.Update(func(tx *bbolt.Tx) error {
		id = tx.ID()
		log, queue := tx.Bucket(logBucket), tx.Bucket(queueBucket)
		for _, o := range ops {
			if err := boltApply(log, queue, o); err != nil {
				return err
			}
		}
		return nil
	})
	s.mu.Lock()
	if err == nil {
		s.durable = id
	} else {
		s.broken = err
	}
	s.mu.Unlock()
	s.synced.Broadcast()
	return err
}

func boltApply(log, queue *bbolt.Bucket, o *op) error {
	switch o.kind {
	case opAppend:
		if log.Get(o.key) != nil {
			o.lost = true
			return nil
		}
		return log.Put(o.key, o.value)
	case opInsert:
		return queue.Put(o.key, o.value)
	default:
		return queue.Delete(o.key)
	}
}

func (s *boltStore) latest(prefix []byte, n int) (values [][]byte, err error) {
	id := 0
	err = s.db.View(func(tx *bbolt.Tx) error {
		id = tx.ID()
		c := tx.Bucket(logBucket).Cursor()
		k, v := c.Seek(after(prefix))
		if k == nil {
			k, v = c.Last()
		} else {
			k, v = c.Prev()
		}
		for ; bytes.HasPrefix(k, prefix) && len(values) < n; k, v = c.Prev() {
			values = append(values, bytes.Clone(v))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return values, s.await(id)
}

// await returns once transaction id is on disk. bbolt shows a transaction to
// readers from the moment its meta page is written, before that page is synced.
func (s *boltStore) await(id int) error {
	if unsafeReads {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.durable < id && s.broken == nil {
		s.synced.Wait()
	}
	if s.durable < id {
		return s.broken
	}
	return nil
}

func (s *boltStore) next(from []byte, n int) (keys [][]byte, err error) {
	if err := s.flush(); err != nil {
		return nil, err
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(queueBucket).Cursor()
		for k, _ := c.Seek(from); k != nil && len(keys) < n; k, _ = c.Next() {
			keys = append(keys, bytes.Clone(k))
		}
		return nil
	})
	return keys, err
}

func (s *boltStore) load(items []item) error { return s.commit(appends(items), true) }

func (s *boltStore) compact() error {
	small, err := bbolt.Open(s.path+".small", 0o600, boltOptions())
	if err != nil {
		return err
	}
	if err := bbolt.Compact(small, s.db, 16<<20); err != nil {
		return err
	}
	if err := small.Close(); err != nil {
		return err
	}
	return os.Rename(s.path+".small", s.path)
}

func (s *boltStore) close() error {
	s.group.close()
	return s.db.Close()
}
