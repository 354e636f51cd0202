package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrUnknown is wrapped by what Write returns when nobody can tell whether the operation is on the disk.
var ErrUnknown = errors.New("disk: the outcome of the write is not known")

// ErrClosed is wrapped by what Write, Later and Read return after Close.
var ErrClosed = errors.New("disk: closed")

// Op is an operation within a group. It returns an error to refuse: it must not have changed anything then.
type Op func(tx *Tx) error

const (
	// groupSize and groupBytes are the largest number of operations in one group, and of bytes from which on it takes no more.
	groupSize, groupBytes = 512, 4 << 20
	// lineLength is how many operations may wait for the writer; whoever comes then waits for room.
	lineLength = 4 * groupSize
	// laterDelay is how long operations that nobody waits for are held back, for others to share their flush.
	laterDelay = 5 * time.Millisecond
	// memTable is how much the tables keep in memory before they write it out.
	memTable = 16 << 20
	// blockCache is how much of the tables' files is kept in memory at most. A start and a commit look for keys that are not there, in
	// tables just written: with 32 MB a tenth of a busy server's processor time went into reading them again.
	blockCache = 128 << 20
	// confirmAfter is how long after the last flush of a busy time the log says that it was over.
	confirmAfter = 50 * time.Millisecond
	// mostFull is how many full segments may wait for the tables; the writer waits for them then.
	mostFull = 4
)

// DB is an open data directory.
type DB struct {
	tables *pebble.DB
	log    *wal
	lock   *pebble.Lock
	report func(error)
	line   chan *job
	done   chan struct{} // closed when the writer has ended

	// Of the writer.
	last    uint64 // the number of the last record
	flushed uint64 // of the last one that was flushed
	said    uint64 // the last flushed that stands in the log
	buffer  []byte
	// written gives the number up to which the tables are written out, once they are; nil while nothing is.
	written chan uint64

	using  sync.RWMutex // held by a Read
	mu     sync.RWMutex // held to put something into the line, and to close it
	closed bool
	broken atomic.Pointer[error] // why there are no more writes

	flushes, waited, bytes atomic.Int64
}

// Stats are what a directory has written since it was opened.
type Stats struct {
	// Flushes is how many groups were flushed, and Waited how many of them had somebody wait for them.
	Flushes, Waited int64
	// Bytes is how much was written to the log.
	Bytes int64
}

// Stats returns what was written so far.
func (d *DB) Stats() Stats {
	return Stats{Flushes: d.flushes.Load(), Waited: d.waited.Load(), Bytes: d.bytes.Load()}
}

type job struct {
	op     Op
	answer chan error // nil where nobody waits
	err    error
}

// Options are the options of a data directory. The zero value works.
type Options struct {
	// Log takes what operators should know; nil is slog.Default.
	Log *slog.Logger

	fs vfs.FS // of tests; nil is the disk's
}

// Open opens a data directory, and makes it if it is not there. A directory of an earlier version is converted; its file is kept
// under another name.
func Open(dir string, options ...Options) (*DB, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if o.fs == nil {
		o.fs = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if err := makeDir(o.fs, dir); err != nil {
		return nil, fmt.Errorf("cannot make the data directory: %w: choose a directory that can be written to", err)
	}
	lock, err := lockDir(o.fs, dir)
	if err != nil {
		return nil, err
	}
	d, err := openLocked(dir, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the data directory %s: %w", dir, err), lock.Close())
	}
	d.lock = lock
	go d.write()
	return d, nil
}

// lockTimeout is how long Open waits for another process that is just ending.
const lockTimeout = 2 * time.Second

// lockDir takes the directory for this process alone.
func lockDir(fs vfs.FS, dir string) (*pebble.Lock, error) {
	for until := time.Now().Add(lockTimeout); ; time.Sleep(20 * time.Millisecond) {
		lock, err := pebble.LockDirectory(dir, fs)
		switch {
		case err == nil:
			return lock, nil
		case errors.Is(err, os.ErrPermission):
			return nil, fmt.Errorf("cannot write to the data directory: %w: choose a directory that can be written to", err)
		case time.Now().After(until):
			return nil, fmt.Errorf("the data directory %s is in use by another process: stop that, or choose another directory (%w)", dir, err)
		}
	}
}

func openLocked(dir string, o Options) (*DB, error) {
	tables, err := openDir(dir, o)
	if err != nil {
		return nil, err
	}
	d := &DB{
		tables: tables, line: make(chan *job, lineLength), done: make(chan struct{}),
		report: func(err error) { o.Log.Error("stored data is damaged", "error", err) },
	}
	if err := d.recover(o.fs, o.fs.PathJoin(dir, "log")); err != nil {
		return nil, errors.Join(err, tables.Close())
	}
	return d, nil
}

// openTables opens the Pebble database of a directory, which has no log.
func openTables(fs vfs.FS, dir string, log *slog.Logger) (*pebble.DB, error) {
	cache := pebble.NewCache(blockCache)
	defer cache.Unref()
	options := &pebble.Options{
		FS: fs, Cache: cache, DisableWAL: true, MemTableSize: memTable, MemTableStopWritesThreshold: 4,
		FormatMajorVersion: pebble.FormatColumnarBlocks, Logger: tablesLog{log},
	}
	// One compaction at once, always: so nothing has to look every 100 ms whether more are allowed, which an idle server would pay for.
	options.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone }) // package seal compresses
	return pebble.Open(dir, options)
}

