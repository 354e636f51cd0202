package coro

import (
	"runtime"
	"slices"
	"testing"
)

// TestPull checks that Pull does the same as iter.Pull, in both builds.
func TestPull(t *testing.T) {
	t.Parallel()
	var seen []string
	say := func(what string) { seen = append(seen, what) }
	expect := func(what ...string) {
		t.Helper()
		if !slices.Equal(seen, what) {
			t.Fatalf("saw %q, not %q", seen, what)
		}
	}
	next, stop := Pull(func(yield func(struct{}) bool) {
		say("begins")
		if yield(struct{}{}) {
			say("goes on")
		}
		if !yield(struct{}{}) {
			say("is stopped")
		}
		if !yield(struct{}{}) {
			say("may not yield")
		}
	})
	expect()
	for range 2 {
		if _, ok := next(); !ok {
			t.Fatal("the sequence has ended")
		}
	}
	expect("begins", "goes on")
	stop()
	expect("begins", "goes on", "is stopped", "may not yield")
	stop()
	if _, ok := next(); ok {
		t.Error("the sequence continues after it was stopped")
	}

	next, stop = Pull(func(func(struct{}) bool) { t.Error("the sequence begins after it was stopped") })
	stop()
	if _, ok := next(); ok {
		t.Error("the sequence continues before it began")
	}
}

// TestPullEnds checks that the puller ends as the function does.
func TestPullEnds(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		next, stop := Pull(func(yield func(struct{}) bool) {
			yield(struct{}{})
			panic("out")
		})
		next()
		func() {
			defer func() {
				if value := recover(); value != "out" {
					t.Errorf("stopped %v: recovered %v", stopped, value)
				}
			}()
			if stopped {
				stop()
			} else {
				next()
			}
			t.Errorf("stopped %v: the panic does not reach the caller", stopped)
		}()
		if _, ok := next(); ok {
			t.Errorf("stopped %v: the sequence continues after it panicked", stopped)
		}
	}
	returned, ended := false, make(chan struct{})
	go func() {
		defer close(ended)
		next, _ := Pull(func(func(struct{}) bool) { runtime.Goexit() })
		next()
		returned = true
	}()
	if <-ended; returned {
		t.Error("runtime.Goexit ends only the function")
	}
}
