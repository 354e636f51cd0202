package coro

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// This test follows the steps of Execute, Yield and Blocked in the go-workflows post.
func TestCoroutine(t *testing.T) {
	t.Parallel()
	var steps []string
	var c *Coroutine
	c = New("main", func() {
		steps = append(steps, "first")
		c.Yield()
		steps = append(steps, "second")
	})
	if c.Blocked() || c.Finished() {
		t.Fatal("a coroutine that was never executed is neither blocked nor finished")
	}
	c.Execute()
	if !c.Blocked() || c.Finished() || !slices.Equal(steps, []string{"first"}) {
		t.Fatalf("after the first Execute: blocked %v, finished %v, steps %v", c.Blocked(), c.Finished(), steps)
	}
	c.Execute()
	if c.Blocked() || !c.Finished() || c.Err() != nil || len(steps) != 2 {
		t.Fatalf("after the second Execute: blocked %v, finished %v, err %v, steps %v", c.Blocked(), c.Finished(), c.Err(), steps)
	}
	c.Execute() // executing a finished coroutine does nothing
}

func explode(reason string) { panic(reason) }

func TestPanicKeepsTheStackOfTheCoroutine(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"at once", "after a wait"} {
		var s Scheduler
		s.Go("main", func() {
			if where == "after a wait" {
				asked := 0
				_ = s.Await(nil, func() bool { asked++; return asked > 1 })
			}
			explode("out of tea")
		})
		err := s.Run()
		var panicked *failure.PanicError
		if !errors.As(err, &panicked) {
			t.Fatalf("%s: Run returned %v, want a panic", where, err)
		}
		if panicked.Message != "out of tea" || !strings.Contains(panicked.Stack, "coro.explode") {
			t.Errorf("%s: message %q, stack without the frame that panicked:\n%s", where, panicked.Message, panicked.Stack)
		}
		s.Close()
	}
}

