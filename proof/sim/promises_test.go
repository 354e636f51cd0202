package sim

import (
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// Whether a moment needs a run depends on the schedule's policy at that time, not on the policy at
// its creation.
func TestPolicyOfThePhase(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	for _, c := range []struct {
		name          string
		before, after stored.Overlap
		excused       bool
	}{
		{"a change to a policy that waits", stored.OverlapAllowAll, stored.OverlapBufferAll, true},
		{"a change to one that does not", stored.OverlapSkip, stored.OverlapAllowAll, false},
		{"no change", stored.OverlapAllowAll, stored.OverlapAllowAll, false},
	} {
		l := &life{
			a: &audit{s: &simulation{}}, died: at(60), ran: []time.Time{at(0), at(20), at(31)},
			phases: []phase{
				{Schedule: stored.Schedule{Overlap: c.before}, from: at(0), to: at(20)},
				{Schedule: stored.Schedule{Overlap: c.after}, from: at(20)},
			},
			shifts: []*started{{at: at(10), from: at(10)}}, // open until the end
		}
		for i := range l.phases {
			l.phases[i].Spec.Intervals = []stored.Interval{{Every: stored.Duration(10 * time.Minute)}}
		}
		if got := l.excused(&l.phases[1], at(30), at(30)); got != c.excused {
			t.Errorf("%s: excused is %v", c.name, got)
		}
	}
}

// accepts adds an accepted update to a schedule's log.
func accepts(l *life, at time.Time, name string, input any) {
	l.event(0, at, history.Event{Attributes: &history.WorkflowExecutionUpdateAccepted{UpdateName: name, Input: history.Payload(encoded(input))}})
}

// A request without a policy has the schedule's policy at that time.
func TestPolicyOfARequest(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		before, after stored.Overlap
		fails         int
	}{{stored.OverlapAllowAll, stored.OverlapSkip, 0}, {stored.OverlapSkip, stored.OverlapAllowAll, 1}} {
		s := &simulation{}
		l := &life{
			a:      &audit{s: s},
			phases: []phase{{Schedule: stored.Schedule{Overlap: c.before}, from: start}},
			shifts: []*started{{at: start, from: start}},
		}
		accepts(l, start.Add(time.Minute), stored.UpdateChange, stored.Change{Schedule: &stored.Schedule{Overlap: c.after}})
		accepts(l, start.Add(time.Hour), stored.UpdateTrigger, stored.Trigger{})
		if l.checkAsked(); len(s.wrong) != c.fails {
			t.Errorf("from %q to %q: %q", c.before, c.after, s.wrong)
		}
	}
}

// A run whose start had to wait for the next task counts as open for everything that happened
// before that task.
func TestRunsThatWaitForTheNextTask(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	for _, c := range []struct {
		point, fails int
	}{{1, 0}, {0, 1}} {
		s := &simulation{}
		l := &life{
			id: "s", a: &audit{s: s}, open: map[int64]*started{},
			phases: []phase{{Schedule: stored.Schedule{Overlap: stored.OverlapBufferOne}, from: start}},
		}
		l.event(7, at(20), history.Event{Attributes: &history.TimerStarted{Point: c.point}})
		l.event(8, at(25), history.Event{Attributes: &history.WorkflowExecutionUpdateAccepted{UpdateName: stored.UpdateTrigger, Input: history.Payload("{}")}})
		l.event(9, at(30), history.Event{Attributes: &history.TimerFired{StartedEventID: 7}})
		l.event(10, at(30), history.Event{Attributes: &history.StartChildWorkflowExecutionInitiated{WorkflowID: "s-2026-11-21T10:20:00Z"}})
		if l.checkAsked(); len(s.wrong) != c.fails {
			t.Errorf("point %d: %q", c.point, s.wrong)
		}
	}
}

// A run that has ended keeps others from starting while the schedule handles the moments that
// passed meanwhile, a part at a time.
func TestRunsWhoseEndIsNotCounted(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for _, c := range []struct {
		pause, asked, fails int
	}{{1, 20, 0}, {1, 22, 1}, {600, 20, 1}} {
		s := &simulation{}
		l := &life{
			id: "s", a: &audit{s: s}, open: map[int64]*started{},
			phases: []phase{{Schedule: stored.Schedule{Overlap: stored.OverlapBufferOne}, from: start}},
		}
		event := func(id int64, when time.Time, e history.Attributes) { l.event(id, when, history.Event{Attributes: e}) }
		event(5, at(0), &history.StartChildWorkflowExecutionInitiated{WorkflowID: "s-2026-11-21T10:00:00Z"})
		event(8, at(19), &history.ChildWorkflowExecutionCompleted{InitiatedEventID: 5})
		event(9, at(19), &history.TimerStarted{FireAt: history.At(at(19 + c.pause))})
		asked := &history.WorkflowExecutionUpdateAccepted{UpdateName: stored.UpdateTrigger, Input: history.Payload("{}")}
		if c.asked == 20 {
			event(10, at(20), asked)
		}
		event(12, at(21), &history.TimerFired{StartedEventID: 9})
		if c.asked == 22 {
			event(13, at(22), asked)
		}
		if l.checkAsked(); len(s.wrong) != c.fails {
			t.Errorf("%+v: %q", c, s.wrong)
		}
	}
}

// If the clock goes back, a request and the changes before and after it may have the same time. The
// request is for the moments of the schedule that it met.
func TestRequestsAndChangesOfOneTime(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	everyTen := stored.Spec{Intervals: []stored.Interval{{Every: stored.Duration(10 * time.Minute)}}}
	for _, c := range []struct {
		run   string
		fails int
	}{{"s-2026-11-21T10:10:00Z", 0}, {"s-2026-11-21T10:15:00Z", 1}} {
		s := &simulation{}
		l := &life{
			id: "s", a: &audit{s: s}, open: map[int64]*started{},
			phases: []phase{{Schedule: stored.Schedule{Spec: everyTen}, from: start}},
		}
		accepts(l, start, stored.UpdateBackfill, stored.Backfill{StartAt: start.Add(5 * time.Minute), EndAt: start.Add(15 * time.Minute)})
		l.event(7, start, history.Event{Attributes: &history.StartChildWorkflowExecutionInitiated{WorkflowID: c.run}})
		everyFive := stored.Spec{Intervals: []stored.Interval{{Every: stored.Duration(5 * time.Minute)}}}
		accepts(l, start, stored.UpdateChange, stored.Change{Schedule: &stored.Schedule{Spec: everyFive}})
		if l.checkAsked(); len(s.wrong) != c.fails {
			t.Errorf("%+v: %q", c, s.wrong)
		}
	}
}
