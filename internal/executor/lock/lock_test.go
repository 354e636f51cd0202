package lock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
)

const workflow = "cart-42"

// acquirer acquires the lock for callers that a test names, and records how each Acquire ended.
type acquirer struct {
	t     *testing.T
	table *lock.Table[string]

	mu    sync.Mutex
	ended []string
}

func (a *acquirer) acquire(name string, wait time.Duration) {
	go func() {
		result, err := a.table.AcquireWithin(a.t.Context(), wait, workflow, name)
		switch {
		case errors.Is(err, lock.ErrTaken):
			name += " taken"
		case errors.Is(err, context.DeadlineExceeded):
			name += " too late"
		case err != nil:
			a.t.Errorf("%s: %v", name, err)
		case result == lock.Answered:
			name += " answered"
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ended = append(a.ended, name)
	}()
	synctest.Wait()
}

func (a *acquirer) want(when string, want ...string) {
	a.t.Helper()
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.ended, want) {
		a.t.Errorf("%s: the calls that ended are %q, want %q", when, a.ended, want)
	}
}

func (a *acquirer) release(when string, want ...string) {
	a.t.Helper()
	a.table.Release(workflow)
	a.want(when, want...)
}

func calls(waiters []*lock.Waiter[string]) (names []string) {
	for _, w := range waiters {
		names = append(names, w.Call)
	}
	return names
}

func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &acquirer{t: t, table: lock.New[string](host.Machine{})}
		a.acquire("first", time.Hour)
		a.acquire("second", time.Hour)
		a.acquire("leaves", time.Second)
		a.acquire("third", time.Hour)
		a.want("while the first holds the lock", "first")
		time.Sleep(time.Minute)
		a.want("after a minute", "first", "leaves too late")
		a.release("after the first release", "first", "leaves too late", "second")
		a.release("after the second release", "first", "leaves too late", "second", "third")
		a.release("after the third release", "first", "leaves too late", "second", "third")
		a.acquire("", time.Hour)
		a.want("when the lock is free", "first", "leaves too late", "second", "third", "")
	})
}

func TestTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &acquirer{t: t, table: lock.New[string](host.Machine{})}
		for _, name := range []string{"holder", "", "b", "c", "d", "e"} {
			wait := time.Hour
			if name == "c" {
				wait = time.Second
			}
			a.acquire(name, wait)
		}
		taken := a.table.Take(workflow, 3)
		if got := calls(taken); !slices.Equal(got, []string{"b", "c", "d"}) {
			t.Fatalf("the calls taken are %q", got)
		}
		time.Sleep(time.Minute)
		a.want("when the time of a taken call is over", "holder", "c taken")
		a.table.Answer(taken[:1])
		a.want("when one is answered", "holder", "c taken", "b answered")
		a.table.GiveBack(workflow, taken[1:])
		a.release("when the others are given back", "holder", "c taken", "b answered", "d")
		if got := a.table.Take(workflow, 3); got != nil {
			t.Errorf("a holder that gave its call back takes %q", calls(got))
		}
		a.release("after a call that was given back", "holder", "c taken", "b answered", "d", "")
		a.release("at last", "holder", "c taken", "b answered", "d", "", "e")
	})
}

func TestWatchers(t *testing.T) {
	t.Parallel()
	var w lock.Watchers
	first, second := w.Watch(workflow), w.Watch(workflow)
	first.Stop()
	waiting := w.Detach(workflow)
	if waiting == nil {
		t.Fatal("nobody watches")
	}
	close(waiting)
	<-second.Changed
	second.Stop()
	third := w.Watch(workflow)
	if w.Len() != 1 {
		t.Errorf("%d workflows are watched, want 1", w.Len())
	}
	third.Stop()
	lock.Watch{}.Stop()
	if w.Len() != 0 || w.Detach(workflow) != nil {
		t.Errorf("%d workflows are watched, want none", w.Len())
	}
}

// Who watches the list wakes when the list is detached, and not with a workflow.
func TestWatchersOfTheList(t *testing.T) {
	t.Parallel()
	var w lock.Watchers
	first, second := w.WatchRows(), w.WatchRows()
	if w.Detach(workflow) != nil || w.Len() != 1 {
		t.Errorf("%d are watched, want the list alone", w.Len())
	}
	first.Stop()
	waiting := w.DetachRows()
	if waiting == nil {
		t.Fatal("nobody watches the list")
	}
	close(waiting)
	<-second.Changed
	third := w.WatchRows()
	second.Stop()
	if w.Len() != 1 {
		t.Errorf("%d are watched, want 1: the second had ended before the third began", w.Len())
	}
	third.Stop()
	if w.Len() != 0 || w.DetachRows() != nil {
		t.Errorf("%d are watched, want none", w.Len())
	}
}
