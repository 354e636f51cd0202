package attempts

import "github.com/seed-41655fb1/weft/engine"

// Counts returns how much work a run has caused: what its log says, and what the records say of
// attempts that are not in the log yet.
func Counts(run *engine.Run, records map[int64]*Record) engine.Counts {
	counts := run.State.Counts
	for event, kept := range records {
		switch a, streak := run.State.Activities[event], run.State.Streak; {
		case a != nil:
			counts.Failed(a.ActivityTaskScheduled, kept.LastFailed)
			if kept.Deadline != 0 {
				counts.Outside(a.ActivityTaskScheduled)
			}
		case streak != nil && event >= streak.FirstEvent:
			counts.Retried(max(kept.LastFailed-1, 0)) // a commit has the first failure
		}
	}
	return counts
}
