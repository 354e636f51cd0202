package requests

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

const (
	// leastPause is the shortest pause of a caller between two requests, and longestPause the
	// longest one while something may happen at any time.
	leastPause, longestPause = 250 * time.Millisecond, time.Minute
	// longestMomentPause is the longest pause of a caller whose run waits for a moment: somebody
	// may cancel the run before.
	longestMomentPause = 5 * time.Minute
	// afterMoment is how long after a moment a caller asks: the work that it triggers takes time.
	afterMoment = 250 * time.Millisecond
	// leastPausedPause is the shortest pause of a caller whose run is paused.
	leastPausedPause = 5 * time.Second
	// longestReaderPause is the longest pause of a reader of a history, a topic or the list, and
	// leastListPause the shortest of a reader of the list.
	longestReaderPause, leastListPause = 5 * time.Second, 2 * time.Second
	// crowdedPause is the pause of a caller whom a process with too many waiting requests does not
	// hold.
	crowdedPause = time.Second
)

// expects says what the next thing is that happens in a run.
type expects uint8

const (
	// expectsNews of an activity, a child, a task or a caller: it may arrive at any time.
	expectsNews expects = iota
	// expectsMoment, and nothing before it but a cancellation.
	expectsMoment
	// expectsRetry of the task with which the run is stuck.
	expectsRetry
	// expectsOperator of a paused run.
	expectsOperator
)

// outlook is what a run waits for, as its log says. The zero value is a run with news at any time.
type outlook struct {
	expects
	at history.Timestamp // of expectsMoment and of expectsRetry
}

// outlookOf returns the outlook of an open run. A run whose binding takes signals or updates may
// get news at any time, also while it has a timer.
func outlookOf(s *session.Process, run *engine.Run) outlook {
	state := run.State
	switch state.Pending {
	case history.PendingPaused:
		return outlook{expects: expectsOperator}
	case history.PendingRetry:
		last := state.LastTask
		return outlook{expectsRetry, last.Time.Add(engine.TaskRetryDelay(last.Task.Attempt))}
	case history.PendingTask:
		return outlook{}
	case history.PendingStart:
		if run.Waits() || !takesCalls(s, run) {
			return outlook{expectsMoment, earlier(state.StartTime.Add(time.Duration(state.Started.StartDelay)), run.Deadline())}
		}
		return outlook{}
	case history.PendingNone:
	}
	pending := len(state.Activities) + len(state.Children) + len(state.Externals) + state.UpdatesInFlight + len(state.Admitted)
	if pending > 0 || len(state.Timers) == 0 || takesCalls(s, run) {
		return outlook{}
	}
	at := run.Deadline()
	for _, t := range state.Timers {
		at = earlier(t.FireAt, at)
	}
	return outlook{expectsMoment, at}
}

// earlier returns the earlier one of a moment and a deadline, of which 0 is never.
func earlier(at, deadline history.Timestamp) history.Timestamp {
	if deadline != 0 && deadline < at {
		return deadline
	}
	return at
}

// takesCalls reports whether the code of a run may take signals or updates.
func takesCalls(s *session.Process, run *engine.Run) bool {
	names := namesOfRun(s, run)
	for _, kind := range []engine.NameKind{engine.SignalName, engine.UpdateName} {
		if names.Open(kind) || len(names.Of(kind)) > 0 {
			return true
		}
	}
	return false
}

// quietUntil reports whether nothing is expected to happen in the run before a moment.
func (o outlook) quietUntil(end history.Timestamp) bool {
	switch o.expects {
	case expectsOperator:
		return true
	case expectsMoment, expectsRetry:
		return o.at > end
	case expectsNews:
	}
	return false
}

// pauseFor returns how long a caller pauses before it asks again, who has waited for this long.
// watching says that the caller reads a history or a topic.
//
//   - While something may happen at any time, a caller learns of it at most an eighth of the time
//     late that it has waited, and at most a minute.
//   - If the run waits for a moment, the caller asks soon after it.
//   - The pause of a reader is five seconds at most.
func pauseFor(o outlook, now history.Timestamp, waited time.Duration, watching bool) time.Duration {
	pause := newsPause(waited)
	switch {
	case watching:
		pause = min(pause, longestReaderPause)
	case o.expects == expectsMoment:
		pause = momentPause(o.at.Sub(now), longestMomentPause)
	case o.expects == expectsRetry:
		pause = momentPause(o.at.Sub(now), longestPause)
	case o.expects == expectsOperator:
		pause = between(leastPausedPause, waited/8, longestPause)
	}
	return roundUp(pause)
}

