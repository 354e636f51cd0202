package workflow

import (
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// errNotNeeded is why a timer is canceled whose case was not taken.
var errNotNeeded = errors.New("no longer waited for")

// Case is one thing that Select waits for, and what to do when it happens.
type Case struct{ begin func(ctx Context) waiting }

// waiting is a case while a Select waits for it.
type waiting struct {
	// take does what the case is for, and reports whether it could.
	take func() bool
	// condition is asked when nothing else is ready; nil for none.
	condition func() bool
	list      *coro.List
	// park and leave surround each wait, end the Select.
	park, leave, end func()
}

// Select waits until one of the cases can go on, and lets it. Where several can, the first of them in the order of the
// arguments does. It returns a *CanceledError when ctx is canceled and no case can go on: code that loops around a
// Select must end its loop then.
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
	for {
		for i := range all {
			if all[i].take() {
				return nil
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		condition, lists := together(all)
		forEach(all, func(w *waiting) func() { return w.park })
		s.Park(ctx.scope, condition, lists...)
		forEach(all, func(w *waiting) func() { return w.leave })
	}
}

func forEach(all []waiting, hook func(*waiting) func()) {
	for i := range all {
		if fn := hook(&all[i]); fn != nil {
			fn()
		}
	}
}

// together is what the cases wait for.
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

// when takes a case if it is ready.
func when(ready bool, then func()) bool {
	if ready && then != nil {
		then()
	}
	return ready
}

// OnFuture goes on when the future is ready, and hands its value or error to fn.
func OnFuture[T any](f Future[T], fn func(T, error)) Case {
	return Case{func(Context) waiting {
		return waiting{
			list: f.pending.waiters(),
			take: func() bool { return when(f.Ready(), func() { fn(f.pending.peek()) }) },
		}
	}}
}

// OnTimer goes on at a moment. The timer is canceled if another case is taken; a loop that waits for the same moment
// each time around costs one timer, not one for each time. A nil fn does nothing.
func OnTimer(at time.Time, fn func()) Case {
	return Case{func(ctx Context) waiting { return onTimer(startTimer(ctx, at), fn) }}
}

// OnTimeout goes on after this long. See OnTimer.
func OnTimeout(d time.Duration, fn func()) Case {
	return Case{func(ctx Context) waiting { return onTimer(startTimer(ctx, Now(ctx).Add(d)), fn) }}
}

func startTimer(ctx Context, at time.Time) *engine.Timer {
	return ctx.instance().StartTimer(ctx.scope, history.At(at))
}

func onTimer(t *engine.Timer, fn func()) waiting {
	return waiting{
		list: t.Future().Waiters(),
		take: func() bool {
			_, err := t.Future().Peek()
			return when(t.Future().Ready() && err == nil, fn)
		},
		end: func() { t.Cancel(errNotNeeded) },
	}
}

// OnCondition goes on when the condition is true. It is asked again whenever the workflow has done something; it may
// only look.
func OnCondition(condition func() bool) Case {
	return Case{func(Context) waiting { return waiting{condition: condition, take: condition} }}
}

// OnReceive goes on when the channel has a value, and hands it to fn; when the channel is closed and empty, fn gets the
// zero value and false.
func OnReceive[T any](c Channel[T], fn func(v T, ok bool)) Case {
	return Case{func(ctx Context) waiting {
		s := ctx.scheduler()
		return waiting{
			list: c.c.Receivers(),
			take: func() bool {
				return when(c.c.Readable(), func() {
					v, ok := c.c.TryReceive(s)
					fn(v, ok)
				})
			},
			park:  func() { c.c.Expect(s, 1) },
			leave: func() { c.c.Expect(s, -1) },
		}
	}}
}

// OnSignal goes on when a signal of this name has arrived, and hands its value to fn. A signal whose value does not
// decode is dropped with a warning in the log; use Receive to see the error.
func OnSignal[T any](sig Signal[T], fn func(T)) Case {
	return Case{func(ctx Context) waiting {
		s, channel := ctx.scheduler(), ctx.instance().Signals(sig.name)
		return waiting{
			list: channel.Receivers(),
			take: func() bool {
				for {
					p, ok := channel.TryReceive(s)
					if !ok {
						return false
					}
					v, err := payload.DecodeOrZero[T](p)
					if err == nil {
						fn(v)
						return true
					}
					Logger(ctx).Warn("a signal was dropped: its value does not decode", "signal", sig.name)
				}
			},
		}
	}}
}

// Default goes on when no case before it can, at once. Put it last. A nil fn does nothing.
func Default(fn func()) Case {
	return Case{func(Context) waiting { return waiting{take: func() bool { return when(true, fn) }} }}
}
