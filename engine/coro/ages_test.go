package coro

import (
	"math"
	"slices"
	"testing"
)

// Each refused update on a kept instance takes an age, and a replay takes none for it. The
// coroutines run in the same order, however many ages were taken.
func TestOrderAfterManyAges(t *testing.T) {
	t.Parallel()
	want := orderAfter(t, 0)
	for _, refused := range []uint64{1000, math.MaxUint32 - 4, math.MaxUint32 - 3, math.MaxUint32 - 2, math.MaxUint32, 1 << 40} {
		if got := orderAfter(t, refused); !slices.Equal(got, want) {
			t.Errorf("after %d ages the coroutines ran in the order %q, want %q", refused, got, want)
		}
	}
}

// orderAfter returns the order in which coroutines run if the first one is older than the others by
// so many ages.
func orderAfter(t *testing.T, ages uint64) (order []string) {
	t.Helper()
	var s Scheduler
	defer s.Close()
	run := func() {
		t.Helper()
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
	}
	open := false
	s.Go("main", func() {
		s.Park(nil, func() bool { return open })
		order = append(order, "main")
	})
	run()
	s.ages += ages // so many refused updates took an age each
	s.GoFirst("handler", func() {
		s.Go("child", func() { order = append(order, "child") })
		open = true
		s.Park(nil, func() bool { return len(order) == 2 })
	})
	run()
	var list List
	for _, name := range []string{"x", "y"} {
		s.Go(name, func() {
			s.Park(nil, nil, &list)
			order = append(order, name)
		})
	}
	run()
	list.WakeAll(&s)
	run()
	return order
}
