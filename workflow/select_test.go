package workflow_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// readyCases returns cases that are all ready. Each notes its name.
func readyCases(ctx workflow.Context, note func(string)) map[string]workflow.Case {
	f, set := workflow.NewFuture[int](ctx)
	set(1, nil)
	c, closed := workflow.NewChannel[int](1), workflow.NewChannel[int](1)
	c.TrySend(ctx, 1)
	closed.Close(ctx)
	return map[string]workflow.Case{
		"future":  workflow.OnFuture(f, func(int, error) { note("future") }),
		"channel": workflow.OnReceive(c, func(v int, ok bool) { note(fmt.Sprint("channel", v, ok)) }),
		"closed":  workflow.OnReceive(closed, func(v int, ok bool) { note(fmt.Sprint("closed", v, ok)) }),
		"signal":  workflow.OnSignal(word, func(string) { note("signal") }),
		"moment":  workflow.OnTimer(workflow.Now(ctx), func() { note("moment") }),
		"past":    workflow.OnTimer(time.Time{}, func() { note("past") }),
		"timeout": workflow.OnTimeout(-time.Second, func() { note("timeout") }),
		"default": workflow.Default(func() { note("default") }),
		"true":    workflow.OnCondition(func() bool { return true }),
	}
}

// If several cases are ready, Select runs the first of them and no other.
func TestSelectRunsTheFirstReadyCase(t *testing.T) {
	t.Parallel()
	notes := map[string]string{"channel": "channel1 true", "closed": "closed0 false", "true": ""}
	kinds := []string{"future", "channel", "closed", "signal", "moment", "past", "timeout", "default", "true"}
	for i, first := range kinds {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			s := enginetest.Open(t, func(ctx workflow.Context, _ none) (string, error) {
				log := ""
				ready := readyCases(ctx, func(text string) { log += text })
				never, _ := workflow.NewFuture[int](ctx)
				cases := []workflow.Case{workflow.OnFuture(never, nil), workflow.OnTimeout(time.Hour, nil), workflow.OnCondition(func() bool { return false })}
				for j := range kinds {
					cases = append(cases, ready[kinds[(i+j)%len(kinds)]])
				}
				err := workflow.Select(ctx, cases...)
				if _, ok, _ := word.TryReceive(ctx); ok == (first == "signal") {
					log += ", and the signal was taken: " + fmt.Sprint(!ok)
				}
				return log, err
			})
			s.Bring(&history.WorkflowExecutionStarted{WorkflowType: enginetest.Type}, s.Signaled("word", "up"))
			want, special := notes[first]
			if !special {
				want = first
			}
			var got string
			if err := s.Outcome(&got); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
			if n := len(s.Run.Log[0].Commands); n != 1 {
				t.Errorf("%d events: an unneeded timer is in the history: %v", n, s.Events())
			}
		})
	}
}

func TestNilFunctionsDoNothing(t *testing.T) {
	t.Parallel()
	s := enginetest.Open(t, func(ctx workflow.Context, _ none) (none, error) {
		f, set := workflow.NewFuture[int](ctx)
		set(1, nil)
		c := workflow.NewChannel[int](1)
		c.TrySend(ctx, 1)
		for _, one := range []workflow.Case{
			workflow.OnFuture(f, nil), workflow.OnReceive(c, nil), workflow.OnSignal(word, nil), workflow.OnTimer(time.Time{}, nil),
			workflow.OnTimeout(0, nil), workflow.Default(nil),
		} {
			if err := workflow.Select(ctx, one); err != nil {
				return none{}, err
			}
		}
		return none{}, nil
	})
	s.Bring(&history.WorkflowExecutionStarted{WorkflowType: enginetest.Type}, s.Signaled("word", "up"))
	if err := s.Outcome(nil); err != nil {
		t.Error(err)
	}
}

// Two coroutines wait for one signal. The signal wakes the first one, but that one takes its timer,
// which has fired too. The second coroutine gets the signal.
func TestASignalThatIsNotTakenGoesToTheNext(t *testing.T) {
	t.Parallel()
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (log []string, err error) {
		var group workflow.WaitGroup
		group.Go(ctx, func(ctx workflow.Context) {
			_ = workflow.Select(ctx,
				workflow.OnTimeout(time.Minute, func() { log = append(log, "first: time out") }),
				workflow.OnSignal(word, func(text string) { log = append(log, "first: "+text) }))
		})
		group.Go(ctx, func(ctx workflow.Context) {
			text, _ := word.Receive(ctx)
			log = append(log, "second: "+text)
		})
		return log, group.Wait(ctx)
	}, none{})
	s.Bring(s.Signaled("word", "up"), &history.TimerFired{StartedEventID: s.Timers()[0].EventID}) // in one task
	if !s.Run.State.Status.Closed() {
		t.Fatal("no coroutine received the signal")
	}
}

