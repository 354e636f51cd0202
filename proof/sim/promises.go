package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// checkSchedules demands that schedules keep what docs/schedules.md promises.
func (a *audit) checkSchedules() {
	children := a.children()
	for _, id := range a.schedules {
		lives := a.lives(id)
		for _, l := range lives {
			l.checkMoments()
			l.checkMissing()
			l.checkAsked()
			l.checkAlone(children)
			l.checkEnding(children, lives)
		}
	}
}

// mixed reports whether requests had another policy than the schedule's, or the policy was changed.
// After a restore has brought a schedule back, its keeper may send it requests meant for its
// successor, and so change the policy.
func (l *life) mixed() bool {
	changed := slices.ContainsFunc(l.phases, func(p phase) bool { return p.Overlap != l.phases[0].Overlap })
	return changed || slices.ContainsFunc(l.asked, func(r request) bool { return r.overlap != "" && r.overlap != l.policy() })
}

// policy returns the overlap policy that the schedule was created with.
func (l *life) policy() stored.Overlap { return cmp.Or(l.phases[0].Overlap, stored.OverlapSkip) }

// covered returns how many requests for the runs of a time range include this moment.
func (l *life) covered(moment time.Time) (n int) {
	for _, r := range l.asked {
		n += oneIf(r.covers(moment))
	}
	return n
}

// looked returns the first time after a moment at which the code ran.
func (l *life) looked(due time.Time) time.Time {
	i := slices.IndexFunc(l.ran, func(t time.Time) bool { return !t.Before(due) })
	if i < 0 {
		return l.died
	}
	return l.ran[i]
}

// busy reports whether a run other than this one was open between two times.
func (l *life) busy(not *started, from, to time.Time) bool {
	return slices.ContainsFunc(l.shifts, func(s *started) bool { return s != not && s.openAt(from, to) })
}

// checkMoments demands the following:
//   - Each run was asked for, or belongs to a moment at which the schedule was not paused.
//   - The run begins no earlier than its moment, and no later than the catch-up window allows.
//   - No moment has two runs.
func (l *life) checkMoments() {
	runs, triggered, triggers := map[int64]int{}, 0, 0
	for _, r := range l.asked {
		triggers += oneIf(r.start.IsZero())
	}
	for _, s := range l.shifts {
		if s.triggered {
			triggered++
			continue
		}
		runs[s.at.Unix()]++
		covered := l.covered(s.at)
		if runs[s.at.Unix()] > 1+covered {
			l.fail("has started a run of %v twice", s.at)
		}
		if covered > 0 {
			continue
		}
		i := slices.IndexFunc(l.phases, func(p phase) bool {
			return !p.Paused && s.at.After(p.from) && (p.to.IsZero() || !s.at.After(p.to)) && isMoment(p.Spec, s.at)
		})
		if i < 0 || s.from.Before(s.at) {
			l.fail("has started a run of %v at %v, which is not one of its moments, or is too early", s.at, s.from)
			continue
		}
		p := l.phases[i]
		due := latestDue(p.Spec, s.at)
		if late := l.looked(due); p.CatchUpWindow > 0 && s.from.After(due) && late.Sub(due) > time.Duration(p.CatchUpWindow) && !l.busy(s, late, late) && !l.triggered(late, s.from) {
			l.fail("has started a run of %v at %v, later than its catch-up window of %v", s.at, s.from, time.Duration(p.CatchUpWindow))
		}
	}
	if triggered > triggers {
		l.fail("was triggered %d times, and has started %d runs", triggers, triggered)
	}
}

// triggered reports whether a run was triggered between the first task after a moment and the start
// of the moment's run. In that task a run was open when the schedule looked at the moment. Code may
// run without looking, for example because another run is asked to end.
func (l *life) triggered(from, to time.Time) bool {
	return slices.ContainsFunc(l.shifts, func(s *started) bool { return s.triggered && !s.decided.Before(from) && !s.decided.After(to) })
}

