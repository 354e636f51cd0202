package workflow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// play runs code that completes in its first task, and returns its result.
func play[Out any](t *testing.T, code func(workflow.Context) (Out, error)) (out Out, err error) {
	t.Helper()
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (Out, error) { return code(ctx) }, none{})
	err = s.Outcome(&out)
	return out, err
}

// stuck runs code that fails in its first task, and returns the failure.
func stuck(t *testing.T, code func(workflow.Context)) error {
	t.Helper()
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (none, error) { code(ctx); return none{}, nil }, none{})
	if s.Stuck() == nil {
		t.Fatal("the task did not fail")
	}
	return s.Stuck()
}

// exchange sends three values from one coroutine to another, and logs what happened.
func exchange(ctx workflow.Context, capacity int) (log []string, err error) {
	c := workflow.NewChannel[string](capacity)
	log = append(log, fmt.Sprint("try a ", c.TrySend(ctx, "a")))
	workflow.Go(ctx, func(ctx workflow.Context) {
		for _, v := range []string{"b", "c"} {
			_ = c.Send(ctx, v)
			log = append(log, "send "+v)
		}
		c.Close(ctx)
		c.Close(ctx)
	})
	for {
		v, err := c.Receive(ctx)
		if errors.Is(err, workflow.ErrClosed) {
			break
		}
		log = append(log, "receive "+v)
	}
	if _, ok := c.TryReceive(ctx); ok || c.TrySend(ctx, "d") || !errors.Is(c.Send(ctx, "d"), workflow.ErrClosed) || c.Len() != 0 {
		log = append(log, "not quite")
	}
	return append(log, "closed"), nil
}

func TestChannels(t *testing.T) {
	t.Parallel()
	unbuffered := []string{"try a false", "receive b", "send b", "receive c", "send c", "closed"}
	for capacity, want := range map[int][]string{
		-1: unbuffered,
		0:  unbuffered,
		1:  {"try a true", "receive a", "send b", "receive b", "receive c", "send c", "closed"},
		5:  {"try a true", "receive a", "send b", "send c", "receive b", "receive c", "closed"},
	} {
		got, err := play(t, func(ctx workflow.Context) ([]string, error) { return exchange(ctx, capacity) })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("capacity %d: %q, %v\nwant %q", capacity, got, err, want)
		}
	}
}

