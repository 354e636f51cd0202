package executor_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// countedMemory is the memory that runs claim to keep in variables.
type countedMemory struct {
	allocated, live, garbage, most atomic.Int64
	collections                    atomic.Int64
	slow                           chan struct{} // a collection ends when slow is closed; nil means at once
}

func (m *countedMemory) InUse() int64     { return m.live.Load() + m.garbage.Load() }
func (m *countedMemory) Allocated() int64 { return m.allocated.Load() }
func (m *countedMemory) Collect() {
	m.collections.Add(1)
	if m.slow != nil {
		<-m.slow
	}
	m.garbage.Store(0)
}

// take allocates, and returns a function that makes it garbage.
func (m *countedMemory) take(n int64) (drop func()) {
	m.allocated.Add(n)
	m.most.Store(max(m.most.Load(), m.live.Add(n)))
	return func() {
		m.live.Add(-n)
		m.garbage.Add(n)
	}
}

// A run of kept keeps as many bytes in variables as its input says, until it gets a signal.
var (
	kept   = workflow.NewWorkflow[int64, int64]("kept")
	finish = workflow.NewSignal[string]("finish")
)

// keeps is the code of kept. It counts in smallClosed how often an instance of a small run was
// closed before the run ended.
func keeps(m *countedMemory, smallClosed *atomic.Int64) workflow.Registration {
	return workflow.Bind(kept, func(ctx workflow.Context, n int64) (int64, error) {
		defer m.take(n)()
		done := false
		defer func() {
			if !done && n < 1<<20 {
				smallClosed.Add(1)
			}
		}()
		_, err := finish.Receive(ctx)
		done = true
		return n, err
	}, workflow.Names(finish))
}

// Runs that keep much in variables are evicted before memory is used up, and before runs that keep
// little. They continue when a message arrives for them.
func TestCacheIsBoundedByMeasuredMemory(t *testing.T) {
	t.Parallel()
	const budget, fat, runs = 64 << 20, 10 << 20, 60
	synctest.Test(t, func(t *testing.T) {
		var m countedMemory
		var smallClosed atomic.Int64
		p := testbed.New(t).Start(executor.Options{CacheBytes: budget, Memory: &m}, keeps(&m, &smallClosed))
		start := func(id string, n int64) {
			t.Helper()
			if _, err := kept.Start(t.Context(), p.Client, id, n); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for i := range runs {
			start(fmt.Sprint("small", i), 1<<10)
			start(fmt.Sprint("fat", i), fat)
		}
		if got := m.most.Load(); got > 3*budget {
			t.Errorf("runs kept %d MiB, want at most %d", got>>20, 3*budget>>20)
		}
		if got := m.live.Load(); got < budget/2 {
			t.Errorf("runs keep %d MiB, want at least %d: more were evicted than needed", got>>20, budget/2>>20)
		}
		if n := smallClosed.Load(); n != 0 {
			t.Errorf("%d instances of small runs were closed, want none", n)
		}
		if n := m.collections.Load(); n > runs*fat/(budget/2) {
			t.Errorf("%d collections, want at most one for each half of the budget", n)
		}
	})
}

// Memory that does not belong to runs evicts none of them.
func TestMemoryOfOthersEvictsNothing(t *testing.T) {
	t.Parallel()
	const budget = 64 << 20
	synctest.Test(t, func(t *testing.T) {
		var m countedMemory
		var smallClosed atomic.Int64
		p := testbed.New(t).Start(executor.Options{CacheBytes: budget, Memory: &m}, keeps(&m, &smallClosed))
		for i := range 20 {
			m.take(20 << 20) // a request uses it between activations
			if _, err := kept.Start(t.Context(), p.Client, fmt.Sprint(i), 1<<10); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if n := smallClosed.Load(); n != 0 {
			t.Errorf("%d instances of small runs were closed, want none", n)
		}
		if m.collections.Load() == 0 {
			t.Error("nothing was measured")
		}
	})
}

// While memory is freed, requests wait if too much is in use, because their work would need more.
func TestOthersWaitWhileMemoryIsRelieved(t *testing.T) {
	t.Parallel()
	const budget = 64 << 20
	synctest.Test(t, func(t *testing.T) {
		var m countedMemory
		var smallClosed, answered atomic.Int64
		p := testbed.New(t).Start(executor.Options{CacheBytes: budget, Memory: &m}, keeps(&m, &smallClosed))
		m.slow = make(chan struct{})
		for i := range 5 {
			go func() {
				if _, err := kept.Start(t.Context(), p.Client, fmt.Sprint(i), 3*budget); err != nil {
					t.Error(err)
				}
				answered.Add(1)
			}()
			synctest.Wait()
		}
		if n := answered.Load(); n != 0 || m.collections.Load() != 1 {
			t.Errorf("%d callers were answered while memory was collected %d times; want no answer, and one collection", n, m.collections.Load())
		}
		close(m.slow)
		synctest.Wait()
		if n := answered.Load(); n != 5 {
			t.Errorf("%d callers were answered at the end, want 5", n)
		}
	})
}
