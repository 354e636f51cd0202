package main

import (
	"bytes"
	"errors"
	"hash/maphash"
	"log"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

func init() {
	stores["pebble"] = openPebble
	stores["pebble-group"] = openPebbleGroup
}

func pebbleOptions() *pebble.Options {
	o := &pebble.Options{
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   64 << 20, // memtables are taken out of it
		MemTableSize:                16 << 20,
		MemTableStopWritesThreshold: 3,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       20,
		Logger:                      quiet{},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// quiet drops pebble's chatter. Fatalf must not return: pebble calls it when
// the log could not be written.
type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(f string, args ...any) { log.Printf(f, args...) }
func (quiet) Fatalf(f string, args ...any) { log.Fatalf(f, args...) }

// pebbleStore has no writer goroutine: pebble's own log writer gathers whatever
// came in while the last flush ran. A stripe's lock makes "look, then put" one
// step for a workflow; the flush is awaited outside it.
type pebbleStore struct {
	db *pebble.DB
	// broken is the first failed sync. From then on nobody can say what is on
	// disk, while what was put stays visible: the store answers no more.
	broken  atomic.Pointer[error]
	seed    maphash.Seed
	stripes [256]stripe
}

type stripe struct {
	mu sync.Mutex
	// flying has, for each run with items that are visible but not known to be
	// on disk, the last of those puts. The log is one file written in order, so
	// the last one covers the others.
	flying map[string]*put
}

type put struct{ synced chan struct{} }

const runPrefixLen = 1 + 16 + 4

func openPebble(dir string) (store, error) {
	db, err := pebble.Open(dir, pebbleOptions())
	if err != nil {
		return nil, err
	}
	s := &pebbleStore{db: db, seed: maphash.MakeSeed()}
	for i := range s.stripes {
		s.stripes[i].flying = map[string]*put{}
	}
	return s, nil
}

func (s *pebbleStore) stripe(run []byte) *stripe {
	return &s.stripes[maphash.Bytes(s.seed, run)%uint64(len(s.stripes))]
}

func (s *pebbleStore) append(key, value []byte) error {
	run := key[:runPrefixLen]
	st := s.stripe(run)
	st.mu.Lock()
	switch taken, err := pebbleHas(s.db, key); {
	case err != nil:
		st.mu.Unlock()
		return err
	case taken:
		p := st.flying[string(run)]
		st.mu.Unlock()
		return errors.Join(s.await(p), errExists)
	}
	b := s.db.NewBatchWithSize(len(key) + len(value) + 32)
	if err := b.Set(key, value, nil); err != nil {
		st.mu.Unlock()
		return err
	}
	p := &put{synced: make(chan struct{})}
	st.flying[string(run)] = p
	err := s.db.ApplyNoSyncWait(b, pebble.Sync)
	st.mu.Unlock()
	if err == nil {
		err = b.SyncWait()
	}
	if err != nil {
		s.broken.CompareAndSwap(nil, &err) // before the put stops flying
	}
	close(p.synced)
	st.mu.Lock()
	if st.flying[string(run)] == p {
		delete(st.flying, string(run))
	}
	st.mu.Unlock()
	return errors.Join(err, b.Close())
}

// await returns once p, if there is one, is on disk.
func (s *pebbleStore) await(p *put) error {
	if unsafeReads {
		return nil
	}
	if p != nil {
		<-p.synced
	}
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

func pebbleHas(db *pebble.DB, key []byte) (bool, error) {
	_, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, closer.Close()
}

func (s *pebbleStore) insert(key, value []byte) error { return s.db.Set(key, value, pebble.NoSync) }

// remove may use SingleDelete because no message key is ever written twice.
func (s *pebbleStore) remove(key []byte) error { return s.db.SingleDelete(key, pebble.NoSync) }

// latest looks first and asks afterwards whether anything that it may have seen
// is still on its way to the disk. A put registers before it becomes visible.
func (s *pebbleStore) latest(prefix []byte, n int) ([][]byte, error) {
	values, err := pebbleLatest(s.db, prefix, n)
	if err != nil {
		return nil, err
	}
	st := s.stripe(prefix)
	st.mu.Lock()
	p := st.flying[string(prefix)]
	st.mu.Unlock()
	return values, s.await(p)
}

func pebbleLatest(db *pebble.DB, prefix []byte, n int) (values [][]byte, err error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return nil, err
	}
	for ok := it.Last(); ok && len(values) < n; ok = it.Prev() {
		values = append(values, bytes.Clone(it.Value()))
	}
	return values, it.Close()
}

func (s *pebbleStore) next(from []byte, n int) ([][]byte, error) { return pebbleNext(s.db, from, n) }

func pebbleNext(db *pebble.DB, from []byte, n int) (keys [][]byte, err error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: []byte("r")})
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok && len(keys) < n; ok = it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	return keys, it.Close()
}

func (s *pebbleStore) load(items []item) error {
	b := s.db.NewBatch()
	for _, it := range items {
		if err := b.Set(it.key, it.value, nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.NoSync)
}

func (s *pebbleStore) compact() error {
	return s.db.Compact(ctx, []byte("a"), []byte("z"), false)
}

// close flushes first: otherwise the next open replays up to three memtables.
func (s *pebbleStore) close() error { return errors.Join(s.db.Flush(), s.db.Close()) }

// pebbleGroup is the other design: one goroutine, one batch and one flush for a
// group. It reads like the first only where no put is under way.
type pebbleGroup struct {
	*group
	*pebbleStore
}

func openPebbleGroup(dir string) (store, error) {
	st, err := openPebble(dir)
	if err != nil {
		return nil, err
	}
	s := &pebbleGroup{pebbleStore: st.(*pebbleStore)}
	s.group = newGroup(true, s.commit)
	return s, nil
}

func (s *pebbleGroup) commit(ops []*op, wait bool) error {
	b := s.db.NewBatch()
	defer b.Close()
	placed := map[string]bool{}
	for _, o := range ops {
		if err := s.add(b, o, placed); err != nil {
			return err
		}
	}
	return b.Commit(&pebble.WriteOptions{Sync: wait})
}

func (s *pebbleGroup) add(b *pebble.Batch, o *op, placed map[string]bool) error {
	switch o.kind {
	case opInsert:
		return b.Set(o.key, o.value, nil)
	case opRemove:
		return b.SingleDelete(o.key, nil)
	}
	taken, err := pebbleHas(s.db, o.key)
	if err != nil {
		return err
	}
	if taken || placed[string(o.key)] {
		o.lost = true
		return nil
	}
	placed[string(o.key)] = true
	return b.Set(o.key, o.value, nil)
}

func (s *pebbleGroup) append(key, value []byte) error { return s.group.append(key, value) }
func (s *pebbleGroup) insert(key, value []byte) error { return s.group.insert(key, value) }
func (s *pebbleGroup) remove(key []byte) error        { return s.group.remove(key) }

func (s *pebbleGroup) next(from []byte, n int) ([][]byte, error) {
	if err := s.flush(); err != nil {
		return nil, err
	}
	return pebbleNext(s.db, from, n)
}

func (s *pebbleGroup) close() error {
	s.group.close()
	return s.pebbleStore.close()
}