// Requests are served in order. Small requests do not overtake a large one, and a canceled request
// delays no other.
func TestSemaphoreIsFair(t *testing.T) {
	t.Parallel()
	got, err := play(t, func(ctx workflow.Context) (log []string, err error) {
		m := workflow.NewSemaphore(3)
		var group workflow.WaitGroup
		given, giveUp := workflow.WithCancel(ctx)
		take := func(ctx workflow.Context, name string, n int) {
			group.Go(ctx, func(ctx workflow.Context) {
				if err := m.Acquire(ctx, n); err != nil {
					log = append(log, name+" canceled")
					return
				}
				log = append(log, name)
				_ = workflow.Await(ctx, func() bool { return true })
				m.Release(ctx, n)
			})
		}
		if !m.TryAcquire(ctx, 2) || m.TryAcquire(ctx, 2) {
			return nil, errors.New("3 units do not hold 2 and 2")
		}
		take(given, "given up", 3)
		take(ctx, "large", 3)
		take(ctx, "small", 1)
		take(ctx, "smaller", 0)
		workflow.Go(ctx, func(ctx workflow.Context) {
			if m.TryAcquire(ctx, 1) {
				log = append(log, "overtaken")
			}
			giveUp()
			m.Release(ctx, 2)
		})
		err = group.Wait(ctx)
		return log, err
	})
	if want := []string{"given up canceled", "large", "small", "smaller"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// Each of many coroutines that wait for a mutex, across tasks, gets it once, in the order in which
// they called Lock.
func TestMutexIsFair(t *testing.T) {
	t.Parallel()
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (got []int, err error) {
		var mutex workflow.Mutex
		var group workflow.WaitGroup
		holders := 0
		for i := range 20 {
			group.Go(ctx, func(ctx workflow.Context) {
				for range 2 {
					if mutex.Lock(ctx) != nil {
						return
					}
					holders++
					got = append(got, i*holders)
					_ = workflow.Sleep(ctx, time.Minute)
					holders--
					mutex.Unlock(ctx)
				}
			})
		}
		return got, group.Wait(ctx)
	}, none{})
	s.Sleep(40 * time.Minute)
	var got, want []int
	for range 2 {
		for i := range 20 {
			want = append(want, i)
		}
	}
	if err := s.Outcome(&got); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// A canceled Lock does not lock the mutex, even if it was just being granted.
func TestCanceledLockIsNotLocked(t *testing.T) {
	t.Parallel()
	free, err := play(t, func(ctx workflow.Context) (bool, error) {
		var mutex workflow.Mutex
		mutex.TryLock(ctx)
		inner, cancel := workflow.WithCancel(ctx)
		done := false
		workflow.Go(inner, func(ctx workflow.Context) {
			if err := mutex.Lock(ctx); err == nil {
				mutex.Unlock(ctx)
			}
			done = true
		})
		workflow.Go(ctx, func(ctx workflow.Context) {
			mutex.Unlock(ctx) // the call gets the lock, and is canceled before it runs
			cancel()
		})
		err := workflow.Await(ctx, func() bool { return done })
		return mutex.TryLock(ctx), err
	})
	if err != nil || !free {
		t.Errorf("free: %v, %v", free, err)
	}
}

func TestMisuseOfLocksAndGroups(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]func(workflow.Context){
		"a mutex that is not locked is unlocked": func(ctx workflow.Context) { new(workflow.Mutex).Unlock(ctx) },
		"a mutex is unlocked twice": func(ctx workflow.Context) {
			var m workflow.Mutex
			_ = m.Lock(ctx)
			m.Unlock(ctx)
			m.Unlock(ctx)
		},
		"more is released than was acquired": func(ctx workflow.Context) {
			m := workflow.NewSemaphore(5)
			_ = m.Acquire(ctx, 2)
			m.Release(ctx, 3)
		},
		"more is acquired than there is":         func(ctx workflow.Context) { _ = workflow.NewSemaphore(2).Acquire(ctx, 3) },
		"more is tried to acquire than there is": func(ctx workflow.Context) { workflow.NewSemaphore(2).TryAcquire(ctx, 3) },
		"less than nothing is acquired":          func(ctx workflow.Context) { _ = workflow.NewSemaphore(2).Acquire(ctx, -1) },
		"less than nothing is released":          func(ctx workflow.Context) { workflow.NewSemaphore(2).Release(ctx, -1) },
		"more are done than were added":          func(ctx workflow.Context) { new(workflow.WaitGroup).Done(ctx) },
		"a group is counted down below zero":     func(ctx workflow.Context) { new(workflow.WaitGroup).Add(ctx, -1) },
		"a coroutine of a group is done by itself": func(ctx workflow.Context) {
			var g workflow.WaitGroup
			g.Go(ctx, func(ctx workflow.Context) { g.Done(ctx) })
			_ = g.Wait(ctx)
			_ = workflow.Sleep(ctx, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := stuck(t, code)
			var misuse *failure.OtherError
			if !errors.As(err, &misuse) || misuse.Kind != failure.KindMisuse || !strings.Contains(misuse.Stack, "weft/workflow") {
				t.Errorf("%v, want a misuse with the stack of the code", err)
			}
		})
	}
}

func TestWaitGroup(t *testing.T) {
	t.Parallel()
	n, err := play(t, func(ctx workflow.Context) (n int, err error) {
		var group workflow.WaitGroup
		for round := range 3 { // a WaitGroup can be used again
			for range 10 {
				group.Go(ctx, func(ctx workflow.Context) {
					_ = workflow.Await(ctx, func() bool { return true })
					n++
				})
			}
			if err := group.Wait(ctx); err != nil || n != 10*(round+1) {
				return n, fmt.Errorf("round %d: %d, %w", round, n, err)
			}
		}
		return n, nil
	})
	if err != nil || n != 30 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestFutures(t *testing.T) {
	t.Parallel()
	odd := workflow.NewError("odd", "it is odd")
	got, err := play(t, func(ctx workflow.Context) (log []string, err error) {
		f, set := workflow.NewFuture[string](ctx)
		for i := range 3 {
			workflow.Go(ctx, func(ctx workflow.Context) {
				v, err := f.Get(ctx)
				log = append(log, fmt.Sprint(i, " ", v, " ", err))
			})
		}
		workflow.Go(ctx, func(workflow.Context) {
			log = append(log, fmt.Sprint(f.Ready()))
			set("first", nil)
			set("second", odd) // a second set does nothing
			log = append(log, fmt.Sprint(f.Ready()))
		})
		if err := workflow.Await(ctx, func() bool { return len(log) == 5 }); err != nil {
			return log, err
		}
		g, fail := workflow.NewFuture[string](ctx)
		fail("", odd)
		fail("late", nil)
		if v, err := g.Get(ctx); v != "" || !errors.Is(err, odd) {
			log = append(log, fmt.Sprint("a future that failed: ", v, err))
		}
		return log, nil
	})
	if want := []string{"false", "true", "0 first <nil>", "1 first <nil>", "2 first <nil>"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestAwaitFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		signalAfter time.Duration // 0 is never
		want        bool
	}{"true in time": {59 * time.Minute, true}, "true too late": {61 * time.Minute, false}, "never true": {0, false}} {
		s := enginetest.New(t, func(ctx workflow.Context, _ none) (bool, error) {
			heard := false
			workflow.Go(ctx, func(ctx workflow.Context) { _, err := word.Receive(ctx); heard = err == nil })
			return workflow.AwaitFor(ctx, time.Hour, func() bool { return heard })
		}, none{})
		if test.signalAfter > 0 {
			s.Sleep(test.signalAfter)
			if !s.Run.State.Status.Closed() {
				s.Signal("word", "up")
			}
		}
		s.Sleep(2 * time.Hour)
		var ok bool
		if err := s.Outcome(&ok); err != nil || ok != test.want || len(s.Timers()) != 0 {
			t.Errorf("%s: %v, %v, timers %v; want %v", name, ok, err, s.Timers(), test.want)
		}
	}
	if ok, err := play(t, func(ctx workflow.Context) (bool, error) {
		return workflow.AwaitFor(ctx, 0, func() bool { return false })
	}); ok || err != nil {
		t.Errorf("with a duration of 0: %v, %v; want false at once", ok, err)
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	for d, waits := range map[time.Duration]bool{-time.Hour: false, 0: false, time.Millisecond: true, 1<<63 - 1: true} {
		s := enginetest.New(t, func(ctx workflow.Context, _ none) (time.Time, error) {
			err := workflow.Sleep(ctx, d)
			return workflow.Now(ctx), err
		}, none{})
		begun := s.Run.State.StartTime
		if open := !s.Run.State.Status.Closed(); open != waits {
			t.Errorf("Sleep(%v) waits: %v, want %v", d, open, waits)
			continue
		}
		if !waits {
			continue
		}
		s.Sleep(d)
		var woke time.Time
		if err := s.Outcome(&woke); err != nil || woke.Sub(begun.Time()) < d.Truncate(time.Microsecond) {
			t.Errorf("Sleep(%v) slept for %v, %v", d, woke.Sub(begun.Time()), err)
		}
	}
}

func TestAwaitHandlers(t *testing.T) {
	t.Parallel()
	slow := workflow.NewUpdate[none, none]("slow")
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (finished []bool, err error) {
		slow.Handle(ctx, func(ctx workflow.Context, _ none) (none, error) { return none{}, workflow.Sleep(ctx, time.Hour) })
		finished = append(finished, workflow.AllHandlersFinished(ctx))
		if _, err := word.Receive(ctx); err != nil {
			return nil, err
		}
		finished = append(finished, workflow.AllHandlersFinished(ctx))
		err = workflow.AwaitHandlers(ctx)
		return append(finished, workflow.AllHandlersFinished(ctx)), err
	}, none{})
	for _, id := range []string{"u1", "u2"} {
		if result, f := s.Update(id, "slow", none{}); result.Verdict != engine.Accepted {
			t.Fatalf("%+v, %v", result, f.Err())
		}
		s.Sleep(time.Minute)
	}
	s.Signal("word", "up")
	s.Sleep(time.Hour)
	var got []bool
	if err := s.Outcome(&got); err != nil || !slices.Equal(got, []bool{true, false, true}) {
		t.Errorf("%v, %v; want that handlers ran only between the signals", got, err)
	}
}
