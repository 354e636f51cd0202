package engine

import (
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Streak is since when, and why, a run is stuck: its tasks have failed since then, and none has
// succeeded. It follows from the log, so that nothing more is stored.
type Streak struct {
	// Since is when the first of these tasks failed, and First is its failure.
	Since history.Timestamp
	First *failure.Failure
	// FirstEvent is the WorkflowTaskScheduled event of the first of these tasks. No code has issued
	// a command since: all records of attempts of this event and of later ones are of these tasks.
	FirstEvent int64
	// Commits is how many of these tasks are in the log. It leaves out their retries, and further
	// updates that failed in the same way, which add nothing to the log. Records of attempts count
	// the retries; nothing counts the updates.
	Commits int
}

// streakAfter folds in a commit: it begins a streak, continues it, or ends it. Commits without a
// task, such as fences, continue it, unless they pause the run or leave a task to be run.
func (s *State) streakAfter(c *history.Commit) {
	switch {
	case c.Status.Closed(), c.Pending == history.PendingPaused, c.Pending == history.PendingTask:
		s.Streak = nil
	case c.Task == nil:
	case c.Task.Failure == nil:
		s.Streak = nil
	case s.Streak == nil:
		s.Streak = &Streak{Since: c.Time, First: c.Task.Failure, FirstEvent: c.TaskScheduledID(), Commits: 1}
	default:
		next := *s.Streak
		next.Commits++
		s.Streak = &next
	}
}
