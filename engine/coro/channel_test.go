package coro

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// play starts a coroutine for each function, the oldest first, and runs them.
func play(t *testing.T, s *Scheduler, code ...func()) {
	t.Helper()
	for i, fn := range code {
		s.Go(fmt.Sprint("coroutine ", i+1), fn)
	}
	run(t, s)
}

func run(t *testing.T, s *Scheduler) {
	t.Helper()
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
}

func TestChannelHandsOver(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{-1, 0, 1, 3, 100} {
		for _, senders := range []int{1, 2, 7} {
			var s Scheduler
			c := NewChannel[string](capacity)
			var got, want []string
			receive := func() {
				for {
					v, err := c.Receive(&s, nil)
					if err != nil {
						return
					}
					got = append(got, v)
				}
			}
			code := []func(){receive, receive}
			for n := range senders {
				code = append(code, func() {
					for i := range 5 {
						if err := c.Send(&s, nil, fmt.Sprint(n, "/", i)); err != nil {
							t.Error(err)
						}
					}
				})
				for i := range 5 {
					want = append(want, fmt.Sprint(n, "/", i))
				}
			}
			play(t, &s, code...)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("capacity %d, %d senders: got %q, want each value once", capacity, senders, got)
			}
			s.Close()
		}
	}
}

// receiveAny receives from the first of the channels that has a value, as workflow.Select does.
func receiveAny[T any](s *Scheduler, scope *Scope, channels ...*Channel[T]) (v T, from int, err error) {
	var lists []*List
	for _, c := range channels {
		lists = append(lists, c.Receivers())
		defer c.PassOn(s)
	}
	defer s.Enlist(lists...)()
	for {
		for i, c := range channels {
			if v, ok := c.TryReceive(s); ok {
				return v, i, nil
			}
		}
		if err := scope.Err(); err != nil {
			return v, -1, err
		}
		s.Park(scope, nil)
	}
}

// A sender on a channel of capacity 0 continues only after its value has been received.
func TestUnbufferedSendWaitsForTheReceive(t *testing.T) {
	t.Parallel()
	var s Scheduler
	work, stop := NewChannel[string](0), NewChannel[string](0)
	var log []string
	worker := func() { // prefers stop
		v, _, _ := receiveAny(&s, nil, stop, work)
		log = append(log, "took "+v)
	}
	send := func(c *Channel[string], v string) func() {
		return func() {
			if err := c.Send(&s, nil, v); err == nil {
				log = append(log, "sent "+v)
			}
		}
	}
	play(t, &s, worker, send(work, "work"), send(stop, "stop"))
	if want := []string{"took stop", "sent stop"}; !slices.Equal(log, want) {
		t.Errorf("%q, want %q: no coroutine took the work", log, want)
	}
	if !work.Readable() || work.Len() != 0 {
		t.Errorf("readable: %v, length %d; want the work offered, and not sent", work.Readable(), work.Len())
	}
	play(t, &s, worker)
	if want := []string{"took work", "sent work"}; !slices.Equal(log[2:], want) {
		t.Errorf("%q, want %q", log[2:], want)
	}
	s.Close()
}

// Values are received in the order in which their sends began, even if a later sender runs before
// the earlier one has returned.
func TestSendersAreNotOvertaken(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{0, 1} {
		var s Scheduler
		c := NewChannel[int](capacity)
		for i := range capacity {
			c.TrySend(&s, -i-1)
		}
		var go2 Future[int]
		var got []int
		play(t, &s,
			func() { // a receiver that is older than both senders
				_, _ = go2.Get(&s, nil)
				for range capacity + 2 {
					v, _ := c.Receive(&s, nil)
					got = append(got, v)
				}
			},
			func() { // the later sender is older, and so runs earlier in each round
				_, _ = go2.Get(&s, nil)
				_ = c.Send(&s, nil, 2)
			},
			func() { _ = c.Send(&s, nil, 1) },
		)
		go2.Set(&s, 0, nil)
		run(t, &s)
		if want := []int{1, 2}; !slices.Equal(got[capacity:], want) {
			t.Errorf("capacity %d: received %v, want %v last", capacity, got, want)
		}
		s.Close()
	}
}

