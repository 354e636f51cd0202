package locks_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/examples/locks"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// Eight callers ask for 30 of 100 coins, at once. Without the lock each would find 100.
func TestMutex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, locks.Registrations()...)
		run, err := locks.Workflow.Start(ctx, p.Client, "account-1", 100)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		var left []int
		refused := 0
		for range 8 {
			all.Go(func() {
				n, err := locks.Withdraw.Call(ctx, p.Client, "account-1", 30)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, locks.ErrTooLittle):
					refused++
				case err != nil:
					t.Error(err)
				default:
					left = append(left, n)
				}
			})
		}
		all.Wait()
		slices.Sort(left)
		if !slices.Equal(left, []int{10, 40, 70}) || refused != 5 {
			t.Errorf("left %v, %d refused; want 10, 40, 70 and 5", left, refused)
		}
		if err := locks.Close.Send(ctx, p.Client, "account-1", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		if result, err := run.Result(ctx); err != nil || result != 10 {
			t.Errorf("%d, %v; want 10", result, err)
		}
	})
}

func TestSemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, locks.Registrations()...)
		run, err := locks.Workflow.Start(ctx, p.Client, "account-1", 100)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				n, err := locks.Audit.Call(ctx, p.Client, "account-1", workflow.None{})
				if err != nil || n < 1 || n > 2 {
					t.Errorf("%d audits at once, %v; want at most 2", n, err)
				}
			})
		}
		time.Sleep(time.Minute)
		if err := locks.Close.Send(ctx, p.Client, "account-1", workflow.None{}); err != nil { // the run ends when the audits have ended
			t.Fatal(err)
		}
		all.Wait()
		if _, err := run.Result(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun).Truncate(time.Hour); took != 3*time.Hour {
			t.Errorf("six audits of an hour, two at once, took %v", took)
		}
	})
}