func TestGoexitIsRecognised(t *testing.T) {
	t.Parallel()
	var s Scheduler
	s.Go("main", func() { runtime.Goexit() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run()
		t.Error("Run returned, although its goroutine should have ended with the coroutine")
	}()
	<-done
	if !errors.Is(s.Err(), ErrGoexit) {
		t.Errorf("Err() = %v, want ErrGoexit", s.Err())
	}
	s.Close()
}

func TestCloseRunsDeferredFunctionsAndLeaksNothing(t *testing.T) {
	var s Scheduler
	var unwound []string
	for i := range 100 {
		s.Go("sleeper", func() {
			defer func() { unwound = append(unwound, fmt.Sprint(i)) }()
			var f Future[int]
			_, _ = f.Get(&s, nil)
			t.Error("a closed coroutine continued")
		})
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	s.Go("never started", func() { t.Error("a coroutine started after Close") })
	s.Close()
	if len(unwound) != 100 || unwound[0] != "99" {
		t.Errorf("%d coroutines unwound, first %v; want 100, the youngest first", len(unwound), unwound[:1])
	}
	// Count only this test's coroutines: the runtime and other tests start and end goroutines
	// meanwhile.
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if left := bytes.Count(stacks, []byte(t.Name()+".func")); left > 0 {
		t.Errorf("%d coroutines are left:\n%s", left, stacks)
	}
}

// Code that recovers every panic and waits again neither blocks the caller of Close nor keeps other
// coroutines open.
func TestCloseEndsCodeThatRecovers(t *testing.T) {
	t.Parallel()
	var s Scheduler
	closedOther := false
	s.Go("other", func() {
		defer func() { closedOther = true }()
		_ = s.Await(nil, func() bool { return false })
	})
	rounds := 0
	s.Go("stubborn", func() {
		for {
			func() {
				defer func() { _ = recover() }()
				rounds++
				_ = s.Await(nil, func() bool { return false })
			}()
		}
	})
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Close()
	}()
	<-done
	if !closedOther {
		t.Error("the coroutine beside the stubborn one was not closed")
	}
	if rounds != 2 {
		t.Errorf("the stubborn coroutine ran %d rounds, want 2: it recovered once", rounds)
	}
}

func TestStuckFindsTheStackOfTheCoroutineThatHangs(t *testing.T) {
	t.Parallel()
	var s Scheduler
	release, running := make(chan struct{}), make(chan struct{})
	s.Go("main", func() { hang(running, release) })
	done := make(chan error)
	go func() { done <- s.Run() }()
	<-running
	var stack string
	for deadline := time.Now().Add(10 * time.Second); stack == "" && time.Now().Before(deadline); {
		stack = s.Stuck()
	}
	if !strings.Contains(stack, "coro.hang") {
		t.Errorf("Stuck() = %q, want the stack with the frame that hangs", stack)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func hang(running, release chan struct{}) {
	close(running)
	<-release
}

// Coroutines run in a promised order, because histories depend on it.
func TestOrder(t *testing.T) {
	t.Parallel()
	var s Scheduler
	var order []string
	mark := func(name string) { order = append(order, name) }
	var result, other Future[int]
	wait := func(name string, f *Future[int]) {
		mark(name + " starts")
		_, _ = f.Get(&s, nil)
		mark(name + " goes on")
	}
	s.Go("main", func() { wait("main", &result) })
	s.Go("second", func() {
		wait("second", &other)
		s.Go("child", func() { mark("child starts") })
	})
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	order = nil
	other.Set(&s, 1, nil) // the result of the younger coroutine arrives first
	result.Set(&s, 1, nil)
	s.GoFirst("update 1", func() { mark("update 1") })
	s.GoFirst("update 2", func() { mark("update 2") })
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	want := []string{"update 1", "update 2", "main goes on", "second goes on", "child starts"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q\nwant  %q", order, want)
	}
}

func TestAResultWakesOnlyTheOneThatWaitsForIt(t *testing.T) {
	t.Parallel()
	var s Scheduler
	const n = 1000
	futures := make([]Future[int], n)
	wakes := 0
	for i := range futures {
		s.Go("waiter", func() {
			_, _ = futures[i].Get(&s, nil)
			wakes++
		})
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	for i := range futures {
		futures[i].Set(&s, i, nil)
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		if wakes != i+1 || s.Turns() != n+i+1 { // one switch to begin each coroutine, and one for each result
			t.Fatalf("after %d results %d coroutines continued, in %d switches", i+1, wakes, s.Turns())
		}
	}
}

func TestCancelWakesWhatWaitsUnderTheScope(t *testing.T) {
	t.Parallel()
	var s Scheduler
	root := s.NewScope()
	inner, separate := root.Child(), s.NewScope()
	var got []error
	hooks := 0
	s.OnCancel(func() { hooks++ })
	s.Go("inner", func() { got = append(got, s.Await(inner, func() bool { return false })) })
	s.Go("separate", func() { got = append(got, s.Await(separate, func() bool { return false })) })
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	root.Cancel("enough")
	root.Cancel("again")
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	var canceled *failure.CanceledError
	if len(got) != 1 || !errors.As(got[0], &canceled) || canceled.Reason != "enough" || hooks != 1 {
		t.Errorf("got %v and %d hooks, want one cancellation with its reason and one hook", got, hooks)
	}
	if inner.Child().Err() == nil {
		t.Error("a child of a canceled scope is not canceled")
	}
	s.Close()
}

func TestConditionThatPanicsEndsTheRun(t *testing.T) {
	t.Parallel()
	var s Scheduler
	asked := 0
	s.Go("main", func() {
		_ = s.Await(nil, func() bool {
			if asked++; asked > 1 {
				panic("bad condition")
			}
			return false
		})
	})
	var panicked *failure.PanicError
	if err := s.Run(); !errors.As(err, &panicked) {
		t.Errorf("Run returned %v, want the condition's panic", err)
	}
	s.Close()
}

func BenchmarkSwitch(b *testing.B) {
	var c *Coroutine
	c = New("main", func() {
		for {
			c.Yield()
		}
	})
	defer c.Close()
	b.ReportAllocs()
	for range b.N {
		c.Execute()
	}
}
