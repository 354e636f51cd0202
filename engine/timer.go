package engine

import (
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Timer is the handle of a timer for the code that started it.
type Timer struct {
	in     *Instance
	timer  *timer // nil if it was due when it was started
	scope  *coro.Scope
	future coro.Future[struct{}]
	fired  func() // called when it fires; nil is nothing
}

// timer is the recorded side: one TimerStarted event that has neither fired nor been canceled.
type timer struct {
	id       int64 // of its TimerStarted event; 0 in the activation that started it
	sequence uint64
	fireAt   history.Timestamp
	start    *command
	cancel   *command // in the activation that canceled it
	holder   *Timer
}

// StartTimer starts a timer that fires at a given time. If that time is not after now, the timer
// has fired at once, and leaves no trace. Under a canceled scope, StartTimer starts nothing, and
// the timer's future is canceled.
//
// Code that waits repeatedly for the same time cancels a timer and starts an equal one in the same
// activation, in each iteration of its loop. The cancellation is then undone, so that the loop
// costs neither events nor messages.
func (in *Instance) StartTimer(scope *coro.Scope, fireAt history.Timestamp) *Timer {
	in.s.MustRun("start a timer")
	if in.canceled[fireAt] == nil && fireAt > in.info.Now {
		_ = in.splitUnder(scope, &history.TimerStarted{FireAt: fireAt}) // if it is canceled, its future is
	}
	return in.startTimer(scope, fireAt)
}

func (in *Instance) startTimer(scope *coro.Scope, fireAt history.Timestamp) *Timer {
	holder := &Timer{in: in, scope: scope}
	if err := scope.Err(); err != nil {
		holder.future.Set(&in.s, struct{}{}, err)
		return holder
	}
	if fireAt <= in.info.Now {
		holder.future.Set(&in.s, struct{}{}, nil)
		return holder
	}
	if t := in.canceled[fireAt]; t != nil {
		delete(in.canceled, fireAt)
		t.cancel.dropped = true
		t.holder, holder.timer = holder, t
		in.timers[t.id] = t
		return holder
	}
	return in.newTimer(holder, fireAt, 0)
}

// newTimer starts a timer for its holder. A point other than 0 is the point before which the task
// ends.
func (in *Instance) newTimer(holder *Timer, fireAt history.Timestamp, point int) *Timer {
	in.sequence++
	t := &timer{sequence: in.sequence, fireAt: fireAt, holder: holder}
	holder.timer = t
	t.start = in.issue(&command{
		typ:        history.TypeTimerStarted,
		attributes: func() history.Attributes { return &history.TimerStarted{FireAt: fireAt, Point: point} },
		starts:     t,
	})
	in.unnumbered = append(in.unnumbered, t)
	return holder
}

// Future returns a future that is ready when the timer has fired or was canceled.
func (h *Timer) Future() *coro.Future[struct{}] { return &h.future }

// Cancel cancels a timer that has not fired.
func (h *Timer) Cancel(err error) {
	if h.timer != nil && h.timer.holder == h {
		h.timer.giveUp(h.in, err)
	}
}

func (t *timer) under() *coro.Scope { return t.holder.scope }
func (t *timer) order() uint64      { return t.sequence }

func (t *timer) numbered(in *Instance, id int64) {
	t.id = id
	in.timers[id] = t
}

func (t *timer) giveUp(in *Instance, err error) {
	if t.holder.future.Ready() {
		return
	}
	if t.id == 0 {
		t.start.dropped = true
	} else {
		t.cancel = in.issue(&command{
			typ: history.TypeTimerCanceled, ref: func() int64 { return t.id },
			attributes: func() history.Attributes { return &history.TimerCanceled{StartedEventID: t.id} },
		})
		delete(in.timers, t.id)
		if in.canceled == nil {
			in.canceled = map[history.Timestamp]*timer{}
		}
		in.canceled[t.fireAt] = t
	}
	t.holder.future.Set(&in.s, struct{}{}, err)
}

// fireTimer passes the firing of a timer to the code.
func (in *Instance) fireTimer(id int64) error {
	t := in.timers[id]
	if t == nil {
		return corrupt("a timer fired that event %d did not start", id)
	}
	delete(in.timers, id)
	t.holder.future.Set(&in.s, struct{}{}, nil)
	if t.holder.fired != nil {
		t.holder.fired()
	}
	return nil
}
