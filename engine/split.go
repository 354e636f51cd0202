package engine

import (
	"cmp"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
)

const (
	// maxStarts is how many activities, timers, children and messages to others one task may start,
	// and how many updates it may complete. Each but the last sends a message, and a commit's
	// messages are sent within one request.
	maxStarts = 5_000

	// commitHeader is how much of a commit is reserved for what is not an event: at most an eighth
	// of it.
	commitHeader = 8 << 10

	// eventBytes is the size of a small event in a commit.
	eventBytes = 64
)

// splits bounds what one task writes. Code that asks for more waits for the next task, which a
// timer triggers at once:
//
//	task 1: starts 1 to 5,000, and a timer     task 2: the timer has fired; starts 5,001 to ...
//
// Each call that starts something is a point at which a task may end. The timer records the number
// of the first point at which its task did: a replay ends the task there, whatever its limits are.
type splits struct {
	limit  int // bytes of a task; 0 is no limit
	starts int // how many it may start

	bytes   int // of the task's input and output so far
	passed  int // how many calls passed a point
	started int // how many it has started
	points  int // how many points the task has passed
	// closes is set if, in history, the task closes the run.
	closes bool
	// recorded is the point at which the task ends in history, or 0.
	recorded int
	// timer triggers the next task; nil while this one may write more.
	timer *Timer
	// waiting is how many coroutines wait for the next task. They may wait for several.
	waiting int
}

// begin resets the counts for a task.
func (s *splits) begin(a *Activation) {
	*s = splits{starts: cmp.Or(a.MaxStarts, maxStarts), waiting: s.waiting}
	for _, e := range a.Recorded {
		s.closes = s.closes || closes(e)
		if t, ok := e.Attributes.(*history.TimerStarted); ok && t.Point > 0 {
			s.recorded = t.Point
		}
	}
	if a.MaxBytes == 0 {
		return
	}
	s.limit = a.MaxBytes - min(commitHeader, a.MaxBytes/8)
	for _, e := range a.InputEvents {
		s.bytes += sizeOf(e.Attributes)
	}
}

// full reports whether a commit has no room for an event of n bytes. An event that does not fit
// beside the event of a timer either has to be tried.
func (s *splits) full(n int) bool {
	return s.limit > 0 && s.bytes+n > s.limit && (s.passed > 0 || n <= s.limit-eventBytes)
}

// sizeOf returns the size of an event's attributes, or 0 if they cannot be encoded, which fails at
// the commit.
func sizeOf(a history.Attributes) int {
	return history.SizeOf(a) + eventBytes/8
}

// splitBefore waits until the commit of the task has room for one more event. It calls late before
// it first waits: a new task may have to write the event, after this one was replayed. It calls
// renew in each task that it has waited for.
func (in *Instance) splitBefore(a history.Attributes, late, renew func()) {
	starts := a.Type() != history.TypeMarkerRecorded && a.Type() != history.TypeTopicItemsPublished
	n := in.newBytes(a)
	for in.splitsAt(n, starts) {
		late()
		late = func() {}
		in.awaitNextTask()
		renew()
		n = in.newBytes(a)
	}
	in.splits.bytes += n
	in.splits.passed++
	if starts {
		in.splits.started++
	}
}

// newBytes returns how many bytes an event adds to a new task, or 0 on replay.
func (in *Instance) newBytes(a history.Attributes) int {
	if in.markers.recorded {
		return 0
	}
	return sizeOf(a)
}

// awaitNextTask waits for the timer that triggers the next task.
func (in *Instance) awaitNextTask() {
	in.splits.waiting++
	defer func() { in.splits.waiting-- }() // also if the coroutine is ended
	timer := in.splits.timer
	_, _ = timer.future.Get(&in.s, timer.scope) // its scope is never canceled
}

// awaitSplits keeps a run that was asked to end open while code of it waits for the next task: the
// handlers of accepted updates have their outcome even if the workflow's function returns at once.
// A run that continues as new does not wait, because its next run gets the signals that this one
// has not received.
func (in *Instance) awaitSplits() {
	var next *ContinueAsNew
	if in.rules < history.CloseAfterSplits || in.root.Err() == nil || errors.As(in.err, &next) {
		return
	}
	_ = in.s.Await(in.s.NewScope(), func() bool { return in.splits.waiting == 0 }) // its scope is never canceled
}

// splitsAt reports whether the task ends at this point for the coroutine that has reached it. Once
// one has to wait, all that reach a point in the same task do.
func (in *Instance) splitsAt(n int, starts bool) bool {
	s := &in.splits
	if s.timer != nil {
		return true
	}
	s.points++
	full := s.full(n) || starts && s.started >= s.starts
	if in.markers.recorded && s.points != s.recorded || !in.markers.recorded && !full {
		return false
	}
	s.timer = in.newTimer(&Timer{in: in, scope: in.s.NewScope()}, in.info.Now.Add(time.Millisecond), s.points)
	return true
}

// splitUnder is splitBefore for an event under a scope. It returns why the scope was canceled,
// before or meanwhile.
func (in *Instance) splitUnder(scope *coro.Scope, a history.Attributes) error {
	return in.splitWith(scope, a, func() {}, func() { in.renew(a) })
}

// splitWith is splitUnder for an event with an input, which encode returns. It calls encode at
// once, because the value may change while the code waits. A replay calls encode only if the code
// waits, or if the contents of commands are compared. It calls renew as splitBefore does.
func (in *Instance) splitWith(scope *coro.Scope, a history.Attributes, encode, renew func()) error {
	if err := scope.Err(); err != nil {
		return err
	}
	late := encode
	if !in.replaying || in.compares() {
		encode()
		late = func() {}
	}
	in.splitBefore(a, late, renew)
	return scope.Err()
}

// wrote counts an event that the task writes without regard to the limits.
func (in *Instance) wrote(a history.Attributes) {
	if in.splits.limit > 0 && !in.markers.recorded {
		in.splits.bytes += sizeOf(a)
	}
}
