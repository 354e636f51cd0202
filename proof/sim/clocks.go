package sim

import (
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// maxSkew is how far the clock of a process may be from the true time. Two clocks differ by at most
// twice that, for which internal/executor allows.
const maxSkew = 5 * time.Second

// clocksDiffer gives each process a clock of its own. The store and the queues keep the true time.
var clocksDiffer = newFault("clock: processes differ",
	"AWS Lambda Developer Guide, execution environment lifecycle: no bound is promised. A signature that is minutes old is refused, but the SDK corrects the "+
		"time that it signs with, so that clocks differ unnoticed.",
	0.4, 1)

// clockJumps sets the clock of a process forwards or backwards while the process runs.
var clockJumps = newFault("clock: jump",
	"Amazon EC2 User Guide, Set the time reference: a clock is stepped if it is far off, and a microVM that was paused goes on with the time that it stopped at.",
	0.4, 0.002)

// The long outages of a clock (docs/semantics.md). Each happens once in a seed, at a step of its
// own.
var (
	// asleep stops everything for a long time. No process dies, and each continues with its memory
	// and its current work.
	asleep = newFault("clock: everything slept",
		"AWS Lambda Developer Guide, execution environment lifecycle: an environment is frozen between invocations, and goes on later with what it has in memory. "+
			"A laptop that sleeps does the same to the local server.", 0.08, 1)
	// setBack sets the clocks of all processes back by an hour, for good. The store and the queues
	// keep the true time.
	setBack = newFault("clock: all go back",
		"Amazon EC2 User Guide, Set the time reference: a clock is stepped if it is far off. On one machine that is the clock of all processes.", 0.08, 1)
	// behind sets the clock of one of several processes an hour behind those of the others. When
	// that process has ended, another may take the role over.
	behind = newFault("clock: one process is an hour behind",
		"AWS Lambda Developer Guide, execution environment lifecycle: no bound is promised, and each environment has a clock of its own. A host whose time is "+
			"wrong by an hour, by a mistake about summer time, serves beside others.", 0.08, 0.02)
)

// back is how far setBack sets the clocks back, and how far the clock of a single process may be
// behind.
const back = time.Hour

// moves says when the clocks of a seed are moved.
type moves struct {
	sleepAt, backAt, behindAt int // steps; 0 means never
	sleep                     time.Duration
	slept                     int           // the step at which everything slept; 0 means not yet
	back                      time.Duration // how far the clocks are set back at present
}

// planMoves draws the moves of a seed.
func (s *simulation) planMoves() {
	if r := s.of(asleep); s.has(asleep) {
		s.moves.sleepAt = 20 + r.IntN(500*s.plan.most)
		s.moves.sleep = []time.Duration{time.Hour, 26 * time.Hour, 7 * 24 * time.Hour}[r.IntN(3)]
	}
	if r := s.of(setBack); s.has(setBack) {
		s.moves.backAt = 20 + r.IntN(500*s.plan.most)
	}
	// A message of a pinned run whose only process is behind would be postponed by the other
	// build's process, again and again.
	if r := s.of(behind); s.has(behind) && s.plan.processes > 1 && !s.plan.pinned {
		s.moves.behindAt = 20 + r.IntN(300*s.plan.most)
		s.outages.excuse += back
	}
}

// moveClocks moves the clocks that are due at this step.
func (s *simulation) moveClocks() {
	m := &s.moves
	if !s.calm && m.sleepAt > 0 && s.steps >= m.sleepAt {
		m.sleepAt, m.slept = 0, s.steps
		s.happens(asleep)
		s.log("everything sleeps for %v", m.sleep)
		s.now, s.lurched = s.now.Add(m.sleep), s.lurched+m.sleep
		s.outages.excuse += m.sleep
	}
	if !s.calm && m.backAt > 0 && s.steps >= m.backAt {
		m.backAt, m.back = 0, back
		s.happens(setBack)
		s.log("all clocks go back by %v", back)
		s.outages.excuse += back
	}
	if m.behindAt > 0 && s.steps >= m.behindAt && !slices.ContainsFunc(s.processes, func(p *process) bool { return p.behind > 0 }) && s.hits(behind) {
		p := s.processes[s.of(behind).IntN(len(s.processes))]
		p.behind = back
		s.log("the clock of process %d is behind by %v", p.number, back)
	}
}

// clock returns the time by the clock of a process.
func (s *simulation) clock(p *process) time.Time {
	if s.calm && p.skew > 0 {
		p.skew = 0 // a fast clock would always be early
	}
	if !p.set && s.hits(clocksDiffer) {
		p.skew = s.skew(clocksDiffer)
	}
	p.set = true
	if s.hits(clockJumps) {
		p.skew = s.skew(clockJumps)
	}
	return s.now.Add(p.skew - p.behind - s.moves.back)
}

// skew draws how far a clock is from the true time.
func (s *simulation) skew(f *fault) time.Duration {
	return time.Duration(s.of(f).Int64N(int64(2*maxSkew))) - maxSkew
}

// checkTime demands that time does not go backwards in a run, nor in the run that continues it,
// whichever process writes. It also demands that no timer fires early by that time.
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
	if c.FromReset() {
		return // a timer of the earlier run may have been rewritten
	}
	for _, e := range c.InputEvents {
		fired, ok := e.Attributes.(*history.TimerFired)
		if timer := run.State.Timers[history.ResolutionOf(e.Attributes).Timer]; ok && timer != nil && c.Time < timer.FireAt {
			a.s.fail("%s: the timer of event %d is due at %v, and fires at %v", c.RunID, fired.StartedEventID, timer.FireAt.Time(), c.Time.Time())
		}
	}
}

// clockGap returns how far the clocks of two processes may differ in this simulation. Times from
// two processes are ordered only if they differ by more.
func (s *simulation) clockGap() time.Duration {
	var all time.Duration
	if s.has(setBack) {
		all = back
	}
	if s.moves.behindAt > 0 {
		all += back
	}
	if s.has(clocksDiffer) || s.has(clockJumps) {
		all += 2 * maxSkew
	}
	return all
}