// newsPause returns the pause of a caller who has waited for this long, and whose run may have news
// at any time.
func newsPause(waited time.Duration) time.Duration {
	if waited < 2*time.Second {
		return max(leastPause, waited/2)
	}
	return between(time.Second, waited/8, longestPause)
}

// momentPause returns the pause of a caller whose run waits for a moment that is this far away;
// less than 0 if it has passed. most is the longest pause until the moment.
func momentPause(left, most time.Duration) time.Duration {
	if left > 0 {
		return between(leastPause, min(left, most)+afterMoment, most)
	}
	return between(2*leastPause, -left/2, longestPause)
}

func between(least, d, most time.Duration) time.Duration { return max(least, min(d, most)) }

// roundUp rounds a pause up to milliseconds.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// waitOnPurpose waits as host.Host.Wait does. The time does not count as that of the request: its
// caller asked for it.
func waitOnPurpose(ctx context.Context, world host.Host, d time.Duration, wake <-chan struct{}) error {
	began := world.Now()
	err := world.Wait(ctx, d, wake)
	observe.Waited(ctx, world.Now().Sub(began))
	return err
}

// openOnPurpose opens a session as session.Process.OpenWithin does, for a request that may go on
// without the lock. The time does not count as that of the request.
func openOnPurpose(ctx context.Context, s *session.Process, wait time.Duration, workflowID string) (*session.Session, error) {
	began := s.World.Now()
	t, err := s.OpenWithin(ctx, max(wait, 0), workflowID)
	observe.Waited(ctx, s.World.Now().Sub(began))
	return t, err
}

// errGone refuses a request whose caller left, or whose server stops, before the first look.
var errGone = refusal.Busy.New("the request ended before anything was read: send it again")

// held is a request that waits, from its arrival on.
type held struct {
	process *session.Process
	command.Waiting
	began time.Time
	// end is when the process answers in any case.
	end time.Time

	counted bool // the process counts it among its waiters
	crowded bool // the process has too many waiters
}

// hold returns a request that begins to wait now. The caller releases it. It counts from its first
// look on, which may wait for a lock or a slow store. If the process has too many waiters, the wait
// is over at once: the request is answered after one look, which does not wait for a lock.
func hold(s *session.Process, w command.Waiting) held {
	now := s.World.Now()
	h := held{process: s, Waiting: w, began: now, end: now.Add(holdFor(&s.Options, w))}
	if h.end.After(now) && !h.stay() {
		h.end = now
	}
	return h
}

// holdFor returns how long a process with these options may hold a request that waits.
func holdFor(o *session.Options, w command.Waiting) time.Duration {
	limit := o.SoftLimit
	if o.WaitHold != 0 && !w.Streams() {
		limit = min(limit, max(0, o.WaitHold-w.Waited()))
	}
	return min(w.Wait(), limit)
}

// limited reports whether the process holds the request for less than the soft limit, so that its
// caller pauses between two requests.
func (h *held) limited() bool { return h.process.Options.WaitHold != 0 && !h.Streams() }

// stay reports whether the process holds the request on. It does not if it has too many waiters.
func (h *held) stay() bool {
	if !h.counted && !h.Streams() {
		h.counted = h.process.Held.Add(1) <= int64(h.process.Options.MaxWaiters)
		if h.crowded = !h.counted; h.crowded {
			h.process.Held.Add(-1)
		}
	}
	return !h.crowded
}

// release ends the wait.
func (h *held) release() {
	if h.counted {
		h.process.Held.Add(-1)
		h.counted = false
	}
}

// again returns how long the caller pauses before it asks again, if the answer has nothing that the
// caller waits for: a crowded process has a pause of its own, and a process that holds requests
// until the soft limit has none. pause is called with how long the caller has waited.
func (h *held) again(pause func(now time.Time, waited time.Duration) time.Duration) schema.Duration {
	switch now := h.process.World.Now(); {
	case !h.Waits():
	case h.crowded:
		return schema.Duration(crowdedPause)
	case h.limited():
		return schema.Duration(pause(now, h.Waited()+now.Sub(h.began)))
	}
	return 0
}
