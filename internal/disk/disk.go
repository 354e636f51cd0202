package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// ErrUnknown is wrapped by what Write returns when nobody can tell whether the operation is on the disk.
var ErrUnknown = errors.New("disk: the outcome of the write is not known")

// ErrClosed is wrapped by what Write, Later and Read return after Close.
var ErrClosed = errors.New("disk: closed")

// Op is an operation within a transaction. It returns an error to refuse: it must not have changed anything then.
type Op func(tx *bbolt.Tx) error

const (
	fileName = "weft.db"
	// lockTimeout is how long Open waits for another process that is just ending.
	lockTimeout = 2 * time.Second
	// groupSize is the largest number of operations in one transaction.
	groupSize = 512
	// lineLength is how many operations may wait for the writer; whoever comes then waits for room.
	lineLength = 4 * groupSize
	// laterDelay is how long operations that nobody waits for are held back, for others to share their flush.
	laterDelay = 5 * time.Millisecond
)

// DB is an open file.
type DB struct {
	bolt *bbolt.DB
	line chan *job
	done chan struct{} // closed when the writer has ended

	// flushing is held while a transaction is being flushed: no read begins then.
	flushing sync.RWMutex

	mu     sync.RWMutex // held to put something into the line, and to close it
	closed bool
	broken atomic.Pointer[error] // why there are no more writes
}

type job struct {
	op     Op
	answer chan error // nil where nobody waits
	err    error
}

// Open opens the file of a directory, and makes both where they are not there.
func Open(dir string) (*DB, error) { return openWith(dir, os.OpenFile) }

func openWith(dir string, openFile func(string, int, os.FileMode) (*os.File, error)) (*DB, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the data directory: %w: choose a directory that can be written to", err)
	}
	bolt, err := bbolt.Open(filepath.Join(dir, fileName), 0o600, &bbolt.Options{
		Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true, OpenFile: openFile,
	})
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, fmt.Errorf("the data directory %s is in use by another process: stop that, or choose another directory", dir)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("cannot write to the data directory: %w: choose a directory that can be written to", err)
	case err != nil:
		return nil, fmt.Errorf("cannot open the data directory %s: %w", dir, err)
	}
	d := &DB{bolt: bolt, line: make(chan *job, lineLength), done: make(chan struct{})}
	go d.write()
	return d, nil
}

// Close waits for what is in the line and closes the file.
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
	return d.bolt.Close()
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
func (d *DB) Read(fn func(tx *bbolt.Tx) error) error {
	d.flushing.RLock()
	tx, err := d.bolt.Begin(false)
	d.flushing.RUnlock()
	if errors.Is(err, bbolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // which ends a read transaction
	return fn(tx)
}

// write is the writer: it takes what stands in the line, group by group.
func (d *DB) write() {
	defer close(d.done)
	for first := range d.line {
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

// commit makes the operations of a group in one transaction and flushes it, unless all of them refused. A crash before
// the flush is over leaves the file as it was before the group; nobody has been answered then.
func (d *DB) commit(group []*job) error {
	if err := d.broken.Load(); err != nil {
		return *err
	}
	tx, err := d.bolt.Begin(true)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	changed := false
	for _, j := range group {
		j.err = j.op(tx)
		changed = changed || j.err == nil
	}
	if !changed {
		return tx.Rollback()
	}
	d.flushing.Lock()
	err = tx.Commit()
	d.flushing.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return nil
}
