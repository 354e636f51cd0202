package coro

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

// names returns the functions of program counters, without their packages' folders.
func names(pcs []uintptr) (all []string) {
	for frames := runtime.CallersFrames(pcs); ; {
		f, more := frames.Next()
		all = append(all, f.Function[strings.LastIndex(f.Function, "/")+1:])
		if !more {
			return all
		}
	}
}

//go:noinline
func waitsFor(s *Scheduler, f *Future[int]) { _, _ = f.Get(s, s.NewScope()) }

// TestWaits checks, in both builds of Pull, that a waiting coroutine's own frames are noted, and
// what it waits for.
func TestWaits(t *testing.T) {
	t.Parallel()
	s := &Scheduler{}
	defer s.Close()
	s.Trace()
	future, channel, mutex, units, group := &Future[int]{}, NewChannel[int](0), NewSemaphore(1), NewSemaphore(3), &WaitGroup{}
	mutex.TryAcquire(1)
	units.TryAcquire(3)
	group.Add(s, 1)
	condition := func() bool { return false }
	first := s.Go("future", func() { waitsFor(s, future) })
	first.Owner = "me"
	s.Go("receiver", func() { _, _ = channel.Receive(s, s.NewScope()) })
	s.Go("starter", func() {
		s.Go("below", func() { s.Park(nil, condition) })
		_ = mutex.Acquire(s, s.NewScope(), 1)
	})
	s.Go("units", func() { _ = units.Acquire(s, s.NewScope(), 2) })
	s.Go("group", func() { _ = group.Wait(s, s.NewScope()) })
	s.Go("both", func() { _ = s.Await(s.NewScope(), condition, &future.list) })
	s.Go("ended", func() {})
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	all := s.Waits()
	var got []string
	for _, w := range all {
		one := w.Name
		for _, l := range w.On {
			one += " " + []string{"-", "future", "channel", "lock", "semaphore", "group"}[s.KindOf(l)]
		}
		if w.Condition != nil {
			one += " condition"
		}
		got = append(got, one)
	}
	want := []string{"future future", "receiver channel", "starter lock", "units semaphore", "group group", "both future condition", "below condition"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if all[0].On[0] != &future.list || all[0].Owner != "me" {
		t.Errorf("%+v", all[0])
	}
	if got := names(all[0].PCs); !slices.Contains(got, "coro.waitsFor") || got[0] != "coro.(*Scheduler).Park" {
		t.Errorf("its frames are %q", got)
	}

	future.Set(s, 1, nil)
	mutex.Release(s, 1)
	group.Add(s, -1)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if all := s.Waits(); len(all) != 4 {
		t.Errorf("%d coroutines wait: %+v", len(all), all)
	}
}

// A coroutine belongs to the owner of the one that has started it.
func TestWaitsOwner(t *testing.T) {
	t.Parallel()
	s := &Scheduler{}
	defer s.Close()
	s.Trace()
	park := func() { s.Park(nil, nil) }
	s.GoFirst("update", func() {
		s.Go("of it", park)
		park()
	}).Owner = "u1"
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	for _, w := range s.Waits() {
		if w.Owner != "u1" || len(w.On) != 0 || w.Condition != nil {
			t.Errorf("%+v", w)
		}
	}
}

// Without Trace, nothing is noted.
func TestWaitsUntraced(t *testing.T) {
	t.Parallel()
	s := &Scheduler{}
	defer s.Close()
	future := &Future[int]{}
	s.Go("main", func() { waitsFor(s, future) })
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if all := s.Waits(); all != nil || s.KindOf(&future.list) != NoKind {
		t.Errorf("%+v", all)
	}
}
