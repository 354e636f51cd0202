package sim

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// checkCron demands that a completed run with a cron expression is followed by a run that begins at
// the next moment and has its result.
func (a *audit) checkCron(name string, run *engine.Run, result history.Payload) {
	started := run.State.Started
	if started.Cron == "" || run.State.CancelRequested {
		return
	}
	at := history.At(run.State.CloseTime.Time().Truncate(time.Hour).Add(time.Hour))
	if end := deadlineOf(run); end != 0 && at >= end {
		if run.State.Next() != "" {
			a.s.fail("%s completed, and a run follows it after the end of its chain", name)
		}
		return
	}
	next := a.follows(name, run)
	if next == nil {
		return
	}
	if begins := next.State.StartTime.Add(time.Duration(next.State.Started.StartDelay)); begins != at && next.State.Reset == nil {
		a.s.fail("the run that follows %s begins at %v, and is to begin at %v", name, begins.Time(), at.Time())
	}
	if string(next.State.Started.LastResult) != string(result) {
		a.s.fail("the run after %s has the last result %s, want %s", name, next.State.Started.LastResult, result)
	}
}

// checkRetry demands that a failed run is followed by its next attempt, as long as its chain has
// time for it, or, if it has a cron expression, by the first attempt at the next moment.
func (a *audit) checkRetry(name string, run *engine.Run) {
	started := run.State.Started
	const longest = 80 * time.Minute // the total of the pauses between failing attempts
	if end := deadlineOf(run); end != 0 && run.State.CloseTime.Add(longest) >= end && run.State.Next() == "" {
		return
	}
	next := a.follows(name, run)
	if next == nil {
		return
	}
	attempt := next.State.Started.Attempt
	if attempt != max(started.Attempt, 1)+1 && (started.Cron == "" || attempt > 0) {
		a.s.fail("attempt %d follows %s", attempt, name)
	}
}

// late is how long a run may be open after the end of its chain, because of faults and
// redeliveries.
const late = 2 * time.Hour

// checkDeadline demands that no run of a chain begins after the chain's end or is open long after
// it, unless the code continues as new before it is told. It also demands that no run is ended
// before that.
func (a *audit) checkDeadline(name string, run *engine.Run) {
	end := deadlineOf(run)
	if end == 0 {
		return
	}
	next := run.State.Started.Cron != "" || run.State.Started.Attempt > 1
	if run.State.StartTime >= end && run.State.Reset == nil && next {
		a.s.fail("%s began at %v, after the end of its chain at %v", name, run.State.StartTime.Time(), end.Time())
	}
	if !a.s.lost() && run.State.CloseTime > end.Add(late+a.s.outages.excuse) {
		a.s.fail("%s was open until %v; its chain ended at %v", name, run.State.CloseTime.Time(), end.Time())
	}
	jump := time.Duration(0) // the largest jump of a clock between the look at the deadline and the commit
	if a.s.has(clockJumps) || a.s.has(setBack) || a.s.has(behind) {
		jump = a.s.clockGap()
	}
	if closed, ok := run.State.Close.(*history.WorkflowExecutionTimedOut); ok && closed.ExecutionTimeout > 0 && run.State.CloseTime.Add(jump) < end {
		a.s.fail("%s timed out at %v; its chain ends at %v", name, run.State.CloseTime.Time(), end.Time())
	}
}

// deadlineOf returns the time at which the chain of a run ends; 0 means never.
func deadlineOf(run *engine.Run) history.Timestamp {
	started := run.State.Started
	switch {
	case started.ExecutionDeadline != 0 || started.ExecutionTimeout == 0:
		return started.ExecutionDeadline
	case started.Cron == "":
		return run.State.StartTime.Add(time.Duration(started.StartDelay) + time.Duration(started.ExecutionTimeout))
	}
	return run.State.StartTime.Add(time.Duration(started.ExecutionTimeout))
}

// expired reports whether the store has deleted a run.
func (a *audit) expired(run *engine.Run) bool {
	expires := run.State.Expires
	return expires != 0 && expires.Time().Before(a.s.now)
}

// buildAway reports whether an open run waits for a build that no process has.
func (s *simulation) buildAway() bool {
	for _, runs := range s.audit.runs {
		for _, run := range runs {
			if pinned := run.State.Pinned; !run.State.Status.Closed() && pinned != "" && s.processOf(pinned) == nil {
				return true
			}
		}
	}
	return false
}
