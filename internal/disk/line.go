package disk

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// job is an operation in the line.
type job struct {
	op     Op
	answer chan error // nil if nobody waits
	err    error
	bytes  int64 // that it holds until it has been committed, or answered
}

// line is the operations that wait to be committed, in order. They are committed in groups, one at
// a time, by the holder of the directory's order lock:
//
//   - A caller of Write commits its own operation, and all that stand before it, if the directory is quiet. So no other goroutine has to
//     be woken before the flush or after it.
//   - The writer, a goroutine, commits all others. What queues up during one flush shares the next one.
//
// Operations that nobody waits for stay in the line for laterDelay, so that they share the flush of somebody who does wait.
type line struct {
	order *sync.Mutex

	mu      sync.Mutex
	jobs    []*job
	taken   []*job    // the group that was taken last; its memory is used for the line after the next
	waited  int       // how many of jobs have somebody who waits
	quiet   bool      // the last group had one such job at most
	closed  bool      // no more jobs are taken in
	stalled error     // why no jobs are taken in for now
	room    sync.Cond // broadcast when jobs are taken out, or bytes are given back
	bytes   int64     // held by all jobs that were added and are not committed
	budget  int64     // of bytes: no job is added while so many are held

	delay *time.Timer // calls ripen
	armed bool        // delay runs
	due   bool        // jobs have stood for laterDelay

	work   chan struct{} // wakes the writer
	called bool          // something is in work
}

func newLine(order *sync.Mutex, budget int64) *line {
	l := &line{order: order, quiet: true, work: make(chan struct{}, 1), budget: budget}
	l.room.L = &l.mu
	l.delay = stopped(l.ripen)
	return l
}

// stopped returns a timer that calls fn once it is reset.
func stopped(fn func()) *time.Timer {
	t := time.AfterFunc(time.Hour, fn)
	t.Stop()
	return t
}

// add puts a job into the line. If there is no room it waits for some until ctx ends, and then returns ErrBusy. If the directory is quiet
// and nobody holds order, it takes order and returns the group that the caller has to commit, with the job at its end. Otherwise the
// writer commits the job.
func (l *line) add(ctx context.Context, j *job) (lead []*job, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.awaitRoom(ctx); err != nil {
		return nil, err
	}
	if l.closed {
		return nil, ErrClosed
	}
	if l.stalled != nil {
		return nil, l.stalled
	}
	l.jobs = append(l.jobs, j)
	l.bytes += j.bytes
	if j.answer == nil {
		if !l.armed {
			l.armed = true
			l.delay.Reset(laterDelay)
		}
		return nil, nil
	}
	l.waited++
	if l.quiet && l.waited == 1 && len(l.jobs) <= groupSize && l.order.TryLock() {
		return l.take(), nil
	}
	l.call()
	return nil, nil
}

// awaitRoom waits until a job may be added, whatever its size, or the line takes none in. It returns ErrBusy if ctx ends before. The caller
// holds mu.
func (l *line) awaitRoom(ctx context.Context) error {
	if !l.isFull() {
		return nil
	}
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.room.Broadcast()
	})()
	for l.isFull() {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrBusy, context.Cause(ctx))
		}
		l.room.Wait()
	}
	return nil
}

// isFull reports whether a job that comes now has to wait for room. The caller holds mu.
func (l *line) isFull() bool {
	return (len(l.jobs) >= lineLength || l.bytes >= l.budget) && !l.closed && l.stalled == nil
}

// giveBack gives back the bytes of jobs that have been committed or answered, and forgets their operations.
func (l *line) giveBack(jobs []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range jobs {
		l.bytes -= j.bytes
		j.op, j.bytes = nil, 0
	}
	l.room.Broadcast()
}

// call wakes the writer. The caller holds mu.
func (l *line) call() {
	if !l.called && !l.closed {
		l.called = true
		l.work <- struct{}{}
	}
}

// ripen has the writer commit what nobody waits for.
func (l *line) ripen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	if len(l.jobs) > 0 {
		l.due = true
		l.call()
	}
}

// sleep waits until the writer has something to do. It reports false if the line is closed and empty.
func (l *line) sleep() bool {
	<-l.work
	l.mu.Lock()
	defer l.mu.Unlock()
	l.called = false
	return !l.closed || len(l.jobs) > 0 && l.stalled == nil
}

// left returns why operations are left in the line; nil if there are none.
func (l *line) left() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.jobs) == 0 {
		return nil
	}
	return fmt.Errorf("%d operations are lost: %w", len(l.jobs), cmp.Or(l.stalled, ErrFull))
}

// next returns the next group of the writer, which holds order; nil if there is none for now.
func (l *line) next() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stalled != nil || l.waited == 0 && !l.due && !l.closed {
		return nil
	}
	return l.take()
}

// putBack puts jobs back that nobody waits for, and takes in no more for now. Those in the line that somebody waits for are answered.
func (l *line) putBack(jobs []*job, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalled = why
	for _, j := range l.jobs {
		if j.answer == nil {
			jobs = append(jobs, j)
			continue
		}
		l.bytes -= j.bytes
		answer([]*job{j}, why)
	}
	l.jobs, l.waited = jobs, 0
	l.room.Broadcast()
}

// goOn takes jobs in again, and has the writer commit those in the line.
func (l *line) goOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalled = nil
	if l.due = len(l.jobs) > 0; l.due {
		l.call()
	}
}

// take takes a group out of the line. The caller holds mu and order, so the group that was taken before has been committed.
func (l *line) take() []*job {
	group := l.jobs[:min(len(l.jobs), groupSize)]
	clear(l.taken)
	l.taken, l.jobs = l.jobs, append(l.taken[:0], l.jobs[len(group):]...)
	waited := 0
	for _, j := range group {
		if j.answer != nil {
			waited++
		}
	}
	l.waited -= waited
	l.quiet = waited <= 1
	l.due = l.due && len(l.jobs) > 0
	l.room.Broadcast()
	return group
}

// close takes in no more jobs. The writer commits those in the line.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.delay.Stop()
	l.room.Broadcast()
	close(l.work)
}
