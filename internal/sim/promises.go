package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
)

// checkSchedules demands of schedules what docs/schedules.md promises.
func (a *audit) checkSchedules() {
	families := a.families()
	for _, id := range a.schedules {
		for _, l := range a.lives(id) {
			l.checkMoments()
			l.checkMissing()
			l.checkAsked()
			l.checkAlone(families)
			l.checkEnding(families)
		}
	}
}

// mixed reports whether requests came with another policy than the schedule's.
func (l *life) mixed() bool {
	return slices.ContainsFunc(l.asked, func(r request) bool { return r.overlap != "" && r.overlap != l.policy() })
}

// policy is the overlap policy of the schedule, which does not change here.
func (l *life) policy() api.Overlap { return cmp.Or(l.phases[0].Overlap, api.OverlapSkip) }

// covered is how many requests there were for the runs of a time that has this moment.
func (l *life) covered(moment time.Time) (n int) {
	for _, r := range l.asked {
		n += oneIf(r.covers(moment))
	}
	return n
}

// looked is the first time at which the code ran when a moment had come.
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

// checkMoments demands that each run is of a moment of the schedule, at which it was not paused, or was asked for, that it begins no
// earlier, and not later than the catch-up window allows, and that no moment has two.
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
			l.fail("has started a run of %v at %v, which is none of its moments, or is too early", s.at, s.from)
			continue
		}
		p := l.phases[i]
		due := latestDue(p.Spec, s.at)
		if late := l.looked(due); p.CatchUpWindow > 0 && s.from.After(due) && late.Sub(due) > time.Duration(p.CatchUpWindow) && !l.busy(s, late, late) {
			l.fail("has started a run of %v at %v, later than its catch-up window of %v", s.at, s.from, time.Duration(p.CatchUpWindow))
		}
	}
	if triggered > triggers {
		l.fail("was triggered %d times, and has started %d runs", triggers, triggered)
	}
}

// checkMissing demands that each moment has a run at which the schedule was not paused, and which its policy and its catch-up
// window do not leave out.
func (l *life) checkMissing() {
	for _, p := range l.phases {
		until := p.to
		if until.IsZero() {
			until = l.ticked
			if soon := l.died.Add(-late); l.a.s.plan.purgeAfter == 0 && soon.After(until) {
				until = soon
			}
		}
		if p.Paused {
			continue
		}
		for _, m := range momentsOf(p.Spec, p.from, until) {
			if due := latestDue(p.Spec, m); !due.After(until) && !l.excused(&p, m, due) {
				l.fail("has started no run of %v", m)
			}
		}
	}
}

// excused reports whether a moment has its run, or need not have one.
func (l *life) excused(p *phase, m, due time.Time) bool {
	if l.covered(m) > 0 || slices.ContainsFunc(l.shifts, func(s *started) bool { return !s.triggered && s.at.Equal(m) }) {
		return true
	}
	looked := l.looked(due)
	if p.CatchUpWindow > 0 && looked.Sub(m) > time.Duration(p.CatchUpWindow) {
		return true
	}
	switch {
	case l.policy() == api.OverlapAllowAll:
		return false
	case l.mixed():
		return true
	case l.policy() == api.OverlapBufferAll:
		return l.busy(nil, l.died, l.died) // it was deleted while this waited
	}
	return l.busy(nil, m, looked)
}

// checkAsked demands that what was asked for is started at once where nothing is open, or may be.
func (l *life) checkAsked() {
	for _, r := range l.asked {
		i := slices.IndexFunc(l.phases, func(p phase) bool { return !r.at.Before(p.from) && (p.to.IsZero() || r.at.Before(p.to)) })
		if i < 0 {
			continue
		}
		begun := func(m time.Time) bool {
			return slices.ContainsFunc(l.shifts, func(s *started) bool {
				return s.from.Equal(r.at) && (s.triggered && m.IsZero() || !s.triggered && s.at.Equal(m))
			})
		}
		moments := []time.Time{{}}
		if !r.start.IsZero() {
			moments = momentsOf(l.phases[i].Spec, r.start.Add(-time.Microsecond), r.end)
		}
		idle := !slices.ContainsFunc(l.shifts, func(s *started) bool { return s.from.Before(r.at) && s.openAt(r.at, r.at) })
		for j, m := range moments {
			if (cmp.Or(r.overlap, l.policy()) == api.OverlapAllowAll || idle && j == 0) && !begun(m) {
				l.fail("was asked at %v for a run, of %v if that is a moment, and has not started it", r.at, m)
			}
		}
	}
}

// checkAlone demands that no two runs were open at once, unless they may be.
func (l *life) checkAlone(families map[string]*family) {
	if l.mixed() || l.policy() == api.OverlapAllowAll {
		return
	}
	for _, s := range l.shifts {
		for _, other := range l.shifts {
			f, g := families[s.request], families[other.request]
			if s == other || f.last == nil || g.last == nil {
				continue
			}
			begins := g.made[0].State.StartTime
			if begins >= f.made[0].State.StartTime && begins < f.last.State.CloseTime {
				l.fail("has a run of %v, open until %v, and at %v another begins, of %v", s.at, f.last.State.CloseTime.Time(), begins.Time(), other.at)
			}
		}
	}
}

// checkEnding demands that a run comes to its own end, also when the schedule has been deleted, unless another is to be in its
// place by the policy.
func (l *life) checkEnding(families map[string]*family) {
	if l.mixed() {
		return
	}
	ends := l.policy() == api.OverlapCancel || l.policy() == api.OverlapTerminate
	for _, s := range l.shifts {
		last := families[s.request].last
		if last == nil {
			continue
		}
		status := last.State.Status
		if !ends && (status == history.Canceled || status == history.Terminated) {
			l.fail("has a run of %v that is %s", s.at, status)
		}
		if !ends || status != history.Completed || l.a.s.plan.purgeAfter > 0 {
			continue
		}
		closed := last.State.CloseTime.Time()
		for _, p := range l.phases {
			until := p.to
			if until.IsZero() || until.After(closed.Add(-late)) {
				until = closed.Add(-late)
			}
			if came := momentsOf(p.Spec, maxTime(p.from, s.from), until); !p.Paused && p.CatchUpWindow == 0 && len(came) > 0 && l.died.After(closed) {
				l.fail("has a run of %v that ended at %v by itself, although %v had come", s.at, closed, came[0])
			}
		}
	}
}
