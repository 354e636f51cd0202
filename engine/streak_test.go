package engine_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// After each prefix of a log, the streak is what the prefix says: its tasks that failed after the
// last one that did not, if the last commit leaves one to be retried.
func TestStreak(t *testing.T) {
	t.Parallel()
	found := false
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlay(t)
		log := p.on(t).Run.Log
		run := engine.NewRun("streak", 1)
		for i, c := range log {
			if err := run.Append(c, 0); err != nil {
				t.Fatal(err)
			}
			want := streakOf(log[:i+1])
			if got := run.State.Streak; !reflect.DeepEqual(got, want) {
				t.Fatalf("after slot %d: %+v, want %+v", i, got, want)
			}
			if (run.State.Streak != nil) != (run.State.Stuck() != nil) {
				t.Fatalf("after slot %d: %+v, and the run is stuck: %v", i, run.State.Streak, run.State.Stuck())
			}
			found = found || want != nil && want.Commits > 1
		}
	})
	if !found && !testing.Short() { // the short form plays a fifth of the runs, which may have none
		t.Error("no run was stuck for more than one task: the test tests nothing")
	}
}

// streakOf looks for the streak from the end of a log.
func streakOf(log []*history.Commit) (s *engine.Streak) {
	last := log[len(log)-1]
	if last.Pending != history.PendingRetry || last.Status.Closed() {
		return nil
	}
	commits := 0
	for i := len(log) - 1; i >= 0 && log[i].Pending == history.PendingRetry; i-- {
		if c := log[i]; c.Failed() {
			commits++
			s = &engine.Streak{Since: c.Time, First: c.Task.Failure, FirstEvent: c.TaskScheduledID(), Commits: commits}
		}
	}
	return s
}
