package engine

import (
	"slices"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// waiter is an activity, local or not, a timer, a child or news of another workflow that code waits for under a scope.
type waiter interface {
	under() *coro.Scope
	order() uint64
	// giveUp stops waiting, because the scope was canceled.
	giveUp(in *Instance, err error)
}

// activity is one that code started and whose result has not come.
type activity struct {
	id       int64 // of its ActivityTaskScheduled event; 0 in the activation that started it
	sequence uint64
	scope    *coro.Scope
	command  *command
	future   coro.Future[history.Payload]
}

// StartActivity starts an activity and returns the future of its result. encode makes its input; it is called at once,
// and only when the code is not replaying. Under a canceled scope nothing is started and the future says so.
func (in *Instance) StartActivity(scope *coro.Scope, call history.ActivityTaskScheduled, encode func() history.Payload) *coro.Future[history.Payload] {
	in.s.MustRun("start an activity")
	in.sequence++
	a := &activity{scope: scope, sequence: in.sequence}
	if err := scope.Err(); err != nil {
		a.future.Set(&in.s, nil, err)
		return &a.future
	}
	if !in.replaying {
		if call.Input = encode(); len(call.Input) > in.maxPayload() {
			call.Input, call.Oversize = nil, len(call.Input)
		}
	}
	a.command = in.issue(&command{
		typ: history.TypeActivityTaskScheduled, name: call.ActivityType,
		attributes: func() history.Attributes { return &call },
		numbered: func(id int64) {
			a.id = id
			in.activities[id] = a
		},
	})
	in.unnumbered = append(in.unnumbered, a)
	return &a.future
}

func (a *activity) under() *coro.Scope { return a.scope }
func (a *activity) order() uint64      { return a.sequence }

// giveUp asks the activity to end and no longer waits for it: its result, if one comes, is recorded and changes
// nothing. One that was started in this activation never was.
func (a *activity) giveUp(in *Instance, err error) {
	if a.future.Ready() {
		return
	}
	if a.id == 0 {
		a.command.dropped = true
	} else {
		id := a.id
		in.issue(&command{
			typ: history.TypeActivityTaskCancelRequested, ref: func() int64 { return id },
			attributes: func() history.Attributes { return &history.ActivityTaskCancelRequested{ScheduledEventID: id} },
		})
	}
	a.future.Set(&in.s, nil, err)
}

// resolveActivity gives the result of an activity to the code that waits for it.
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

// cancelWaiters stops waiting for what stands under scopes that have been canceled, in the order in which it was
// started.
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
