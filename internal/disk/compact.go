package disk

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// scheduler lets one compaction of the tables run at a time, and none for a while after one that failed. Pebble would try again at once and
// without end.
//
// Nothing looks every 100 ms whether more compactions are allowed, which an idle server would pay for: always one is.
type scheduler struct {
	*pebble.ConcurrencyLimitScheduler
	pause  time.Duration // after the last compaction; 0 if it did not fail. Pebble's lock guards it
	paused atomic.Bool
	over   *time.Timer // calls goOn
}

func newScheduler() *scheduler {
	s := &scheduler{ConcurrencyLimitScheduler: pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()}
	s.over = stopped(s.goOn)
	return s
}

// Register takes the database whose compactions it schedules.
func (s *scheduler) Register(goroutines int, db pebble.DBForCompaction) {
	s.ConcurrencyLimitScheduler.Register(goroutines, pausing{db, s})
}

// ended takes the result of a compaction. Pebble calls it while holding its lock.
func (s *scheduler) ended(err error) {
	if err == nil {
		s.pause = 0
		return
	}
	s.pause = longer(s.pause)
	s.paused.Store(true)
	s.over.Reset(s.pause)
}

// goOn ends a pause.
func (s *scheduler) goOn() {
	s.paused.Store(false)
	if free, one := s.TrySchedule(); free {
		one.Done() // which begins the compaction that waits
	}
}

// pausing is the database during a pause, in which it may run no compaction.
type pausing struct {
	pebble.DBForCompaction
	s *scheduler
}

// GetAllowedWithoutPermission returns how many compactions may run.
func (p pausing) GetAllowedWithoutPermission() int {
	if p.s.paused.Load() {
		return 0
	}
	return p.DBForCompaction.GetAllowedWithoutPermission()
}

// longer is the pause after one more failure.
func longer(pause time.Duration) time.Duration { return min(max(2*pause, tablesPause), longestPause) }
