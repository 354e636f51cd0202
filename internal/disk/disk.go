package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrUnknown is wrapped by the error of Write if it is unknown whether the operation is on the
// disk.
var ErrUnknown = errors.New("disk: the outcome of the write is not known")

// ErrFull is wrapped by what Write and Later return while the disk takes no writes. The reason is
// wrapped as well: mostly it is full. Nothing was written.
var ErrFull = errors.New("disk: the disk takes no writes for the data directory for now; nothing was written")

// ErrBusy is wrapped by the error of WriteSized if the line had no space before its context ended.
// Nothing was written.
var ErrBusy = errors.New("disk: other writes to the data directory take all memory for writes; nothing was written")

// ErrClosed is wrapped by what Write, Later and Read return after Close.
var ErrClosed = errors.New("disk: closed")

// ErrPanicked is wrapped by what Write returns for an operation that panicked. Nothing of it was
// written.
var ErrPanicked = errors.New("disk: an operation panicked; nothing was written")

// Op is an operation within a group. If it returns an error or panics it has refused, and its
// changes are dropped.
type Op func(tx *Tx) error

// DB is an open data directory.
type DB struct {
	fs     vfs.FS
	dir    string
	unit   int64 // of the sizes of segments
	tables *pebble.DB
	watch  *watcher // of the tables
	log    *wal
	lock   *pebble.Lock
	report func(error)
	view   *group // of a directory that is only read: what the log has and the tables do not; else nil
	line   *line
	jobs   sync.Pool     // of jobs with an answer
	done   chan struct{} // closed when the writer has ended

	// order is held to commit a group, and to use what follows.
	order   sync.Mutex
	group   *group
	buffer  []byte
	last    uint64 // the number of the last record
	flushed uint64 // of the last one that was flushed
	said    uint64 // the last flushed that stands in the log
	// inTables is the number up to which the tables on the disk have all records, and writing what
	// is to raise it; nil is nothing.
	inTables uint64
	writing  *writing
	inMemory int64 // bytes that the tables take in memory, or took until they wrote some out on their own
	memTable int64 // the size of a table in memory
	// mostInMemory is how much the tables take in memory, and the group after that, before writes
	// wait for them.
	mostInMemory int64
	ended        bool // there are no more groups

	idle  *time.Timer // calls confirmIdle
	armed bool        // idle runs
	busy  bool        // a group was flushed since idle was reset

	looker *looker     // nil if files cannot be told from each other
	retry  *time.Timer // calls goOn
	wanted int         // the bytes for which there was no room

	using  sync.RWMutex // held by a Read
	closed atomic.Bool
	gone   chan struct{} // closed when Close is over

	flushes, waited, bytes atomic.Int64
}

// Stats are what a directory has written since it was opened.
type Stats struct {
	// Flushes is how many groups were flushed, and Waited how many of them had somebody wait for
	// them.
	Flushes, Waited int64
	// Bytes is how much was written to the log.
	Bytes int64
}

// Stats returns what was written so far.
func (d *DB) Stats() Stats {
	return Stats{Flushes: d.flushes.Load(), Waited: d.waited.Load(), Bytes: d.bytes.Load()}
}

// Options are the options of a data directory. The zero value works.
type Options struct {
	// Log takes what operators should know; nil is slog.Default.
	Log *slog.Logger

	// Damage takes each error that wraps ErrCorrupt, instead of Log; nil takes none.
	Damage func(error)

	// Memory bounds the memory that the directory takes.
	Memory Memory

	readOnly bool // see OpenToRead

	// Of tests.
	fs    vfs.FS // nil is the disk's
	part  int64  // of the memory and of the segments' sizes that users get, one in so many; 0 is all
	hurry bool   // after a failure the tables are tried again at once
}

// Memory is how many bytes of memory a directory takes at most. A field that is 0 is its default,
// which is also the most that Cache and Tables can be. Cache and Tables are no memory of Go's if
// the program was built with cgo: GOMEMLIMIT does not count them.
type Memory struct {
	// Line bounds the bytes of the operations that wait to be committed, as their callers state
	// them. At the bound no operation is let in, so one operation may exceed it. The default is
	// 64 MiB.
	Line int64
	// Cache is how much of the tables' files is kept in memory; 128 MiB.
	Cache int64
	// Tables bounds what is in the tables and not in their files yet; 160 MiB. Writes wait when it
	// is full.
	Tables int64
}

