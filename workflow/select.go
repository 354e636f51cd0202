package workflow

import (
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
)

// errNotNeeded is the reason of canceling a timer whose case was not taken.
var errNotNeeded = errors.New("no longer waited for")

// Case is an event that Select waits for, and a function to call when it happens.
type Case struct{ begin func(ctx Context) waiting }

// waiting is a case while a Select waits for it.
type waiting struct {
	// ready reports whether the case is ready. It takes the case's value from its source.
	ready func() bool
	// then runs the case's function; nil does nothing.
	then func()
	// condition is evaluated when nothing else is ready, or nil.
	condition func() bool
	list      *coro.List
	// leave is called when the Select no longer waits, end when it ends; nil does nothing.
	leave, end func()
}

// Select waits until one of the cases is ready, and runs it. If several are ready, it runs the
// first of them in the order of the arguments. It returns a *CanceledError if ctx is canceled and
// no case is ready: a loop around a Select must end then.
//
//	for !done {
//		err := workflow.Select(ctx,
//			workflow.OnSignal(Note, func(text string) { notes = append(notes, text) }),
//			workflow.OnTimer(deadline, func() { done = true }))
//		if err != nil {
//			return err
//		}
//	}
func Select(ctx Context, cases ...Case) error {
	s := ctx.scheduler()
	s.MustRun("select")
	all := make([]waiting, len(cases))
	for i, c := range cases {
		all[i] = c.begin(ctx)
	}
	defer forEach(all, func(w *waiting) func() { return w.end })
	chosen, err := choose(ctx, all)
	if chosen != nil && chosen.then != nil {
		chosen.then()
	}
	return err
}

// choose waits until a case is ready, and returns it.
func choose(ctx Context, all []waiting) (chosen *waiting, err error) {
	s := ctx.scheduler()
	condition, lists := together(all)
	defer forEach(all, func(w *waiting) func() { return w.leave })
	defer s.Enlist(lists...)() // off the lists first: a case that is left passes its wake-up on to another waiter
	for {
		for i := range all {
			if all[i].ready() {
				return &all[i], nil
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.Park(ctx.scope, condition)
	}
}

func forEach(all []waiting, hook func(*waiting) func()) {
	for i := range all {
		if fn := hook(&all[i]); fn != nil {
			fn()
		}
	}
}

// together returns the conditions and lists that the cases wait for, as one.
func together(all []waiting) (condition func() bool, lists []*coro.List) {
	var conditions []func() bool
	for _, w := range all {
		if w.list != nil {
			lists = append(lists, w.list)
		}
		if w.condition != nil {
			conditions = append(conditions, w.condition)
		}
	}
	if conditions == nil {
		return nil, lists
	}
	return func() bool {
		for _, c := range conditions {
			if c() {
				return true
			}
		}
		return false
	}, lists
}

// OnFuture is ready when the future is, and passes its value or error to fn. A nil fn does nothing.
func OnFuture[T any](f Future[T], fn func(T, error)) Case {
	return Case{func(ctx Context) waiting {
		return waiting{list: ctx.scheduler().Known(coro.OnFuture, f.pending.waiters()), ready: f.Ready, then: func() {
			if fn != nil {
				fn(f.pending.peek())
			}
		}}
	}}
}

// OnTimer is ready at a moment. The timer is canceled if another case is taken. A loop that waits
// for the same moment in each iteration costs one timer in all. A nil fn does nothing.
func OnTimer(at time.Time, fn func()) Case {
	return Case{func(ctx Context) waiting { return onTimer(startTimer(ctx, at), fn) }}
}

// OnTimeout is ready after this duration. See OnTimer.
func OnTimeout(d time.Duration, fn func()) Case {
	return Case{func(ctx Context) waiting { return onTimer(startTimer(ctx, Now(ctx).Add(d)), fn) }}
}

func startTimer(ctx Context, at time.Time) *engine.Timer {
	return ctx.instance().StartTimer(ctx.scope, history.At(at))
}

func onTimer(t *engine.Timer, fn func()) waiting {
	return waiting{
		list: t.Future().Waiters(),
		ready: func() bool {
			_, err := t.Future().Peek()
			return t.Future().Ready() && err == nil
		},
		then: fn,
		end:  func() { t.Cancel(errNotNeeded) },
	}
}

// OnCondition is ready when the condition is true. The condition is evaluated again whenever the
// workflow has done something. It may only read, and must not read the clock.
func OnCondition(condition func() bool) Case {
	return Case{func(ctx Context) waiting {
		s := ctx.scheduler()
		return waiting{condition: condition, ready: func() bool { return s.Look(condition) }}
	}}
}

// OnReceive is ready when the channel has a value, and passes it to fn. If the channel is closed
// and empty, fn gets the zero value and false. A nil fn does nothing.
func OnReceive[T any](c Channel[T], fn func(v T, ok bool)) Case {
	return Case{func(ctx Context) waiting {
		s := ctx.scheduler()
		var v T
		var ok bool
		return waiting{
			list: s.Known(coro.OnChannel, c.c.Receivers()),
			ready: func() bool {
				v, ok = c.c.TryReceive(s)
				return ok || c.c.Readable()
			},
			then: func() {
				if fn != nil {
					fn(v, ok)
				}
			},
			leave: func() { c.c.PassOn(s) },
		}
	}}
}

// OnSignal is ready when a signal of this name has arrived, and passes its value to fn. It sets
// aside values that do not decode, as Receive does. A nil fn does nothing.
func OnSignal[T any](sig Signal[T], fn func(T)) Case {
	return Case{func(ctx Context) waiting {
		s, channel := ctx.scheduler(), sig.signals(ctx)
		var v T
		return waiting{
			list: channel.Receivers(),
			ready: func() (ok bool) {
				v, ok = sig.next(ctx, channel)
				return ok
			},
			then: func() {
				if fn != nil {
					fn(v)
				}
			},
			leave: func() { channel.PassOn(s) },
		}
	}}
}

// next takes the next signal whose value decodes off the channel, if there is one, and drops those
// before it.
func (g Signal[T]) next(ctx Context, channel *coro.Channel[history.Payload]) (v T, ok bool) {
	for {
		p, ok := channel.TryReceive(ctx.scheduler())
		if !ok {
			return v, false
		}
		v, err := g.decode(p)
		if err == nil {
			return v, true
		}
		g.setAside(ctx) // the first rules dropped it, too
	}
}

// Default is ready at once, if no case before it is. Put it last. A nil fn does nothing.
func Default(fn func()) Case {
	return Case{func(Context) waiting { return waiting{ready: func() bool { return true }, then: fn} }}
}