// checkMissing demands that each moment has a run, unless the schedule was paused, or its policy or
// its catch-up window leaves the moment out.
func (l *life) checkMissing() {
	for _, p := range l.phases {
		until := p.to
		if until.IsZero() {
			until = l.ticked
			if soon := l.died.Add(-late - l.a.s.outages.excuse); !l.a.s.lost() && soon.After(until) {
				until = soon
			}
		}
		if p.Paused {
			continue
		}
		for _, m := range momentsOf(p.Spec, p.from, until) {
			if due := latestDue(p.Spec, m); !due.After(until) && !l.excused(&p, m, due) && !l.stopped(&p, m) {
				l.fail("has started no run of %v", m)
			}
		}
	}
}

// atOnce is how many moments one task of a schedule decides. The next task follows a second later
// (internal/schedule/flow).
const atOnce = 100

// stopped reports whether a pause, a change or a deletion has left a moment out, because no task
// had looked at the moment shortly after an outage (docs/schedules.md).
func (l *life) stopped(p *phase, m time.Time) bool {
	end := p.to
	if end.IsZero() {
		end = l.died
	}
	later := func(s *started) bool {
		return !s.triggered && s.at.After(m) && !s.from.After(end) && l.covered(s.at) == 0
	}
	if slices.ContainsFunc(l.shifts, later) {
		return false
	}
	before := p.from
	for _, ran := range l.ran {
		if ran.After(end) {
			break
		}
		if ran.After(before) {
			if end.Sub(ran) < late && len(momentsOf(p.Spec, before, ran)) > atOnce {
				return true
			}
			before = ran
		}
	}
	return false
}

// excused reports whether a moment has its run or needs none.
func (l *life) excused(p *phase, m, due time.Time) bool {
	if l.covered(m) > 0 || slices.ContainsFunc(l.shifts, func(s *started) bool { return !s.triggered && s.at.Equal(m) }) {
		return true
	}
	looked := l.looked(due)
	if p.CatchUpWindow > 0 && looked.Sub(m) > time.Duration(p.CatchUpWindow) && !l.wasOpen(looked) {
		return true
	}
	switch {
	case l.behind(p, m, looked), l.waited(p, looked):
		return true
	case p.Overlap == stored.OverlapAllowAll:
		return false
	case l.mixed():
		return true
	case l.policy() == stored.OverlapBufferAll:
		// The schedule was deleted while it waited for the end of a run, or for its turn to reach
		// this moment. It also waits while it handles what has happened since, a part at a time.
		last := &l.phases[len(l.phases)-1]
		parts := func(t time.Time) bool { return l.behind(last, l.died, t) }
		return l.busy(nil, l.died, l.died) || l.behind(p, looked, looked) || slices.ContainsFunc(l.ran, parts)
	}
	gap := l.a.s.clockGap()
	return l.busy(nil, m.Add(-gap), looked.Add(gap))
}

// wasOpen reports whether the schedule certainly knew a run as open when its code ran at a time. A
// moment while a run is open is not late. A schedule whose runs may overlap does not know.
func (l *life) wasOpen(looked time.Time) bool {
	if l.mixed() || l.policy() == stored.OverlapAllowAll {
		return false
	}
	same := 0
	for _, t := range l.ran {
		same += oneIf(t.Equal(looked))
	}
	return same == 1 && slices.ContainsFunc(l.shifts, func(s *started) bool { return s.decided.Before(looked) && s.openAt(looked, looked) })
}

// behind reports whether a schedule was deleted or changed before it reached a moment. More moments
// had passed than one task decides. Afterwards its code ran too few times, each a second later, to
// reach this moment. It misses the moments that it has not reached by then.
func (l *life) behind(p *phase, m, looked time.Time) bool {
	end := p.to
	if end.IsZero() {
		end = l.died
	}
	earlier, tasks, next := len(momentsOf(p.Spec, l.ranBefore(p, looked), m))-1, 0, looked
	for _, t := range l.ran {
		if !t.Before(next) && t.Before(end) {
			tasks, next = tasks+1, t.Add(time.Second)
		}
	}
	return earlier >= atOnce*tasks && earlier >= atOnce
}

// waited reports whether a moment's run may have waited for the next task until the schedule was
// deleted. With small commits one task starts only a few of the runs that it has decided to start,
// and in a storm the next task may be long in coming.
func (l *life) waited(p *phase, looked time.Time) bool {
	const few = 10
	sim := l.a.s
	return sim.plan.maxCommit > 0 && (sim.plan.faults >= stormy || sim.disturbed() >= stormyCount) && len(momentsOf(p.Spec, l.ranBefore(p, looked), looked)) > few
}