const (
	usualLine = 64 << 20
	// leastTables keeps a table in memory large enough for most groups.
	leastTables = 16 << 20
)

// withDefaults returns the memory with defaults where nothing was given.
func (m Memory) withDefaults() Memory {
	return Memory{
		Line: cmp.Or(m.Line, usualLine), Cache: min(cmp.Or(m.Cache, blockCache), blockCache),
		Tables: min(max(cmp.Or(m.Tables, mostInMemory*memTable), leastTables), mostInMemory*memTable),
	}
}

// memTable returns the size of a table in memory.
func (o *Options) memTable() int64 { return o.Memory.Tables / mostInMemory / o.part }

// On returns options of a directory on another file system than the disk's, for tests of other
// packages.
func (o Options) On(fs vfs.FS) Options {
	o.fs = fs
	return o
}

// Open opens a data directory, and makes it if it is not there. A directory of an earlier version
// is converted; its file is kept under another name.
func Open(dir string, options ...Options) (*DB, error) {
	o := withDefaults(options)
	if err := makeDir(o.fs, dir, outerMode); err != nil {
		return nil, fmt.Errorf("cannot make the data directory: %w: choose a directory that can be written to", err)
	}
	lock, err := lockDir(o.fs, dir)
	if err != nil {
		return nil, err
	}
	w := newWatcher(o)
	d, err := openLocked(dir, w, o)
	if err != nil {
		return nil, errors.Join(whyNotOpen(dir, w, err), w.unlock(lock))
	}
	d.lock = lock
	w.opened.Store(true)
	go d.write()
	if err := d.beginLooking(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the data directory %s: %w", dir, err), d.Close())
	}
	return d, nil
}

