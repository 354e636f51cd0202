package requests

import (
	"cmp"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/internal/where"
)

// stateOf returns the state of an open run as its log says it. Records of attempts say whether it
// is retrying: see addFailures.
func stateOf(s *engine.State) schema.RunState {
	if s.Streak != nil {
		return schema.StateStuck
	}
	return cmp.Or(pendingState(s.Pending), schema.StateWaiting)
}

// pendingState returns the state of a run whose code has something to do, or "" if it has nothing.
func pendingState(p history.Pending) schema.RunState {
	switch p {
	case history.PendingRetry:
		return schema.StateStuck
	case history.PendingPaused:
		return schema.StatePaused
	case history.PendingStart:
		return schema.StateDelayed
	case history.PendingTask:
		return schema.StateRunnable
	case history.PendingNone:
	}
	return ""
}

// addFailures adds to a pending activity, and to the run's state, that attempts have failed.
func addFailures(d *schema.Description, p *schema.PendingActivity, kept *attempts.Record) {
	if kept.LastFailed == 0 {
		return
	}
	if d.State == schema.StateWaiting {
		d.State = schema.StateRetrying
	}
	p.Retryable = kept.Deadline == 0 && d.Paused == nil
	if kept.FirstFailed != 0 {
		first := kept.FirstFailed.Time()
		p.FirstFailedAt = &first
	}
}

// chainOf returns what a run says about the runs before and after it.
func chainOf(s *engine.State) schema.Chain {
	c := schema.Chain{ContinuedFromRunID: s.Started.ContinuedFrom, NewRunID: s.Next(), CronSchedule: s.Started.Cron}
	if first := s.FirstRunID(); first != s.RunID {
		c.FirstRunID = first
	}
	if s.Reset != nil {
		c.ResetFromRunID = s.Reset.BaseRunID
	}
	if s.Started.Attempt > 1 {
		c.Attempt = s.Started.Attempt
	}
	return c
}

// stuckTask describes the task of a stuck run, without its retries.
func stuckTask(s *engine.State) *schema.StuckTask {
	streak, task := s.Streak, s.LastTask.Task
	stuck := &schema.StuckTask{
		Attempt: task.Attempt, Build: task.Build, Failure: task.Failure, UpdateID: task.FailedUpdate, Speculative: s.Refused() != nil,
		Since: streak.Since.Time(), Failures: streak.Commits, FirstFailure: streak.First,
	}
	if at, ok := where.OfStack(streak.First.Stack); ok {
		stuck.Place = at.Place()
	}
	return stuck
}

// countFailures adds the retries of the tasks that have failed since the run is stuck. The commit
// of a task is its first failure, and the record of its attempts has the number of the last one. A
// process that died between a retry and its record has left one out.
func countFailures(s *engine.State, stuck *schema.StuckTask, records map[int64]*attempts.Record) {
	for event, kept := range records {
		if event >= s.Streak.FirstEvent && kept.LastFailed > 1 {
			stuck.Failures += kept.LastFailed - 1
		}
	}
}
