package sim

import (
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// maxSkew is how far the clock of a process may be from the true time: two clocks are at most twice that apart, which is what
// internal/turn allows for.
const maxSkew = 5 * time.Second

// clocksDiffer gives each process a clock of its own. The store and the queues keep the true time.
var clocksDiffer = newFault("clock: processes differ",
	"AWS Lambda Developer Guide, execution environment lifecycle: no bound is promised. A signature that is minutes old is refused, but the SDK corrects the "+
		"time that it signs with, so that clocks differ unnoticed.",
	0.4, 1)

// clockJumps sets the clock of a process, forwards or backwards, while it runs.
var clockJumps = newFault("clock: jump",
	"Amazon EC2 User Guide, Set the time reference: a clock is stepped if it is far off, and a microVM that was paused goes on with the time that it stopped at.",
	0.4, 0.002)

// clock is the time by the clock of a process.
func (s *simulation) clock(p *process) time.Time {
	if s.calm && p.skew > 0 {
		p.skew = 0 // what is due by a fast clock would come early for ever
	}
	if !p.set && s.hits(clocksDiffer) {
		p.skew = s.skew(clocksDiffer)
	}
	p.set = true
	if s.hits(clockJumps) {
		p.skew = s.skew(clockJumps)
	}
	return s.now.Add(p.skew)
}

// skew draws how far a clock is from the true time.
func (s *simulation) skew(f *fault) time.Duration {
	return time.Duration(s.of(f).Int64N(int64(2*maxSkew))) - maxSkew
}

// checkTime demands that the time does not go backwards in a run, nor in the run that continues it, whichever process writes.
func (a *audit) checkTime(run *engine.Run, c *history.Commit) {
	last := run.State.LastTime
	if started := c.Opens(); started != nil && started.ContinuedFrom != "" {
		for _, before := range a.runs[run.WorkflowID] {
			if before.State.RunID == started.ContinuedFrom {
				last = before.State.LastTime
			}
		}
	}
	if c.Time < last && c.Status != history.Void {
		a.s.fail("%s slot %d has the time %v, and the commit before it %v", c.RunID, c.Slot, c.Time.Time(), last.Time())
	}
}

// apart is how far two clocks may be apart in this simulation: what two processes wrote is ordered by time only beyond that.
func (s *simulation) apart() time.Duration {
	if !s.has(clocksDiffer) && !s.has(clockJumps) {
		return 0
	}
	return 2 * maxSkew
}