func withDefaults(options []Options) (o Options) {
	if len(options) > 0 {
		o = options[0]
	}
	if o.fs == nil {
		o.fs = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.part = max(o.part, 1)
	o.Memory = o.Memory.withDefaults()
	return o
}

// lockTimeout is how long Open waits for another process that is just ending.
const lockTimeout = 2 * time.Second

// lockDir takes the directory for this process alone. It waits a while for another process that has
// it, but not for a file of the lock that cannot be opened.
func lockDir(fs vfs.FS, dir string) (*pebble.Lock, error) {
	for until := time.Now().Add(lockTimeout); ; time.Sleep(20 * time.Millisecond) {
		lock, err := pebble.LockDirectory(dir, fs)
		switch {
		case err == nil:
			return lock, nil
		case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
			return nil, fmt.Errorf("cannot write to the data directory: %w: choose a directory that can be written to", err)
		case errors.As(err, new(*os.PathError)):
			return nil, fmt.Errorf("cannot lock the data directory %s: %w", dir, err)
		case time.Now().After(until):
			return nil, fmt.Errorf("the data directory %s is in use by another process: stop that, or choose another directory (%w)", dir, err)
		}
	}
}

// whyNotOpen returns the error of a directory that does not open, with what to do.
func whyNotOpen(dir string, w *watcher, err error) error {
	err = fmt.Errorf("cannot open the data directory %s: %w", dir, err)
	switch {
	case isFull(err):
		err = fmt.Errorf("%w: its disk is full, and nothing is lost: make room on it, and start again", err)
	case w.isDead():
		err = fmt.Errorf("%w: start again when its disk takes writes", err)
	}
	return err
}

func openLocked(dir string, w *watcher, o Options) (*DB, error) {
	tables, err := openDir(dir, w, o)
	if err != nil {
		return nil, err
	}
	d := &DB{
		fs: o.fs, dir: dir, unit: firstSegment / o.part, tables: tables, watch: w, group: newGroup(tables), memTable: o.memTable(), mostInMemory: mostInMemory * o.memTable(), done: make(chan struct{}), gone: make(chan struct{}),
		report: reporter(w, o),
	}
	d.line, d.idle, d.retry = newLine(&d.order, o.Memory.Line), stopped(d.contained(d.confirmIdle)), stopped(d.contained(d.goOn))
	d.line.delay = stopped(d.contained(d.line.ripen))
	d.jobs.New = newJob
	if err := d.recover(o, o.fs.PathJoin(dir, "log")); err != nil {
		return nil, errors.Join(err, w.close(tables))
	}
	return d, nil
}

func newJob() any { return &job{answer: make(chan error, 1)} }

// reporter returns what takes an error of damaged data.
func reporter(w *watcher, o Options) func(error) {
	if o.Damage != nil {
		return o.Damage
	}
	return func(err error) { w.report(err.Error(), "stored data is damaged", "error", err.Error()) }
}

// Report reports a value that cannot be read, as damage to stored data.
func (d *DB) Report(err error) { d.report(err) }

// Ended returns a channel that is closed when the directory takes no more writes, because what is
// on the disk is not known: a flush failed, its tables cannot be written, or it has a defect. The
// process should end, and the next one reads what is there. Err says why.
func (d *DB) Ended() <-chan struct{} { return d.watch.over }

// Err returns why the directory accepts no more writes: an error that wraps ErrEnded, ErrGone or
// ErrReadOnly. It returns nil if the directory accepts writes, or refuses them only temporarily.
func (d *DB) Err() error {
	if err := d.watch.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// Close waits for the line and closes the directory. It returns ErrFull if there was no space for
// all of it. If the tables can no longer be written (see Ended), Close returns at once, and files
// and lock stay open until the process ends.
func (d *DB) Close() error {
	if d.closed.Swap(true) {
		<-d.gone
		return nil
	}
	defer close(d.gone)
	if d.view != nil {
		return d.closeView()
	}
	d.line.close()
	return d.watch.unlessDead(d.closeAll)
}

func (d *DB) closeAll() error {
	<-d.done
	d.using.Lock()
	defer d.using.Unlock()
	// What is not in the tables stays in the log.
	whole, err := d.watch.broken.Load() == nil, error(nil)
	if whole {
		err = d.beginLastSegment()
	}
	err = errors.Join(err, d.watch.flush(d.tables))
	if whole = whole && err == nil; whole {
		d.inTables = d.last
		d.group.clear()
		err = d.flush()
		whole = err == nil
	}
	return errors.Join(d.line.left(), err, d.log.close(whole), d.watch.close(d.tables), d.lock.Close())
}

// beginLastSegment begins a small segment, which is to say that the tables have everything, and all
// that they need.
func (d *DB) beginLastSegment() error {
	if err := d.log.next(writtenOutSize + nextNote); err != nil {
		return err
	}
	return d.sayLogStart()
}

// Write is WriteSized for an operation that holds little memory. It waits for space in the line as
// long as that takes.
func (d *DB) Write(op Op) error { return d.WriteSized(context.Background(), 0, op) }

// WriteSized makes an operation that holds this many bytes of memory. It returns when the operation
// is on the disk, or with the error with which it refused. It waits while the line has no space. If
// ctx ends meanwhile it returns ErrBusy, and nothing was written. Once the operation is in the
// line, ctx does not matter. After ErrFull nothing was written, and nothing is until the disk has
// space.
func (d *DB) WriteSized(ctx context.Context, bytes int, op Op) error {
	j := d.jobs.Get().(*job)
	j.op, j.bytes = op, jobSize+int64(bytes)
	lead, err := d.queue(ctx, j)
	if err == nil {
		if lead != nil {
			d.lead(lead)
		}
		select {
		case err = <-j.answer:
		case <-d.watch.dead: // who was to answer may wait for the tables
			return fmt.Errorf("%w: %w", ErrUnknown, d.Err())
		}
	}
	j.op, j.err, j.bytes = nil, nil, 0
	d.jobs.Put(j)
	return err
}

// Later is LaterSized for an operation that holds little memory.
func (d *DB) Later(op Op) error { return d.LaterSized(0, op) }

// LaterSized queues an operation that holds this many bytes of memory, and does not wait until it
// is made. It does wait for space in the line. The operation must not refuse.
func (d *DB) LaterSized(bytes int, op Op) error {
	_, err := d.queue(context.Background(), &job{op: op, bytes: jobSize + int64(bytes)})
	return err
}

// queue puts a job into the line. It returns the group that the caller must commit, if any: see
// line.
func (d *DB) queue(ctx context.Context, j *job) ([]*job, error) {
	if err := d.watch.broken.Load(); err != nil {
		return nil, *err
	}
	return d.line.add(ctx, j)
}

// Read calls fn with what is on the disk. A group may land between two calls of the transaction's
// methods; each of them, a scan too, sees the whole of a group or nothing.
func (d *DB) Read(fn func(tx *Tx) error) error {
	d.using.RLock()
	defer d.using.RUnlock()
	if d.closed.Load() {
		return ErrClosed
	}
	return fn(&Tx{from: d.tables, group: d.view, report: d.report})
}
