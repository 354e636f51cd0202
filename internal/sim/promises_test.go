package sim

import (
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/api"
)

// Whether a moment needs a run of its own follows from the policy that the schedule has then, and not from the one it was created with.
func TestPolicyOfThePhase(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	for _, c := range []struct {
		name          string
		before, after api.Overlap
		excused       bool
	}{
		{"a change to a policy that waits", api.OverlapAllowAll, api.OverlapBufferAll, true},
		{"a change to one that does not", api.OverlapSkip, api.OverlapAllowAll, false},
		{"no change", api.OverlapAllowAll, api.OverlapAllowAll, false},
	} {
		l := &life{
			a: &audit{s: &simulation{}}, died: at(60), ran: []time.Time{at(0), at(20), at(31)},
			phases: []phase{
				{Schedule: api.Schedule{Overlap: c.before}, from: at(0), to: at(20)},
				{Schedule: api.Schedule{Overlap: c.after}, from: at(20)},
			},
			shifts: []*started{{at: at(10), from: at(10)}}, // open until the end
		}
		for i := range l.phases {
			l.phases[i].Spec.Intervals = []api.ScheduleInterval{{Every: api.Duration(10 * time.Minute)}}
		}
		if got := l.excused(&l.phases[1], at(30), at(30)); got != c.excused {
			t.Errorf("%s: excused is %v", c.name, got)
		}
	}
}

// A request that names no policy has the one that the schedule has then.
func TestPolicyOfARequest(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		before, after api.Overlap
		fails         int
	}{{api.OverlapAllowAll, api.OverlapSkip, 0}, {api.OverlapSkip, api.OverlapAllowAll, 1}} {
		s := &simulation{}
		l := &life{
			a: &audit{s: s},
			phases: []phase{
				{Schedule: api.Schedule{Overlap: c.before}, from: start, to: start.Add(time.Minute)},
				{Schedule: api.Schedule{Overlap: c.after}, from: start.Add(time.Minute)},
			},
			asked:  []request{{order: 2, at: start.Add(time.Hour)}},
			shifts: []*started{{order: 1, at: start, from: start}},
		}
		if l.checkAsked(); len(s.wrong) != c.fails {
			t.Errorf("from %q to %q: %q", c.before, c.after, s.wrong)
		}
	}
}