// crowd has workers that prefer to stop, one that stays, and senders that all send in the same
// task.
func crowd(ctx workflow.Context, capacity int) (got []int, err error) {
	work, stop := workflow.NewChannel[int](capacity), workflow.NewChannel[none](capacity)
	var group workflow.WaitGroup
	take := func(v int, ok bool) {
		if ok {
			got = append(got, v)
		}
	}
	for range 3 {
		group.Go(ctx, func(ctx workflow.Context) {
			for stopped := false; !stopped; {
				_ = workflow.Select(ctx, workflow.OnReceive(stop, func(none, bool) { stopped = true }), workflow.OnReceive(work, take))
			}
		})
	}
	group.Go(ctx, func(ctx workflow.Context) {
		for len(got) < 10 && workflow.Select(ctx, workflow.OnReceive(work, take)) == nil {
		}
	})
	send := func(fn func(workflow.Context)) {
		workflow.Go(ctx, func(ctx workflow.Context) { _ = workflow.Sleep(ctx, time.Minute); fn(ctx) })
	}
	for i := range 10 {
		send(func(ctx workflow.Context) { _ = work.Send(ctx, i) })
	}
	for range 3 {
		send(func(ctx workflow.Context) { _ = stop.Send(ctx, none{}) })
	}
	err = workflow.Await(ctx, func() bool { return len(got) == 10 })
	work.Close(ctx)
	return got, errors.Join(err, group.Wait(ctx))
}

// The same holds for a channel: each value is received once, by one of the receivers.
func TestAValueThatIsNotTakenGoesToTheNext(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{0, 1, 5} {
		s := enginetest.New(t, crowd, capacity)
		var fired []history.Attributes
		for _, timer := range s.Timers() {
			fired = append(fired, &history.TimerFired{StartedEventID: timer.EventID})
		}
		s.Advance(time.Minute)
		s.Bring(fired...)
		var got []int
		if err := s.Outcome(&got); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
			t.Errorf("capacity %d: received %v, want each once", capacity, got)
		}
	}
}

// A case's function may wait. The other timers of its Select are canceled when the function has
// returned.
func TestACaseMayWait(t *testing.T) {
	t.Parallel()
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (string, error) {
		result := ""
		err := workflow.Select(ctx,
			workflow.OnSignal(word, func(text string) { result, _ = echo.Run(ctx, text) }),
			workflow.OnTimeout(time.Hour, nil))
		return result, err
	}, none{})
	s.Signal("word", "up")
	s.Complete(s.Activities()[0], "UP")
	var got string
	if err := s.Outcome(&got); err != nil || got != "UP" {
		t.Errorf("%q, %v", got, err)
	}
	if events := s.Run.Log[2].Commands; events[0].Type() != history.TypeTimerCanceled {
		t.Errorf("the last task has %v, want a cancellation of the timer", s.Events())
	}
}

// A loop that waits for one moment costs one timer, however many iterations it has and whatever
// else it waits for.
func TestOneTimerForAMoment(t *testing.T) {
	t.Parallel()
	s := enginetest.New(t, func(ctx workflow.Context, _ none) (n int, err error) {
		deadline := workflow.Now(ctx).Add(time.Hour)
		for done := false; !done && err == nil; {
			err = workflow.Select(ctx,
				workflow.OnSignal(word, func(string) { n++ }),
				workflow.OnTimer(deadline, func() { done = true }))
		}
		return n, err
	}, none{})
	for range 20 {
		s.Signal("word", "up")
	}
	s.Sleep(time.Hour)
	var n int
	if err := s.Outcome(&n); err != nil || n != 20 {
		t.Errorf("%d, %v", n, err)
	}
	for typ, want := range map[history.Type]int{history.TypeTimerStarted: 1, history.TypeTimerFired: 1, history.TypeTimerCanceled: 0} {
		if got := count(s.Events(), typ); got != want {
			t.Errorf("%d of %v, want %d", got, typ, want)
		}
	}
}

func count(events []history.Type, of history.Type) (n int) {
	for _, typ := range events {
		if typ == of {
			n++
		}
	}
	return n
}
