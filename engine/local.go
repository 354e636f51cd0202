package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// LocalCall is workflow code's call of a local activity. Only the type, the input, the header, the
// times and the retry policy of its event count: the event itself is not recorded.
type LocalCall struct {
	history.ActivityTaskScheduled
	// WaitInTask is the longest wait for a further attempt that is spent within the task. A longer
	// wait is a timer.
	WaitInTask time.Duration
	// Speculative lets it run before the update that asks for it has been recorded as accepted.
	Speculative bool
}

// LocalActivity is a local activity that has to run before the task continues.
type LocalActivity struct {
	*LocalCall
	// Number identifies it among those of its run: 1 is the first.
	Number int
	// Attempt is the number of the next attempt.
	Attempt int
	// Time is that of the task that asked for it.
	Time history.Timestamp
}

// LocalResult is the outcome of a local activity in a task.
type LocalResult struct {
	Number int
	// Attempt is the last attempt that was made, or 0.
	Attempt int
	Result  history.Payload
	// Failure is why it failed, or nil.
	Failure *failure.Failure
	// RetryAt is set if the activity is not over: the next attempt is for a task that begins then.
	RetryAt history.Timestamp
}

// locals is the part of an instance that has to do with local activities.
type locals struct {
	count   int // in the life of the run
	all     map[int]*local
	results []LocalResult // to be delivered, in this order
}

// local is a local activity that code waits for. It is due now, or its timer has to fire first.
type local struct {
	LocalActivity
	sequence uint64
	scope    *coro.Scope
	timer    *Timer // nil if it is due now
	future   coro.Future[history.Payload]
}

// StartLocalActivity starts a local activity and returns the future of its result. Under a canceled
// scope, it starts nothing, and the future is canceled.
func (in *Instance) StartLocalActivity(scope *coro.Scope, call LocalCall) *coro.Future[history.Payload] {
	in.s.MustRun("start a local activity")
	l := &local{scope: scope}
	if err := scope.Err(); err != nil {
		l.future.Set(&in.s, nil, err)
		return &l.future
	}
	in.sequence++
	in.locals.count++
	l.sequence = in.sequence
	l.LocalActivity = LocalActivity{LocalCall: &call, Number: in.locals.count, Attempt: 1, Time: in.info.Now}
	if in.locals.all == nil {
		in.locals.all = map[int]*local{}
	}
	in.locals.all[l.Number] = l
	in.handed(l.Number, call.Input)
	return &l.future
}

func (l *local) under() *coro.Scope { return l.scope }
func (l *local) order() uint64      { return l.sequence }

// giveUp no longer waits for it. If it was due, it does not run, and leaves no trace.
func (l *local) giveUp(in *Instance, err error) {
	delete(in.locals.all, l.Number)
	if l.timer != nil {
		l.timer.Cancel(err)
	}
	l.future.Set(&in.s, nil, err)
}

// due returns the local activities that have to run before the task continues, the oldest first. It
// returns none when the workflow's function has returned.
func (in *Instance) due() (due []*LocalActivity) {
	if in.finished {
		return nil
	}
	if len(in.locals.all) == 0 {
		return nil // the usual case: nothing is allocated
	}
	for _, number := range slices.Sorted(maps.Keys(in.locals.all)) {
		if l := in.locals.all[number]; l.timer == nil {
			due = append(due, &l.LocalActivity)
		}
	}
	return due
}

// takeResult delivers the next result of a local activity to the code. It returns false if there is
// none: in a new task, the activities that are due have to run first. Results are delivered one by
// one, in the order of history, and the code runs until it waits after each.
func (in *Instance) takeResult(due []*LocalActivity) (bool, error) {
	if in.markers.recorded {
		return true, in.recall(due)
	}
	for len(in.locals.results) > 0 {
		r := in.locals.results[0]
		in.locals.results = in.locals.results[1:]
		if l := in.locals.all[r.Number]; l != nil {
			in.resolveLocal(l, in.bounded(l, r))
			return true, nil
		}
	}
	return false, nil
}

// recall delivers the next result that history has for a local activity.
func (in *Instance) recall(due []*LocalActivity) error {
	code := "runs " + due[0].describe()
	if len(in.markers.locals) == 0 {
		return nonDeterminism(in.info.HistoryLength+2, "no further local activity in this task", code)
	}
	a := in.markers.locals[0]
	in.markers.locals = in.markers.locals[1:]
	number, _ := strconv.Atoi(a.ID)
	l := in.locals.all[number]
	if l == nil || l.timer != nil || l.ActivityType != a.ActivityType {
		return nonDeterminism(in.info.HistoryLength+2, describe(history.Of(a)), code)
	}
	in.resolveLocal(l, LocalResult{Number: number, Attempt: a.Attempt, Result: a.Details, Failure: a.Failure, RetryAt: a.RetryAt})
	return nil
}

