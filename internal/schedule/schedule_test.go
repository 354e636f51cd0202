package schedule_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/schedule"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func ptr(t time.Time) *time.Time { return &t }

// The moments of a spec, from a given one on.
func TestNext(t *testing.T) {
	t.Parallel()
	hour := stored.Duration(time.Hour)
	for name, test := range map[string]struct {
		spec stored.Spec
		from string
		want []string
	}{
		"cron": {
			stored.Spec{Cron: []string{"30 9 * * 1-5"}},
			"2026-11-20T09:30:00Z",
			[]string{"2026-11-23T09:30:00Z", "2026-11-24T09:30:00Z"},
		},
		"several, each moment once": {
			stored.Spec{Cron: []string{"0 * * * *", "30 1 * * *"}, Intervals: []stored.Interval{{Every: hour}}},
			"2026-11-20T00:10:00Z",
			[]string{"2026-11-20T01:00:00Z", "2026-11-20T01:30:00Z", "2026-11-20T02:00:00Z"},
		},
		"an interval with an offset": {
			stored.Spec{Intervals: []stored.Interval{{Every: 6 * hour, Offset: hour}}},
			"2026-11-20T01:00:00Z",
			[]string{"2026-11-20T07:00:00Z", "2026-11-20T13:00:00Z"},
		},
		"before 1970": {
			stored.Spec{Intervals: []stored.Interval{{Every: 6 * hour, Offset: hour}}},
			"1969-12-31T12:00:00Z",
			[]string{"1969-12-31T13:00:00Z", "1969-12-31T19:00:00Z", "1970-01-01T01:00:00Z"},
		},
		"the night in which an hour is missing": {
			stored.Spec{Cron: []string{"30 3 * * *"}, TimeZone: "Europe/Berlin"},
			"2026-03-28T00:00:00Z",
			[]string{"2026-03-28T02:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T01:30:00Z"},
		},
		"the night in which an hour comes twice": {
			stored.Spec{Cron: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin"},
			"2026-10-24T00:00:00Z",
			[]string{"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		},
		"each hour of that night": {
			stored.Spec{Cron: []string{"30 * * * *"}, TimeZone: "Europe/Berlin"},
			"2026-10-25T00:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"},
		},
		"where half an hour comes twice": {
			stored.Spec{Cron: []string{"45 1 * * *"}, TimeZone: "Australia/Lord_Howe"},
			"2026-04-04T12:00:00Z",
			[]string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"},
		},
		"an expression's own time zone": {
			stored.Spec{Cron: []string{"CRON_TZ=Asia/Tokyo 0 9 * * *"}, TimeZone: "Europe/Berlin"},
			"2026-11-20T00:00:00Z",
			[]string{"2026-11-21T00:00:00Z"},
		},
		"from a start to an end, both included": {
			stored.Spec{Cron: []string{"0 0 * * *"}, StartAt: ptr(at("2026-11-22T00:00:00Z")), EndAt: ptr(at("2026-11-23T00:00:00Z"))},
			"2026-01-01T00:00:00Z",
			[]string{"2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z"},
		},
	} {
		s, err := schedule.Compile("s", test.spec)
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, m := range s.Coming(at(test.from), len(test.want)) {
			got = append(got, m.Format(time.RFC3339))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Jitter delays a moment by less than it says, never beyond the next, and by the same time on each
// call.
func TestJitter(t *testing.T) {
	t.Parallel()
	s, err := schedule.Compile("s", stored.Spec{Cron: []string{"* * * * *"}, Jitter: stored.Duration(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	different := map[time.Duration]bool{}
	for _, m := range s.Coming(at("2026-11-20T00:00:00Z"), 50) {
		by := s.Jittered(m).Sub(m)
		if by < 0 || by >= time.Minute || s.Jittered(m).Sub(m) != by {
			t.Errorf("%v is delayed by %v", m, by)
		}
		different[by] = true
	}
	if len(different) < 40 {
		t.Errorf("fifty moments are delayed by only %d different times", len(different))
	}
}

// Part returns the moments that have passed, and the one that follows them.
func TestMoments(t *testing.T) {
	t.Parallel()
	s, err := schedule.Compile("s", stored.Spec{Intervals: []stored.Interval{{Every: stored.Duration(time.Minute)}}})
	if err != nil {
		t.Fatal(err)
	}
	none := func(schedule.Moment) bool { return false }
	p := s.Part(at("2026-11-20T00:00:00Z"), at("2026-11-20T00:03:30Z"), math.MaxInt, none)
	if len(p.Due) != 3 || p.Passed != 0 || !p.Next.At.Equal(at("2026-11-20T00:04:00Z")) {
		t.Errorf("due are %+v", p)
	}
	for most, want := range map[int]int{100: 100, math.MaxInt: 1000} {
		p = s.Part(at("2026-11-20T00:00:00Z"), at("2026-11-30T00:00:00Z"), most, none)
		if len(p.Due) != want || !p.Next.At.Equal(p.Due[want-1].At.Add(time.Minute)) {
			t.Errorf("at most %d: %d are due at once, and then %v", most, len(p.Due), p.Next)
		}
	}
	old := func(m schedule.Moment) bool { return m.At.Before(at("2026-11-20T12:00:00Z")) }
	p = s.Part(at("2026-11-20T00:00:00Z"), at("2026-11-30T00:00:00Z"), 5, old)
	if p.Passed != 719 || !p.Last.Equal(at("2026-11-20T11:59:00Z")) || len(p.Due) != 5 || !p.Due[0].At.Equal(at("2026-11-20T12:00:00Z")) {
		t.Errorf("with some passed over: %+v", p)
	}
	if all, more := s.Between(at("2026-11-20T00:01:00Z"), at("2026-11-20T00:03:00Z")); len(all) != 3 || more {
		t.Errorf("%v, %v", all, more)
	}
	if all, more := s.Between(at("2026-11-20T00:00:00Z"), at("2026-11-30T00:00:00Z")); len(all) != 1000 || !more {
		t.Errorf("%d, %v", len(all), more)
	}
}

// An invalid schedule is refused with what to do.
func TestCheck(t *testing.T) {
	t.Parallel()
	good := stored.Spec{Cron: []string{"@daily"}}
	action := stored.Action{Type: "report"}
	for want, s := range map[string]*stored.Schedule{
		"is missing":         nil,
		"no moments":         {Action: action},
		"cannot be read":     {Action: action, Spec: stored.Spec{Cron: []string{"now"}}},
		"names a day":        {Action: action, Spec: stored.Spec{Cron: []string{"@daily", "0 0 31 2 *"}}},
		"below a second":     {Action: action, Spec: stored.Spec{Cron: []string{"@every -5m"}}},
		"no time zone":       {Action: action, Spec: stored.Spec{Cron: []string{"@daily"}, TimeZone: "Mars/Phobos"}},
		"shorter than":       {Action: action, Spec: stored.Spec{Intervals: []stored.Interval{{}}}},
		"jitter is negative": {Action: action, Spec: stored.Spec{Cron: []string{"@daily"}, Jitter: -1}},
		"ends before":        {Action: action, Spec: stored.Spec{Cron: []string{"@daily"}, StartAt: ptr(at("2026-01-02T00:00:00Z")), EndAt: ptr(at("2026-01-01T00:00:00Z"))}},
		"more than 100":      {Action: action, Spec: stored.Spec{Cron: make([]string, 101)}},
		"room for a moment":  {Action: stored.Action{Type: "report", WorkflowID: strings.Repeat("x", 216)}, Spec: good},
		"at position 2":      {Action: stored.Action{Type: "report", WorkflowID: "a/b"}, Spec: good},
		"has no type":        {Spec: good},
		"retryPolicy":        {Action: stored.Action{Type: "report", Retry: &stored.Retry{MaximumAttempts: -1}}, Spec: good},
		"time of the":        {Action: action, Spec: good, CatchUpWindow: -1},
		"no overlapPolicy":   {Action: action, Spec: good, Overlap: "all"},
	} {
		if err := schedule.Check("s", s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	for want, id := range map[string]string{"is empty": "", "room for a moment": strings.Repeat("x", 216), "at position 2": "a b"} {
		if err := schedule.Check(id, &stored.Schedule{Action: action, Spec: good}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	action.WorkflowID = strings.Repeat("x", 215)
	good.Cron = append(good.Cron, "0 0 29 2 *")
	if err := schedule.Check("s", &stored.Schedule{Action: action, Spec: good, Overlap: stored.OverlapBufferAll}); err != nil {
		t.Error(err)
	}
}

// The machine's decisions for runs that arrive (a, b, c, each with a policy) while others are open.
// A dot is the end of one.
func TestOverlap(t *testing.T) {
	t.Parallel()
	policies := map[byte]stored.Overlap{
		's': stored.OverlapSkip, 'o': stored.OverlapBufferOne, 'b': stored.OverlapBufferAll, 'a': stored.OverlapAllowAll,
		'c': stored.OverlapCancel, 't': stored.OverlapTerminate,
	}
	for steps, want := range map[string]string{
		"s s s . s":   "+1 - - . +5; skipped 2",
		"o o o . .":   "+1 - - .+2 .; skipped 1",
		"b b b . . .": "+1 - - .+2 .+3 .; skipped 0",
		"a a . a":     "+1 +2 . +4; skipped 0",
		"c c . .":     "+1 cancel .+2 .; skipped 0",
		"c c c . .":   "+1 cancel - .+3 .; skipped 1",
		"s t . .":     "+1 terminate .+2 .; skipped 0",
		"c c t . .":   "+1 cancel terminate .+3 .; skipped 1",
		"a a s . . s": "+1 +2 - . . +6; skipped 1",
		"a a b . .":   "+1 +2 - . .+3; skipped 0",
		"b b s . s":   "+1 - - .+2 -; skipped 2",
		"":            "; skipped 0",
	} {
		m, got := schedule.Machine{}, []string{}
		for i, step := range strings.Fields(steps) {
			var d schedule.Decision
			text := "-"
			if step == "." {
				d, text = m.Closed(), "."
			} else {
				d = m.Arrive(stored.Run{At: time.Unix(int64(i)+1, 0), Overlap: policies[step[0]]})
			}
			switch {
			case d.Cancel:
				text = "cancel"
			case d.Terminate:
				text = "terminate"
			case len(d.Start) > 0:
				text = strings.TrimPrefix(text, "-") + fmt.Sprintf("+%d", d.Start[0].At.Unix())
			}
			got = append(got, text)
		}
		if text := fmt.Sprintf("%s; skipped %d", strings.Join(got, " "), m.Skipped); text != want {
			t.Errorf("%s: %s, want %s", steps, text, want)
		}
	}
}
