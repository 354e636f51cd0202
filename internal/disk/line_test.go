package disk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// No operation is added while those before it use up the budget of bytes. A waiting caller gets in
// when bytes are given back. If his context ends or the line is closed, he gets an error that says
// that nothing was written.
func TestLineIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, budget = 400, 1000
		l := newLine(&sync.Mutex{}, budget)
		l.order.Lock() // another caller is committing
		add := func(ctx context.Context) error {
			_, err := l.add(ctx, &job{op: put(1), bytes: size, answer: make(chan error, 1)})
			return err
		}
		for range 3 { // the third exceeds the budget
			if err := add(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Minute) // on the bubble's clock
		defer cancel()
		if err := add(impatient); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an operation beyond the budget: %v; want ErrBusy", err)
		}
		waiters := make(chan error, 3)
		for range cap(waiters) {
			go func() { waiters <- add(t.Context()) }()
		}
		synctest.Wait()
		if len(waiters) > 0 || len(l.jobs) != 3 || l.bytes != 3*size {
			t.Fatalf("%d waiting callers got in, and %d operations hold %d bytes", len(waiters), len(l.jobs), l.bytes)
		}
		l.giveBack(l.jobs[:1])
		synctest.Wait()
		if len(waiters) != 1 || l.bytes != 3*size {
			t.Errorf("%d waiting callers got in after one operation was committed, and all operations hold %d bytes", len(waiters), l.bytes)
		}
		l.close()
		synctest.Wait()
		for range cap(waiters) {
			if err := <-waiters; err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
	})
}

// The bytes of an operation are given back, whatever its result.
func TestLineGivesBytesBack(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	d, err := Open("data", Options{fs: crowded(vfs.NewMem(), &full, fillsSegment), Log: slog.New(slog.DiscardHandler), part: 16, hurry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	const size = 100 << 10
	held := func(when string, want int64) {
		t.Helper()
		settle(d)
		d.line.mu.Lock()
		defer d.line.mu.Unlock()
		if d.line.bytes != want {
			t.Errorf("%s: operations hold %d bytes, want %d", when, d.line.bytes, want)
		}
	}
	sized := func(n uint64) Op {
		return func(tx *Tx) error {
			tx.Put(Blobs, fmt.Append(nil, n), make([]byte, size))
			return nil
		}
	}
	var all sync.WaitGroup
	for n := range uint64(20) {
		all.Go(func() {
			if err := d.WriteSized(t.Context(), size, sized(n)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	held("after writes", 0)
	if err := d.LaterSized(size, sized(1)); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteSized(t.Context(), size, func(*Tx) error { return errThere }); !errors.Is(err, errThere) {
		t.Error(err)
	}
	if err := d.WriteSized(t.Context(), size, func(*Tx) error { panic("an operation") }); !errors.Is(err, ErrPanicked) {
		t.Error(err)
	}
	held("after operations that refuse", 0)
	full.Store(true)
	err = nil
	for n := uint64(0); err == nil && n < 1000; n++ {
		err = d.WriteSized(t.Context(), size, sized(n))
	}
	if !errors.Is(err, ErrFull) {
		t.Fatalf("a write to a full disk: %v", err)
	}
	held("on a full disk", 0)
	full.Store(false)
}
