package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// groupSize is the largest number of operations in one group, and groupBytes the size from
	// which a group takes no more.
	groupSize, groupBytes = 512, 4 << 20
	// lineLength is how many operations may wait for the writer. Further ones wait for space.
	lineLength = 4 * groupSize
	// jobSize is the size of an operation in the line, in addition to the bytes that its caller
	// declares.
	jobSize = 512
	// laterDelay is how long operations without a waiter are held back, so that others share their
	// flush.
	laterDelay = 5 * time.Millisecond
	// confirmAfter is how long after the last flush of a busy time the log says that it was over.
	confirmAfter = 50 * time.Millisecond
	// mostFull is how many full segments may wait for the tables; the writer waits for them then.
	mostFull = 4
	// entrySize is what the tables reserve in memory for a change, beside its key and its value.
	entrySize = 200
	// retryAfter is how long after a write found no room the next one is tried.
	retryAfter = 500 * time.Millisecond
)

// write is the writer: it commits the line, group by group.
func (d *DB) write() {
	defer close(d.done)
	defer d.watch.contain()
	d.work()
	if d.line.left() != nil { // there was no room for it
		d.tryAgain()
		d.work()
	}
	d.order.Lock()
	defer d.order.Unlock()
	d.ended = true
	d.idle.Stop()
	d.retry.Stop()
	if d.looker != nil {
		d.looker.timer.Stop()
	}
	d.confirm()
}

// work commits the line until it is closed and has nothing left that can be committed.
func (d *DB) work() {
	for d.line.sleep() {
		d.commitLine()
	}
}

// commitLine commits the current line.
func (d *DB) commitLine() {
	d.order.Lock()
	defer d.order.Unlock()
	defer d.watch.contain()
	for group := d.line.next(); len(group) > 0; group = d.line.next() {
		d.finish(group)
	}
}

// contained returns fn that contains its panics.
func (d *DB) contained(fn func()) func() {
	return func() {
		defer d.watch.contain()
		fn()
	}
}

// tryAgain accepts writes again early, if there is space.
func (d *DB) tryAgain() {
	d.order.Lock()
	if d.crowded() {
		_ = d.watch.flush(d.tables) // if that fails, there is no room
	}
	d.order.Unlock()
	d.goOn()
}

// lead commits a group in the goroutine of a caller, which holds order.
func (d *DB) lead(group []*job) {
	defer d.order.Unlock()
	defer d.watch.contain() // finish has answered
	d.finish(group)
}

// finish commits jobs and answers their waiters. After an error, or a panic of this package, the
// fate of the jobs is unknown, and there are no more writes. An operation that panics has only
// refused: see group.call.
func (d *DB) finish(jobs []*job) {
	panics := true
	defer func() {
		if panics {
			answer(jobs, errPanicked)
		}
	}()
	for len(jobs) > 0 {
		n, err := d.commit(jobs)
		done := jobs[:n]
		jobs = jobs[n:]
		if !errors.Is(err, ErrFull) {
			d.line.giveBack(done)
		}
		switch {
		case errors.Is(err, ErrFull):
			d.stall(append(done, jobs...), err)
			jobs = nil
		case err != nil:
			d.watch.fail(err)
			answer(done, err)
		default:
			answer(done, nil)
			d.after()
		}
	}
	panics = false
}

var errPanicked = fmt.Errorf("%w: a defect of the data directory: its stack is in the log", ErrUnknown)

// answer answers the waiters: with err, or otherwise with the results of their operations.
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

// stall refuses writes until there is space again, and answers the waiters. Operations without a
// waiter stay in the line: later writes must come after them.
func (d *DB) stall(jobs []*job, err error) {
	var kept []*job
	for _, j := range jobs {
		if j.answer == nil {
			kept = append(kept, j)
			continue
		}
		d.line.giveBack([]*job{j})
		answer([]*job{j}, err)
	}
	d.line.putBack(kept, err)
	d.watch.report("room", "the data directory takes no writes for now", "error", err.Error())
	d.retry.Reset(retryAfter)
}

// goOn accepts writes again, if there is space.
func (d *DB) goOn() {
	d.order.Lock()
	defer d.order.Unlock()
	if d.ended {
		return
	}
	d.writeOut()
	if d.makeRoom(d.wanted) != nil {
		d.retry.Reset(retryAfter)
		return
	}
	d.log.prepare()
	d.watch.log.Info("the data directory takes writes again")
	d.line.goOn()
}