// Receivers are served in the order in which they began to wait. That includes a receiver that was
// woken and found nothing, because another was faster.
func TestReceiversKeepTheirPlace(t *testing.T) {
	t.Parallel()
	var s Scheduler
	c := NewChannel[int](-1)
	var wake Future[int]
	var got []string
	receive := func(name string) func() {
		return func() {
			v, _ := c.Receive(&s, nil)
			got = append(got, fmt.Sprint(name, v))
		}
	}
	play(t, &s,
		func() { // takes what the first receiver was woken for
			_, _ = wake.Get(&s, nil)
			_, _ = c.TryReceive(&s)
		},
		receive("first "), receive("second "))
	c.TrySend(&s, 0)
	wake.Set(&s, 0, nil)
	run(t, &s)
	for i := range 2 {
		c.TrySend(&s, i+1)
		run(t, &s)
	}
	if want := []string{"first 1", "second 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s.Close()
}

// If a receiver is woken for a value and does not take it, the value goes to the next receiver.
func TestAReceiverThatDoesNotTakeItsValueWakesTheNext(t *testing.T) {
	t.Parallel()
	var s Scheduler
	c := NewChannel[string](-1)
	scope := s.NewScope()
	var got []string
	play(t, &s,
		func() {
			leave := s.Enlist(c.Receivers())
			s.Park(scope, nil)
			leave()
			got = append(got, "another way")
			c.PassOn(&s)
		},
		func() {
			v, _ := c.Receive(&s, nil)
			got = append(got, v)
		})
	c.TrySend(&s, "value")
	scope.Cancel("")
	run(t, &s)
	if want := []string{"another way", "value"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s.Close()
}

func TestClosedChannel(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{-1, 0, 2} {
		var s Scheduler
		c := NewChannel[int](capacity)
		var got []string
		note := func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }
		receive := func() {
			v, err := c.Receive(&s, nil)
			note("received %d, %v", v, err)
		}
		play(t, &s, receive, receive, func() {
			_ = c.Send(&s, nil, 1)
			c.Close(&s)
			c.Close(&s)
			note("sent %v, tried %v", c.Send(&s, nil, 2), c.TrySend(&s, 3))
		})
		slices.Sort(got)
		want := []string{"received 0, the channel is closed", "received 1, <nil>", "sent the channel is closed, tried false"}
		if !slices.Equal(got, want) {
			t.Errorf("capacity %d: %q, want %q", capacity, got, want)
		}
		s.Close()
	}
}

// Closing a channel refuses the values that senders still offer.
func TestCloseEndsSendersThatWait(t *testing.T) {
	t.Parallel()
	var s Scheduler
	c := NewChannel[int](1)
	var errs []error
	send := func() { errs = append(errs, c.Send(&s, nil, 1)) }
	play(t, &s, send, send, send)
	c.Close(&s)
	run(t, &s)
	if len(errs) != 3 || errs[0] != nil || !errors.Is(errs[1], ErrClosed) || !errors.Is(errs[2], ErrClosed) {
		t.Errorf("%v, want one value sent, and two errors that the channel is closed", errs)
	}
	if v, ok := c.TryReceive(&s); v != 1 || !ok || c.Len() != 0 {
		t.Errorf("received %d, %v, and %d more wait; want only the value that was sent", v, ok, c.Len())
	}
	s.Close()
}

// A canceled sender withdraws its value and does not delay those behind it.
func TestCanceledSender(t *testing.T) {
	t.Parallel()
	var s Scheduler
	c := NewChannel[int](0)
	scope := s.NewScope()
	var errs []error
	play(t, &s,
		func() { errs = append(errs, c.Send(&s, scope, 1)) },
		func() { errs = append(errs, c.Send(&s, nil, 2)) })
	scope.Cancel("enough")
	run(t, &s)
	v, ok := c.TryReceive(&s)
	run(t, &s)
	if len(errs) != 2 || !errors.Is(errs[0], failure.ErrCanceled) || errs[1] != nil || v != 2 || !ok {
		t.Errorf("received %d, %v; errors %v; want the second sender's value, and a cancellation of the first", v, ok, errs)
	}
	s.Close()
}

func TestTrySend(t *testing.T) {
	t.Parallel()
	var s Scheduler
	c := NewChannel[int](0)
	if c.TrySend(&s, 1) {
		t.Error("sent although nobody receives")
	}
	var got []int
	receive := func() {
		v, _ := c.Receive(&s, nil)
		got = append(got, v)
	}
	play(t, &s, receive, receive)
	for i, want := range []bool{true, true, false} {
		if sent := c.TrySend(&s, i); sent != want {
			t.Errorf("value %d with 2 receivers: sent %v, want %v", i, sent, want)
		}
	}
	run(t, &s)
	if !slices.Equal(got, []int{0, 1}) {
		t.Errorf("received %v", got)
	}
	s.Close()
}