// tablesLog hands on what Pebble says.
type tablesLog struct{ log *slog.Logger }

// Infof drops what is no trouble.
func (tablesLog) Infof(string, ...any) {}

// Errorf reports what Pebble tries again.
func (l tablesLog) Errorf(format string, args ...any) {
	l.log.Error("the tables of the data directory: " + fmt.Sprintf(format, args...))
}

// Fatalf ends the process: Pebble calls it when it cannot go on without losing what it was given. The log has it.
func (l tablesLog) Fatalf(format string, args ...any) {
	l.log.Error("the tables of the data directory cannot be written, so the process ends: " + fmt.Sprintf(format, args...))
	os.Exit(1)
}

// Close waits for what is in the line and closes the directory.
func (d *DB) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	close(d.line)
	d.mu.Unlock()
	<-d.done
	d.using.Lock()
	defer d.using.Unlock()
	if d.written != nil {
		<-d.written
	}
	err := d.tables.Flush()
	return errors.Join(err, d.log.close(err == nil && d.broken.Load() == nil), d.tables.Close(), d.lock.Close())
}

// Write makes an operation and returns when it is on the disk, or the error with which it refused.
func (d *DB) Write(op Op) error {
	answer := make(chan error, 1)
	if err := d.queue(&job{op: op, answer: answer}); err != nil {
		return err
	}
	return <-answer
}

// Later makes an operation before any that is queued after it, and does not wait for it. The operation must not refuse.
func (d *DB) Later(op Op) error { return d.queue(&job{op: op}) }

func (d *DB) queue(j *job) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	if err := d.broken.Load(); err != nil {
		return *err
	}
	d.line <- j
	return nil
}

// Read calls fn with what is on the disk.
func (d *DB) Read(fn func(tx *Tx) error) error {
	d.using.RLock()
	defer d.using.RUnlock()
	d.mu.RLock()
	closed := d.closed
	d.mu.RUnlock()
	if closed {
		return ErrClosed
	}
	return fn(&Tx{from: d.tables, report: d.report})
}

// write is the writer: it takes what stands in the line, group by group.
func (d *DB) write() {
	defer close(d.done)
	for {
		first, open := d.next()
		if !open {
			d.confirm()
			return
		}
		group := d.gather(first)
		err := d.commit(group)
		if err != nil {
			d.broken.Store(&err)
		}
		for _, j := range group {
			if j.answer == nil {
				continue
			}
			if err != nil {
				j.err = err
			}
			j.answer <- j.err
		}
	}
}

// next waits for an operation. If none comes for a while, the log says that the last flush was over.
func (d *DB) next() (*job, bool) {
	if d.said < d.flushed {
		idle := time.NewTimer(confirmAfter)
		defer idle.Stop()
		select {
		case j, open := <-d.line:
			return j, open
		case <-idle.C:
			d.confirm()
		}
	}
	j, open := <-d.line
	return j, open
}

