package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
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

// Op is an operation within a group. If it returns an error it has refused, and what it has changed is forgotten.
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
	line   *line
	jobs   sync.Pool     // of jobs with an answer
	done   chan struct{} // closed when the writer has ended

	// turn is held to commit a group, and to use what follows.
	turn    sync.Mutex
	last    uint64 // the number of the last record
	flushed uint64 // of the last one that was flushed
	said    uint64 // the last flushed that stands in the log
	buffer  []byte
	group   *group
	// written gives the number up to which the tables are written out, once they are; nil while nothing is.
	written chan uint64

	idle  *time.Timer // calls confirmIdle
	armed bool        // idle runs
	busy  bool        // a group was flushed since idle was reset
	ended bool        // there are no more groups

	using  sync.RWMutex // held by a Read
	closed atomic.Bool
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

// Options are the options of a data directory. The zero value works.
type Options struct {
	// Log takes what operators should know; nil is slog.Default.
	Log *slog.Logger

	// Of tests.
	fs   vfs.FS // nil is the disk's
	part int64  // of the memory and of the segments' sizes that users get, one in so many; 0 is all
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
	o.part = max(o.part, 1)
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
		tables: tables, group: newGroup(tables), done: make(chan struct{}),
		report: func(err error) { o.Log.Error("stored data is damaged", "error", err) },
	}
	d.line, d.idle = newLine(&d.turn), stopped(d.confirmIdle)
	d.jobs.New = func() any { return &job{answer: make(chan error, 1)} }
	if err := d.recover(o, o.fs.PathJoin(dir, "log")); err != nil {
		return nil, errors.Join(err, tables.Close())
	}
	return d, nil
}

// openTables opens the Pebble database of a directory, which has no log.
func openTables(dir string, o Options) (*pebble.DB, error) {
	cache := pebble.NewCache(blockCache / o.part)
	defer cache.Unref()
	options := &pebble.Options{
		FS: o.fs, Cache: cache, DisableWAL: true, MemTableSize: uint64(memTable / o.part), MemTableStopWritesThreshold: 4,
		FormatMajorVersion: pebble.FormatColumnarBlocks, Logger: tablesLog{o.Log},
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
	if d.closed.Swap(true) {
		return nil
	}
	d.line.close()
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
	j := d.jobs.Get().(*job)
	j.op = op
	lead, err := d.queue(j)
	if err == nil {
		if lead != nil {
			d.lead(lead)
		}
		err = <-j.answer
	}
	j.op, j.err = nil, nil
	d.jobs.Put(j)
	return err
}

// Later makes an operation before any that is queued after it, and does not wait for it. The operation must not refuse.
func (d *DB) Later(op Op) error {
	_, err := d.queue(&job{op: op})
	return err
}

// queue puts a job into the line. It returns the group that the caller is to commit, if any; see line.
func (d *DB) queue(j *job) ([]*job, error) {
	if err := d.broken.Load(); err != nil {
		return nil, *err
	}
	return d.line.add(j)
}

// Read calls fn with what is on the disk.
func (d *DB) Read(fn func(tx *Tx) error) error {
	d.using.RLock()
	defer d.using.RUnlock()
	if d.closed.Load() {
		return ErrClosed
	}
	return fn(&Tx{from: d.tables, report: d.report})
}

// write is the writer: it commits what stands in the line, group by group.
func (d *DB) write() {
	defer close(d.done)
	for d.line.sleep() {
		d.turn.Lock()
		for group := d.line.next(); len(group) > 0; group = d.line.next() {
			d.finish(group)
		}
		d.turn.Unlock()
	}
	d.turn.Lock()
	defer d.turn.Unlock()
	d.ended = true
	d.idle.Stop()
	d.confirm()
}

// lead commits a group in the goroutine of a caller, which has taken the turn.
func (d *DB) lead(group []*job) {
	defer d.turn.Unlock()
	d.finish(group)
}

// finish commits jobs and answers those who wait. There are no more writes after an error, or after an operation that panicked: nobody
// knows then what became of the jobs before it.
func (d *DB) finish(jobs []*job) {
	panics := true
	defer func() {
		if panics {
			d.fail(errPanicked)
			answer(jobs, errPanicked)
		}
	}()
	for len(jobs) > 0 {
		n, err := d.commit(jobs)
		if err != nil {
			d.fail(err)
		}
		done := jobs[:n]
		jobs = jobs[n:]
		answer(done, err)
		d.after(err)
	}
	panics = false
}

var errPanicked = fmt.Errorf("%w: an operation panicked", ErrUnknown)

// fail ends all writing, for the first error that does.
func (d *DB) fail(err error) { d.broken.CompareAndSwap(nil, &err) }

// answer answers those who wait: with err, or else with what their operations returned.
func answer(jobs []*job, err error) {
	for _, j := range jobs {
		if err != nil {
			j.err = err
		}
		if j.answer != nil {
			j.answer <- j.err
		}
	}
}

// after is what is left to do after a group, when those who wait for it have been answered.
func (d *DB) after(err error) {
	if err != nil {
		return
	}
	d.writeOut()
	d.log.prepare()
	if d.said < d.flushed {
		d.busy = true
		if !d.armed {
			d.armed, d.busy = true, false
			d.idle.Reset(confirmAfter)
		}
	}
}

// confirmIdle confirms, if no group was flushed for confirmAfter.
func (d *DB) confirmIdle() {
	d.turn.Lock()
	defer d.turn.Unlock()
	switch {
	case d.ended:
	case d.busy:
		d.busy = false
		d.idle.Reset(confirmAfter)
	default:
		d.armed = false
		d.confirm()
	}
}

// commit runs the operations of a group, flushes their records, and then shows them to readers. It returns how many it ran: the first, and
// as many more as groupBytes allow. A crash before the flush is over leaves a part of the group or none; nobody has been answered then.
func (d *DB) commit(jobs []*job) (n int, err error) {
	if err := d.broken.Load(); err != nil {
		return len(jobs), *err
	}
	d.group.clear()
	waited := false
	for n < len(jobs) && d.group.bytes < groupBytes {
		j := jobs[n]
		j.err = d.group.run(j.op, d.report)
		waited = waited || j.answer != nil
		n++
	}
	if len(d.group.records) == 0 {
		return n, nil
	}
	if err = d.flush(d.group.records); err == nil {
		err = d.show(d.group.changes)
	}
	d.flushes.Add(1)
	d.bytes.Add(int64(len(d.buffer)))
	if waited {
		d.waited.Add(1)
	}
	if err != nil {
		return n, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	d.flushed = d.last
	return n, nil
}

// show puts changes whose records are flushed into the tables.
func (d *DB) show(changes []change) error {
	batch := d.tables.NewBatch()
	defer func() { _ = batch.Close() }() // it is in memory
	for _, c := range changes {
		set(batch, c)
	}
	if err := batch.Set(applied, binary.BigEndian.AppendUint64(nil, d.last), nil); err != nil {
		return err
	}
	return batch.Commit(pebble.NoSync)
}

// flush writes records to the log. They are on the disk when it returns nil.
func (d *DB) flush(records []record) error {
	size := 0
	for i := range records {
		records[i].number = d.last + 1 + uint64(i)
		size += records[i].measure()
	}
	if _, err := d.log.room(size); err != nil {
		return err
	}
	if d.buffer = d.buffer[:0]; cap(d.buffer) > groupBytes {
		d.buffer = nil // of one large group
	}
	for i := range records {
		records[i].segment, records[i].flushed = d.log.current.nonce, d.flushed
		d.buffer = records[i].append(d.buffer)
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