// ranBefore returns when a schedule's code ran last before a time, or the beginning of the phase.
func (l *life) ranBefore(p *phase, looked time.Time) time.Time {
	before := p.from
	for _, t := range l.ran {
		if t.Before(looked) && t.After(before) {
			before = t
		}
	}
	return before
}

// checkAsked demands that requested runs start at once if no run is open, or runs may overlap.
func (l *life) checkAsked() {
	for _, r := range l.asked {
		begun := func(m time.Time) bool {
			return slices.ContainsFunc(l.shifts, func(s *started) bool {
				return s.startedAt(r.at) && (s.triggered && m.IsZero() || !s.triggered && s.at.Equal(m))
			})
		}
		moments := []time.Time{{}}
		if !r.start.IsZero() {
			moments = momentsOf(r.phase.Spec, r.start.Add(-time.Microsecond), r.end)
		}
		// Commits may have the same time if the clock of the later one's writer is behind. The
		// order in the log decides what was open.
		idle := !slices.ContainsFunc(l.shifts, func(s *started) bool { return s.order < r.order && s.keepsOthers(r.at) })
		for j, m := range moments {
			if (cmp.Or(r.overlap, r.phase.Overlap) == stored.OverlapAllowAll || idle && j == 0) && !begun(m) {
				l.fail("was asked at %v for a run, of %v if that is a moment, and has not started it", r.at, m)
			}
		}
	}
}

// checkAlone demands that no two runs were open at once, unless they may overlap.
func (l *life) checkAlone(children map[string]*childRecord) {
	if l.mixed() || l.policy() == stored.OverlapAllowAll {
		return
	}
	for _, s := range l.shifts {
		for _, other := range l.shifts {
			f, g := children[s.request], children[other.request]
			if s == other || f.last() == nil || g.last() == nil {
				continue
			}
			if when := l.a.s.restore.when; l.a.s.restore.ahead() && f.made[0].State.StartTime.Time().Before(when) {
				continue // the news of its end may have been in a queue that was ahead of the restored table
			}
			begins := g.made[0].State.StartTime
			gap := l.a.s.clockGap()
			if begins.Add(-gap) >= f.made[0].State.StartTime && begins.Add(gap) < f.last().State.CloseTime {
				l.fail("has a run of %v, open until %v, and at %v another begins, of %v", s.at, f.last().State.CloseTime.Time(), begins.Time(), other.at)
			}
		}
	}
}

// checkEnding demands that a run ends by itself, even after the schedule was deleted, unless the
// policy replaces the run by another. A run may also be ended if another schedule with the same id
// has a run of the same moment, because both have one workflow id.
func (l *life) checkEnding(children map[string]*childRecord, lives []*life) {
	if l.mixed() {
		return
	}
	ends := l.policy() == stored.OverlapCancel || l.policy() == stored.OverlapTerminate
	for _, s := range l.shifts {
		last := children[s.request].last()
		if last == nil {
			continue
		}
		status := last.State.Status
		twice := slices.ContainsFunc(lives, func(other *life) bool {
			return other != l && slices.ContainsFunc(other.shifts, func(o *started) bool { return o.at.Equal(s.at) })
		})
		if !ends && !twice && (status == history.Canceled || status == history.Terminated) {
			l.fail("has a run of %v that is %s", s.at, status)
		}
		if !ends || status != history.Completed || l.a.s.lost() {
			continue
		}
		closed := last.State.CloseTime.Time()
		for _, p := range l.phases {
			until, soon := p.to, closed.Add(-late-l.a.s.outages.excuse)
			if until.IsZero() || until.After(soon) {
				until = soon
			}
			came := momentsOf(p.Spec, maxTime(p.from, s.from), until)
			came = slices.DeleteFunc(came, func(m time.Time) bool { return latestDue(p.Spec, m).After(until) }) // their jitter may not have passed
			if !p.Paused && p.CatchUpWindow == 0 && len(came) > 0 && l.died.After(closed) {
				l.fail("has a run of %v that ended at %v by itself, although %v had come", s.at, closed, came[0])
			}
		}
	}
}