// bounded returns a result that fits in the task's commit. If it does not fit beside what the task
// has written, the activity runs again in the next task. If it is larger than any payload may be,
// the activity fails.
func (in *Instance) bounded(l *local, r LocalResult) LocalResult {
	if f := in.tooLarge("the result of local activity "+l.ActivityType, len(r.Result)); f != nil {
		r.Result, r.Failure = nil, f
	} else if r.RetryAt == 0 && (in.splits.full(len(r.Result)+2*eventBytes) || in.splits.started >= in.splits.starts) {
		r = LocalResult{Number: r.Number, Attempt: l.Attempt - 1, RetryAt: in.info.Now}
	}
	return r
}

// resolveLocal records the outcome of a local activity, and passes it to the code if the activity
// is over.
func (in *Instance) resolveLocal(l *local, r LocalResult) {
	in.issueEvent(&history.MarkerRecorded{
		MarkerName: history.MarkerLocalActivity, ID: strconv.Itoa(l.Number), ActivityType: l.ActivityType,
		Details: r.Result, Failure: r.Failure, Attempt: r.Attempt, RetryAt: r.RetryAt,
	})
	if r.RetryAt != 0 {
		l.Attempt = r.Attempt + 1
		l.timer = in.startTimer(in.s.NewScope(), max(r.RetryAt, in.info.Now.Add(time.Millisecond)))
		l.timer.fired = func() { l.timer = nil }
		return
	}
	delete(in.locals.all, l.Number)
	var err error
	if r.Failure != nil {
		err = &failure.ActivityError{ActivityType: l.ActivityType, Cause: r.Failure.Err()}
	}
	l.future.Set(&in.s, r.Result, err)
}

func (a *LocalActivity) describe() string {
	return label(history.TypeMarkerRecorded, history.MarkerLocalActivity+" "+strconv.Itoa(a.Number)+" "+a.ActivityType, 0)
}

// Left returns how much time an attempt that begins now has by the options of its local activity,
// and which limit that is. It is 0 or less if the time is over.
func (a *LocalActivity) Left(now history.Timestamp) (time.Duration, string) {
	left := time.Duration(a.StartToClose)
	if a.ScheduleToClose > 0 {
		if all := a.Time.Add(time.Duration(a.ScheduleToClose)).Sub(now); all < left {
			return all, failure.ScheduleToClose
		}
	}
	return left, failure.StartToClose
}

// After returns what follows an attempt that failed now: the time of the next attempt, or that
// there is none.
func (a *LocalActivity) After(now history.Timestamp, attempt int, f *failure.Failure) (at history.Timestamp, again bool) {
	return NextAttempt(&a.ActivityTaskScheduled, a.Time, now, attempt, f)
}

// The defaults of local activities.
const (
	DefaultLocalStartToClose    = 5 * time.Second
	DefaultLocalInitialInterval = 100 * time.Millisecond
	DefaultLocalWaitInTask      = time.Second
	// MaxLocalStartToClose is the longest time that an attempt may be given.
	MaxLocalStartToClose = 10 * time.Second
)

// CompleteLocal returns a local activity with its defaults filled in, or an error that says what is
// wrong with it.
func CompleteLocal(c LocalCall) (LocalCall, error) {
	switch {
	case c.StartToClose < 0, c.ScheduleToClose < 0, c.WaitInTask < 0:
		return c, fmt.Errorf("a time in its options is negative")
	case time.Duration(c.StartToClose) > MaxLocalStartToClose:
		return c, fmt.Errorf("its StartToClose is %v, and a local activity may have %v: make it an ordinary activity", time.Duration(c.StartToClose), MaxLocalStartToClose)
	}
	c.StartToClose = cmp.Or(c.StartToClose, history.Duration(DefaultLocalStartToClose))
	c.WaitInTask = cmp.Or(c.WaitInTask, DefaultLocalWaitInTask)
	if c.Retry.InitialInterval == 0 {
		c.Retry.InitialInterval = history.Duration(DefaultLocalInitialInterval)
	}
	var err error
	c.Retry, err = CompleteRetry(c.Retry)
	return c, err
}
