package coro_test

import (
	"fmt"
	"testing"

	"github.com/seed-41655fb1/weft/engine/coro"
)

// awaitAll lets n coroutines wait for one condition, which then becomes true. It returns how often
// the condition was evaluated.
func awaitAll(tb testing.TB, n int) (asked int) {
	tb.Helper()
	var s coro.Scheduler
	defer s.Close()
	open, passed := false, 0
	for range n {
		s.Go("waiter", func() {
			if err := s.Await(&coro.Scope{}, func() bool { asked++; return open }); err == nil {
				passed++
			}
		})
	}
	for _, value := range []bool{false, true} {
		open = value
		if err := s.Run(); err != nil {
			tb.Fatal(err)
		}
	}
	if passed != n {
		tb.Fatalf("%d of %d coroutines passed", passed, n)
	}
	return asked
}

// TestConditionsAreAskedOncePerRound checks that conditions are not evaluated after each step of a
// coroutine.
func TestConditionsAreAskedOncePerRound(t *testing.T) {
	const n = 2000
	// A coroutine evaluates its condition before it waits, when nothing else is ready, when the
	// condition has become true, and when the coroutine continues.
	if asked := awaitAll(t, n); asked > 4*n {
		t.Errorf("the condition of %d coroutines was evaluated %d times, want at most %d", n, asked, 4*n)
	}
}

func BenchmarkAwait(b *testing.B) {
	for _, n := range []int{20_000, 40_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				awaitAll(b, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/coroutine")
		})
	}
}