// after completes a group after its waiters have been answered.
func (d *DB) after() {
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
	d.order.Lock()
	defer d.order.Unlock()
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

// commit runs the operations of a group, flushes their records, and then shows them to readers. It
// returns how many it ran: the first, and as many more as groupBytes allow. A crash before the
// flush ends may leave a part of the group on the disk. No caller was answered then. After ErrFull
// nothing was written.
func (d *DB) commit(jobs []*job) (n int, err error) {
	if err := d.watch.broken.Load(); err != nil {
		return len(jobs), *err
	}
	d.lookOn()
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
	if err := d.flush(); err != nil {
		return n, err
	}
	d.flushes.Add(1)
	if waited {
		d.waited.Add(1)
	}
	if err := d.show(d.group.changes); err != nil {
		return n, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return n, nil
}

// flush writes the records of the group to the log. They are on the disk when it returns nil. After
// ErrFull nothing was written.
func (d *DB) flush() error {
	size := writtenOutSize
	for i := range d.group.records {
		size += d.group.records[i].measure()
	}
	if err := d.makeRoom(size); err != nil {
		d.wanted = size
		return err
	}
	if d.log.end == 0 {
		d.sayWrittenOut()
	}
	if d.buffer = d.buffer[:0]; cap(d.buffer) > groupBytes {
		d.buffer = nil // of one large group
	}
	for i := range d.group.records {
		r := &d.group.records[i]
		d.last++
		r.number, r.segment, r.flushed = d.last, d.log.current.nonce, d.flushed
		d.buffer = r.append(d.buffer)
	}
	d.said = d.flushed
	if err := d.log.write(d.buffer, d.last, true); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err := d.log.current.look(); err != nil { // nobody would find what was just written
		d.watch.fail(err)
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	d.bytes.Add(int64(len(d.buffer)))
	d.flushed = d.last
	return nil
}

// crowded reports whether writes must wait until the tables are written out.
func (d *DB) crowded() bool {
	return len(d.log.full) >= mostFull || d.inMemory >= d.mostInMemory
}

// makeRoom makes sure that this many bytes fit into the current segment and the memory of the
// tables.
func (d *DB) makeRoom(size int) error {
	if d.crowded() && d.watch.failing() {
		return d.watch.errTables()
	}
	before := d.log.current
	if err := d.log.ensureRoom(size); err != nil {
		return fmt.Errorf("%w: the log: %w", ErrFull, err)
	}
	if d.log.current != before {
		d.sayNext(before)
	}
	return nil
}

// writtenOutSize is at least what sayWrittenOut adds to a group.
const writtenOutSize = 256

// sayWrittenOut adds to the group that all records up to a number are in the tables, for good. If
// the tables ever have less, they have gone back in time: see recover.
func (d *DB) sayWrittenOut() {
	_ = d.group.run(func(tx *Tx) error { // it does not refuse
		tx.Put(meta, writtenOut, binary.BigEndian.AppendUint64(nil, d.inTables))
		return nil
	}, d.report)
}

// show puts flushed changes into the tables, where readers see them.
func (d *DB) show(changes []change) error {
	batch := d.tables.NewBatch()
	defer func() { _ = batch.Close() }() // it is in memory
	for _, c := range changes {
		set(batch, c)
	}
	setApplied(batch, d.last)
	size := int64(batch.Len()) + int64(batch.Count())*entrySize
	if size > d.memTable/2 { // which goes beside a new memory table
		size += d.memTable
	}
	d.inMemory += size
	return batch.Commit(pebble.NoSync)
}

// setApplied says in a batch up to which record the tables have everything.
func setApplied(batch *pebble.Batch, number uint64) {
	set(batch, change{key: applied, value: binary.BigEndian.AppendUint64(nil, number)})
}

// confirm records in the log that everything written was flushed, so that later damage is not taken
// for a missing flush. The record need not be on the disk: nothing else depends on it.
func (d *DB) confirm() {
	r := &record{header: header{number: d.last, flushed: d.flushed}} // it takes no number: it may be lost
	if d.said == d.flushed || d.watch.broken.Load() != nil || d.log.end+int64(r.measure())+nextNote > d.log.current.size {
		return
	}
	r.segment = d.log.current.nonce
	d.said = d.flushed
	data := r.append(nil)
	if err := d.log.write(data, d.last, false); err != nil {
		d.report(fmt.Errorf("the log: %w", err))
		return
	}
	d.bytes.Add(int64(len(data)))
}

// writeOut starts writing the tables out when a segment is full, so that it can be reused, or when
// much of them is in memory. Readers and the writer continue meanwhile.
func (d *DB) writeOut() {
	if w := d.writing; w != nil {
		if d.crowded() && !d.watch.failing() {
			_ = d.watch.await(w.done) // if they cannot be, writes are refused: see makeRoom
		}
		select {
		case <-w.done:
			d.writing, d.inTables, d.log.needed = nil, w.number, w.start
			d.inMemory -= w.bytes
			d.release()
		default:
		}
	}
	if d.writing != nil || len(d.log.full) == 0 && !d.crowded() {
		return
	}
	number, bytes := d.last, d.inMemory
	err := d.sayLogStart()
	var done <-chan struct{}
	if err == nil {
		done, err = d.tables.AsyncFlush()
	}
	if err != nil {
		d.report(fmt.Errorf("the tables cannot be written out: %w", err))
		return
	}
	d.writing = &writing{number, bytes, done, d.log.current}
}

// writing is the tables being written out, with all records up to a number, which take so many
// bytes of memory. They need the log from start on then.
type writing struct {
	number uint64
	bytes  int64
	done   <-chan struct{}
	start  *segment
}

func (d *DB) release() {
	if err := d.log.release(d.inTables); err != nil {
		d.report(fmt.Errorf("a segment of the log cannot be removed: %w", err))
	}
}