// gather takes what stands in the line behind first. Where nobody waits for any of it, it waits a little for somebody who
// does.
func (d *DB) gather(first *job) []*job {
	group := []*job{first}
	waited := first.answer != nil
	var patience <-chan time.Time
	for len(group) < groupSize {
		select {
		case j, open := <-d.line:
			if !open {
				return group
			}
			group = append(group, j)
			waited = waited || j.answer != nil
			continue
		default:
		}
		if waited {
			return group
		}
		if patience == nil {
			patience = time.After(laterDelay)
		}
		select {
		case j, open := <-d.line:
			if !open {
				return group
			}
			group = append(group, j)
			waited = j.answer != nil
		case <-patience:
			return group
		}
	}
	return group
}

// commit makes the operations of a group, flushes their records, and then shows them to readers. A crash before the flush is over
// leaves a part of the group or none; nobody has been answered then.
func (d *DB) commit(group []*job) error {
	if err := d.broken.Load(); err != nil {
		return *err
	}
	batch := d.tables.NewIndexedBatch()
	defer func() { _ = batch.Close() }() // it is in memory
	var records []*record
	for _, j := range group {
		r := &record{}
		j.err = j.op(&Tx{from: batch, batch: batch, record: r, report: d.report})
		if j.err == nil && len(r.list) > 0 {
			records = append(records, r)
		}
	}
	if len(records) == 0 {
		return nil
	}
	err := d.flush(records)
	d.count(group)
	if err == nil {
		err = batch.Set(applied, binary.BigEndian.AppendUint64(nil, d.last), nil)
	}
	if err == nil {
		err = batch.Commit(pebble.NoSync)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	d.flushed = d.last
	d.writeOut()
	d.log.prepare()
	return nil
}

func (d *DB) count(group []*job) {
	d.flushes.Add(1)
	d.bytes.Add(int64(len(d.buffer)))
	if slices.ContainsFunc(group, func(j *job) bool { return j.answer != nil }) {
		d.waited.Add(1)
	}
}

// flush writes records to the log. They are on the disk when it returns nil.
func (d *DB) flush(records []*record) error {
	size := 0
	for i, r := range records {
		r.number = d.last + 1 + uint64(i)
		size += r.measure()
	}
	if _, err := d.log.room(size); err != nil {
		return err
	}
	if d.buffer = d.buffer[:0]; cap(d.buffer) > groupBytes {
		d.buffer = nil // of one large group
	}
	for _, r := range records {
		r.segment, r.flushed = d.log.current.nonce, d.flushed
		d.buffer = r.append(d.buffer)
	}
	d.last, d.said = d.last+uint64(len(records)), d.flushed
	return d.log.write(d.buffer, d.last, true)
}

// confirm has the log say that all that was written was flushed, so that what is damaged later is not taken for what never was. It
// need not be on the disk: nothing but that depends on it.
func (d *DB) confirm() {
	r := &record{header: header{number: d.last, flushed: d.flushed}} // it takes no number: it may be lost
	if d.said == d.flushed || d.broken.Load() != nil || d.log.end+int64(r.measure()) > d.log.current.size {
		return
	}
	r.segment = d.log.current.nonce
	d.said = d.flushed
	if err := d.log.write(r.append(nil), d.last, false); err != nil {
		d.report(fmt.Errorf("the log: %w", err))
	}
}

// writeOut has the tables written out when a segment is full, so that it can be used again. Readers and the writer go on meanwhile.
func (d *DB) writeOut() {
	if d.written != nil {
		wait := len(d.log.full) >= mostFull
		select {
		case number := <-d.written:
			d.written = nil
			d.release(number)
		default:
			if wait {
				d.release(<-d.written)
				d.written = nil
			}
		}
	}
	if d.written != nil || len(d.log.full) == 0 {
		return
	}
	number := d.last
	flushed, err := d.tables.AsyncFlush()
	if err != nil {
		d.report(fmt.Errorf("the tables cannot be written out: %w", err))
		return
	}
	done := make(chan uint64, 1)
	d.written = done
	go func() {
		<-flushed
		done <- number
	}()
}

func (d *DB) release(number uint64) {
	if err := d.log.release(number); err != nil {
		d.report(fmt.Errorf("a segment of the log cannot be removed: %w", err))
	}
}
