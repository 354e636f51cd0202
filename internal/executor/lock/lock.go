package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/host"
)

// ErrTaken says that a holder has taken the caller's call, and had not answered it when the
// caller's time was over. The holder continues with it.
var ErrTaken = errors.New("lock: another holder carries out the call")

// Result says how an Acquire without an error ended.
type Result uint8

const (
	// Acquired: the caller holds the lock, and must call Release.
	Acquired Result = iota
	// Answered: a holder has carried out the caller's call. The caller does not hold the lock.
	Answered
)

// Table has the locks of a process, by workflow id. Call is what a waiter offers to the holder before it, an
// update for example; the zero Call is none.
type Table[Call comparable] struct {
	host host.Host
	mu   sync.Mutex
	held map[string]held[Call]
}

// held is a lock that has a holder.
type held[Call comparable] struct {
	waiting []*Waiter[Call] // in order of arrival
	alone   bool            // the holder carries out a call that was given back
}

// Waiter waits for a lock.
type Waiter[Call comparable] struct {
	Call     Call
	wake     chan struct{}
	alone    bool // its call was given back
	gone     bool // its time was over while its call was taken
	acquired bool // it holds the lock
	answered bool // its call was carried out
}

// New returns a table without locks.
func New[Call comparable](h host.Host) *Table[Call] {
	return &Table[Call]{host: h, held: map[string]held[Call]{}}
}

// AcquireWithin is Acquire for a caller who waits for this long at most.
func (t *Table[Call]) AcquireWithin(ctx context.Context, wait time.Duration, workflowID string, call Call) (Result, error) {
	w := t.enqueue(workflowID, call)
	if w == nil {
		return Acquired, nil // most locks are free, and a context with a timeout costs more than acquiring one
	}
	limited, cancel := t.host.WithTimeout(ctx, wait)
	defer cancel()
	return t.await(limited, workflowID, w)
}

// Acquire waits for the lock of a workflow. If ctx ends first it returns an error: ErrTaken if a holder carries
// out the call, and the error of ctx if nothing will happen.
func (t *Table[Call]) Acquire(ctx context.Context, workflowID string, call Call) (Result, error) {
	w := t.enqueue(workflowID, call)
	if w == nil {
		return Acquired, nil
	}
	return t.await(ctx, workflowID, w)
}

func (t *Table[Call]) await(ctx context.Context, workflowID string, w *Waiter[Call]) (Result, error) {
	for {
		err := t.host.Wait(ctx, host.Forever, w.wake)
		acquired, answered := t.state(w)
		switch {
		case acquired:
			return Acquired, nil
		case answered:
			return Answered, nil
		case err == nil:
			continue
		case t.abandon(workflowID, w):
			return 0, err
		}
		switch acquired, answered := t.state(w); { // the holder has woken it, or taken its call, just now
		case acquired:
			return Acquired, nil
		case answered:
			return Answered, nil
		}
		return 0, ErrTaken
	}
}

// enqueue acquires a free lock and returns nil, or adds a waiter to the queue.
func (t *Table[Call]) enqueue(workflowID string, call Call) *Waiter[Call] {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, busy := t.held[workflowID]
	if !busy {
		t.held[workflowID] = held[Call]{}
		return nil
	}
	w := &Waiter[Call]{wake: make(chan struct{}), Call: call}
	l.waiting = append(l.waiting, w)
	t.held[workflowID] = l
	return w
}

func (t *Table[Call]) state(w *Waiter[Call]) (acquired, answered bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return w.acquired, w.answered
}

// abandon removes a waiter from the queue. It returns false if the waiter is no longer there, because it has
// acquired the lock or its call was taken.
func (t *Table[Call]) abandon(workflowID string, w *Waiter[Call]) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.held[workflowID]
	i := slices.Index(l.waiting, w)
	if i < 0 {
		w.gone = !w.acquired && !w.answered
		return false
	}
	l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
	t.held[workflowID] = l
	return true
}

// Release hands the lock to the next waiter.
func (t *Table[Call]) Release(workflowID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.held[workflowID]
	if len(l.waiting) == 0 {
		delete(t.held, workflowID)
		return
	}
	i := l.next()
	w := l.waiting[i]
	l.waiting, l.alone = append(l.waiting[:i:i], l.waiting[i+1:]...), w.alone
	t.held[workflowID] = l
	w.acquired = true
	close(w.wake)
}

// next returns the index of the next holder: the first waiter, but no waiter with a call that was given back
// directly after another of those. So whoever waits behind many of them waits for one.
func (l held[Call]) next() int {
	if !l.alone {
		return 0
	}
	return max(slices.IndexFunc(l.waiting, func(w *Waiter[Call]) bool { return !w.alone }), 0)
}

// Take takes up to limit calls from those who wait behind the holder, in order of arrival. They sleep until
// Answer or GiveBack. Take leaves calls that were given back, and takes none if the holder's own was given back.
func (t *Table[Call]) Take(workflowID string, limit int) []*Waiter[Call] {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.held[workflowID]
	if l.alone {
		return nil
	}
	var none Call
	var taken, left []*Waiter[Call]
	for _, w := range l.waiting {
		if w.Call != none && !w.alone && len(taken) < limit {
			taken = append(taken, w)
		} else {
			left = append(left, w)
		}
	}
	l.waiting = left
	t.held[workflowID] = l
	return taken
}

// GiveBack puts waiters, whose calls were taken, back at the head of the queue. Each will carry out its call
// alone. The call of a waiter whose time is over is dropped.
func (t *Table[Call]) GiveBack(workflowID string, back []*Waiter[Call]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	back = slices.DeleteFunc(back, func(w *Waiter[Call]) bool { return w.gone })
	for _, w := range back {
		w.alone = true
	}
	l := t.held[workflowID]
	l.waiting = append(back, l.waiting...)
	t.held[workflowID] = l
}

// Answer wakes waiters whose calls were taken and carried out.
func (t *Table[Call]) Answer(taken []*Waiter[Call]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range taken {
		w.answered = true
		close(w.wake)
	}
}
