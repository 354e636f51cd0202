package engine

import (
	"slices"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// waiter is an activity, local or not, a timer, a child or a request to another workflow that code
// waits for under a scope.
type waiter interface {
	under() *coro.Scope
	order() uint64
	// giveUp stops waiting, because the scope was canceled.
	giveUp(in *Instance, err error)
}

// activity is an activity that code started and whose result has not arrived.
type activity struct {
	id       int64 // of its ActivityTaskScheduled event; 0 in the activation that started it
	sequence uint64
	scope    *coro.Scope
	command  command
	wait     bool // after a cancellation, the code still waits for the end
	asked    bool // it has been asked to end
	future   coro.Future[history.Payload]
}

// ActivityCall is an activity to start.
type ActivityCall struct {
	history.ActivityTaskScheduled
	// WaitCancellation makes code whose scope is canceled wait until the activity has ended.
	WaitCancellation bool
	// Queued says that the activity always gets a message, whatever Options.Chain says.
	Queued bool
}

// StartActivity starts an activity and returns the future of its result. Under a canceled scope, it
// starts nothing, and the future is canceled.
//
// encode returns the input. StartActivity calls it at once. A replay calls it only for an event
// that the next task may write: see splits.
func (in *Instance) StartActivity(scope *coro.Scope, call ActivityCall, encode func() history.Payload) *coro.Future[history.Payload] {
	in.s.MustRun("start an activity")
	a, scheduled := &activity{scope: scope, wait: call.WaitCancellation}, new(call.ActivityTaskScheduled)
	inline := scheduled.Inline
	chain := func() { scheduled.Inline = inline || in.chain && !call.Queued }
	chain()
	err := in.splitWith(scope, scheduled, func() { scheduled.Input, scheduled.Oversize = in.inputOf(encode) }, chain)
	in.sequence++
	a.sequence = in.sequence
	if err != nil {
		a.future.Set(&in.s, nil, err)
		return &a.future
	}
	a.command = command{event: scheduled, starts: a}
	in.issue(&a.command)
	in.unnumbered = append(in.unnumbered, a)
	return &a.future
}

func (a *activity) under() *coro.Scope { return a.scope }
func (a *activity) order() uint64      { return a.sequence }

func (a *activity) numbered(in *Instance, id int64) {
	a.id = id
	in.activities[id] = a
}

// giveUp asks the activity to end. Unless the author chose WaitCancellation, the code no longer
// waits for it: its result is recorded and changes nothing. An activity that was started in this
// activation leaves no trace.
func (a *activity) giveUp(in *Instance, err error) {
	switch {
	case a.future.Ready() || a.asked:
		return
	case a.id == 0:
		a.command.dropped = true
		a.future.Set(&in.s, nil, err)
		return
	}
	a.asked = true
	in.issue(&command{
		typ: history.TypeActivityTaskCancelRequested, ref: func() int64 { return a.id },
		attributes: func() history.Attributes { return &history.ActivityTaskCancelRequested{ScheduledEventID: a.id} },
	})
	if !a.wait {
		a.future.Set(&in.s, nil, err)
	}
}

// resolveActivity passes the result of an activity to the code that waits for it.
func (in *Instance) resolveActivity(id int64, result history.Payload, f *failure.Failure) error {
	a := in.activities[id]
	if a == nil {
		return corrupt("the result of an activity that event %d did not schedule", id)
	}
	delete(in.activities, id)
	var err error
	if f != nil {
		err = &failure.ActivityError{ActivityType: a.command.name, EventID: id, Cause: f.Err()}
	}
	a.future.Set(&in.s, result, err)
	return nil
}

// cancelWaiters cancels the waits under canceled scopes, in the order in which they began.
func (in *Instance) cancelWaiters() {
	var all []waiter
	collect := func(w waiter) {
		if w.under().Err() != nil {
			all = append(all, w)
		}
	}
	for _, a := range in.activities {
		collect(a)
	}
	for _, t := range in.timers {
		collect(t)
	}
	for _, c := range in.children {
		collect(c)
	}
	for _, e := range in.externals {
		collect(e)
	}
	for _, l := range in.locals.all {
		collect(l)
	}
	for _, w := range in.unnumbered {
		collect(w)
	}
	slices.SortFunc(all, func(a, b waiter) int { return int(a.order()) - int(b.order()) })
	for _, w := range all {
		w.giveUp(in, w.under().Err())
	}
}
