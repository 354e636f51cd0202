package coro

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func init() {
	if err := flag.Set("rapid.nofailfile", "true"); err != nil { // a failure prints its seed
		panic(err)
	}
}

// deed is the next action of a coroutine.
type deed struct {
	Do string
	On int // the channel, or the number of units
}

// exchange has coroutines that send to each other. It checks what holds for every order of their
// steps.
type exchange struct {
	s        Scheduler
	scopes   []*Scope
	channels []*Channel[string]
	gate     Future[int] // opens for "wait"
	units    *Semaphore
	sent     []map[string]bool // by channel: the values whose Send has returned nil
	began    [][]string        // by channel: in the order in which their senders began
	got      [][]string        // by channel: in the order in which they were received
	held     int
}

func newExchange(coroutines int) *exchange {
	x := &exchange{units: NewSemaphore(2)}
	for _, capacity := range []int{-1, 0, 0, 1, 2} {
		x.channels = append(x.channels, NewChannel[string](capacity))
		x.sent = append(x.sent, map[string]bool{})
	}
	x.began, x.got = make([][]string, len(x.channels)), make([][]string, len(x.channels))
	for range coroutines {
		x.scopes = append(x.scopes, x.s.NewScope())
	}
	return x
}

// do runs one deed of a coroutine. A value is named after its sender and its step.
func (x *exchange) do(who, when int, d deed) {
	on, scope, v := d.On%len(x.channels), x.scopes[who], fmt.Sprint(who, "/", when)
	switch d.Do {
	case "send":
		x.began[on] = append(x.began[on], v)
		x.outcome(on, v, x.channels[on].Send(&x.s, scope, v) == nil)
	case "trySend":
		x.began[on] = append(x.began[on], v)
		x.outcome(on, v, x.channels[on].TrySend(&x.s, v))
	case "receive":
		if v, err := x.channels[on].Receive(&x.s, scope); err == nil {
			x.got[on] = append(x.got[on], v)
		}
	case "tryReceive":
		if v, ok := x.channels[on].TryReceive(&x.s); ok {
			x.got[on] = append(x.got[on], v)
		}
	case "select":
		some := []int{on, (on + 1) % len(x.channels), (on + 3) % len(x.channels)}
		v, i, err := receiveAny(&x.s, scope, x.channels[some[0]], x.channels[some[1]], x.channels[some[2]])
		if err == nil {
			x.got[some[i]] = append(x.got[some[i]], v)
		}
	case "wait":
		_, _ = x.gate.Get(&x.s, scope)
	case "acquire":
		n := d.On % 3
		if x.units.Acquire(&x.s, scope, n) == nil {
			x.held += n
			_, _ = x.gate.Get(&x.s, nil)
			x.held -= n
			x.units.Release(&x.s, n)
		}
	}
}

// outcome records whether a value was sent. If it was not, its send is removed from began.
func (x *exchange) outcome(on int, v string, sent bool) {
	if sent {
		x.sent[on][v] = true
		return
	}
	x.began[on] = slices.DeleteFunc(x.began[on], func(other string) bool { return other == v })
}

// check checks what holds whenever nothing is ready.
func (x *exchange) check(t *rapid.T) {
	for i, c := range x.channels {
		if !c.receivers.empty() && c.Readable() {
			t.Fatalf("channel %d: a receiver waits, although there are the values %q, or offers", i, c.values)
		}
		if !c.offers.empty() && (c.capacity < 0 || len(c.values) < c.capacity) {
			t.Fatalf("channel %d: a sender waits, although there is room", i)
		}
		if c.capacity > 0 && len(c.values) > c.capacity {
			t.Fatalf("channel %d of capacity %d holds %q", i, c.capacity, c.values)
		}
		if n := len(x.got[i]); n > len(x.began[i]) || !slices.Equal(x.got[i], x.began[i][:n]) {
			t.Fatalf("channel %d: received %q, sent %q", i, x.got[i], x.began[i])
		}
		if n := len(x.got[i]) + len(c.values); n != len(x.sent[i]) {
			t.Fatalf("channel %d: %d were sent, %d were received or are held", i, len(x.sent[i]), n)
		}
	}
	if first := x.units.queue.head; first != nil && first.value.n <= x.units.free || x.held != 0 && x.units.free+x.held != 2 {
		t.Fatalf("semaphore: %d free, %d held, one waits: %v", x.units.free, x.held, first != nil)
	}
}

// For every exchange and every cancellation: no coroutine waits for a value that is there, no value
// is lost, and values are received in the order of sending.
func TestNothingIsLostAndNobodyIsForgotten(t *testing.T) {
	t.Parallel()
	one := rapid.Custom(func(t *rapid.T) deed {
		return deed{
			Do: rapid.SampledFrom([]string{"send", "send", "trySend", "receive", "receive", "tryReceive", "select", "select", "wait", "acquire"}).Draw(t, "do"),
			On: rapid.IntRange(0, 4).Draw(t, "on"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		deeds := rapid.SliceOfN(rapid.SliceOfN(one, 1, 8), 2, 10).Draw(t, "deeds")
		x := newExchange(len(deeds))
		defer x.s.Close()
		for who, all := range deeds {
			x.s.Go(fmt.Sprint(who), func() {
				for when, d := range all {
					x.do(who, when, d)
				}
			})
		}
		canceled := rapid.SliceOfNDistinct(rapid.IntRange(0, len(deeds)-1), 0, 3, rapid.ID).Draw(t, "canceled")
		opens, cancels := rapid.IntRange(0, 2).Draw(t, "opens"), rapid.IntRange(0, 2).Draw(t, "cancels")
		for round := range 4 {
			if err := x.s.Run(); err != nil {
				t.Fatal(err)
			}
			x.check(t)
			if round == opens {
				x.gate.Set(&x.s, 0, nil)
			}
			if round == cancels {
				for _, who := range canceled {
					x.scopes[who].Cancel("")
				}
			}
		}
	})
}
