package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

var timerTests = []test{
	{"what was put is due", timerPut},
	{"the same one twice is once", timerTwice},
	{"the bound is exclusive", timerBound},
	{"the earliest come first", timerOrder},
	{"the limit", timerLimit},
	{"delete, also what is not there", timerDelete},
	{"bodies and ids come back", timerValues},
	{"many in parallel", timerParallel},
}

func (f *fixture) putTimers(timers ...store.Timer) {
	f.Helper()
	if err := f.store.PutTimers(f.Context(), timers); err != nil {
		f.Errorf("PutTimers: %v", err)
	}
}

func (f *fixture) deleteTimers(timers ...store.Timer) {
	f.Helper()
	if err := f.store.DeleteTimers(f.Context(), timers); err != nil {
		f.Errorf("DeleteTimers: %v", err)
	}
}

// due reads timers and checks what holds for every result.
func (f *fixture) due(before time.Time, limit int) []store.Timer {
	f.Helper()
	timers, err := f.store.DueTimers(f.Context(), before, limit)
	if err != nil {
		f.Fatalf("DueTimers: %v", err)
	}
	if len(timers) > limit {
		f.Errorf("%d timers, the limit was %d", len(timers), limit)
	}
	if !slices.IsSortedFunc(timers, func(a, b store.Timer) int { return a.Due.Compare(b.Due) }) {
		f.Errorf("the earliest do not come first: %v", names(timers))
	}
	for _, t := range timers {
		if !t.Due.Before(before) {
			f.Errorf("timer %s is due at %v, which is not before %v", t.ID, t.Due, before)
		}
	}
	return timers
}

// hasTimers demands that exactly these timers exist.
func (f *fixture) hasTimers(want ...store.Timer) {
	f.Helper()
	f.sameTimers(f.due(f.now.AddDate(1, 0, 0), len(want)+10), want...)
}

// sameTimers compares timers; the order of those due at the same moment does not count.
func (f *fixture) sameTimers(got []store.Timer, want ...store.Timer) {
	f.Helper()
	byDue := func(a, b store.Timer) int {
		if c := a.Due.Compare(b.Due); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	}
	got, want = slices.Clone(got), slices.Clone(want)
	slices.SortFunc(got, byDue)
	slices.SortFunc(want, byDue)
	if !slices.EqualFunc(got, want, func(a, b store.Timer) bool {
		return a.ID == b.ID && a.Due.Equal(b.Due) && bytes.Equal(a.Body, b.Body)
	}) {
		f.Errorf("timers %v\nwant   %v", names(got), names(want))
	}
}

func names(timers []store.Timer) []string {
	var n []string
	for _, t := range timers {
		n = append(n, fmt.Sprintf("%s at %s: %s", t.ID, t.Due.Format(time.RFC3339Nano), brief(t.Body)))
	}
	return n
}

// timer returns a timer that is due some time from now.
func (f *fixture) timer(id string, in time.Duration) store.Timer {
	return store.Timer{ID: id, Due: f.now.Add(in), Body: []byte("wake " + id)}
}

func timerPut(f *fixture) {
	f.hasTimers()
	f.putTimers()
	one, two := f.timer("one", time.Minute), f.timer("two", 2*time.Hour)
	f.putTimers(one)
	f.putTimers(two)
	f.hasTimers(one, two)
	f.hasTimers(one, two) // a read removes nothing
	three, four := f.timer("three", 300*24*time.Hour), f.timer("four", -time.Minute)
	f.putTimers(three, four)
	f.hasTimers(one, two, three, four)
}

func timerTwice(f *fixture) {
	one := f.timer("one", time.Minute)
	same, later := f.timer("two", time.Minute), f.timer("one", time.Minute+time.Microsecond)
	f.putTimers(one)
	f.putTimers(one)
	f.putTimers(one, same, later)
	f.hasTimers(one, same, later)
	f.deleteTimers(one)
	f.hasTimers(same, later)
}

func timerBound(f *fixture) {
	one := f.timer("one", time.Minute)
	f.putTimers(one)
	f.sameTimers(f.due(one.Due.Add(-time.Microsecond), 10))
	f.sameTimers(f.due(one.Due, 10))
	f.sameTimers(f.due(one.Due.Add(time.Microsecond), 10), one)
	f.sameTimers(f.due(one.Due.Add(time.Microsecond).In(time.FixedZone("east", 3600)), 10), one)
}

func timerOrder(f *fixture) {
	steps := []time.Duration{
		-time.Hour, -time.Minute, 0, time.Microsecond, time.Millisecond, time.Second, 59 * time.Second, time.Minute,
		61 * time.Second, 10 * time.Minute, time.Hour, 24 * time.Hour, 48 * time.Hour,
	}
	var timers []store.Timer
	for i := range steps {
		at := (i * 5) % len(steps)
		timers = append(timers, f.timer(fmt.Sprint(len(steps)-at), steps[at]))
	}
	f.putTimers(timers...)
	slices.SortFunc(timers, func(a, b store.Timer) int { return a.Due.Compare(b.Due) })
	for i, t := range timers {
		f.sameTimers(f.due(t.Due, len(timers)), timers[:i]...)
	}
}

func timerLimit(f *fixture) {
	var timers []store.Timer
	for i := range 25 {
		timers = append(timers, f.timer(fmt.Sprint(i), time.Duration(i)*7*time.Second))
	}
	f.putTimers(timers...)
	end := f.now.Add(time.Hour)
	for _, limit := range []int{1, 3, 24, 25, 26} {
		f.sameTimers(f.due(end, limit), timers[:min(limit, len(timers))]...)
	}
	for left := timers; len(left) > 0; {
		due := f.due(end, 4)
		f.sameTimers(due, left[:min(4, len(left))]...)
		f.deleteTimers(due...)
		left = left[min(4, len(left)):]
	}
	f.hasTimers()
}

func timerDelete(f *fixture) {
	one, two, three := f.timer("one", 0), f.timer("two", 0), f.timer("three", time.Hour)
	f.putTimers(one, two, three)
	f.hasTimers(one, two, three)
	f.deleteTimers()
	f.deleteTimers(two)
	f.hasTimers(one, three)
	f.deleteTimers(two)
	f.deleteTimers(f.timer("never", time.Hour), two, three)
	f.hasTimers(one)
	f.deleteTimers(one, one)
	f.hasTimers()
	f.putTimers(one)
	f.hasTimers(one)
}

func timerValues(f *fixture) {
	var timers []store.Timer
	for i, id := range ids {
		timers = append(timers, store.Timer{ID: id, Due: f.now, Body: bytesOf(i, i*i*100)})
	}
	f.putTimers(timers...)
	f.hasTimers(timers...)
	for _, t := range timers {
		f.deleteTimers(t)
	}
	f.hasTimers()
}

func timerParallel(f *fixture) {
	const writers, each = 8, 10
	var all []store.Timer
	for i := range writers * each {
		all = append(all, f.timer(fmt.Sprint(i), time.Duration(i%7)*time.Minute))
	}
	parallel(writers, func(i int) {
		if err := f.store.PutTimers(f.Context(), all[i*each:(i+1)*each]); err != nil {
			f.Errorf("PutTimers: %v", err)
		}
	})
	f.hasTimers(all...)
	parallel(writers, func(i int) {
		if err := f.store.DeleteTimers(f.Context(), all[i*each:(i+1)*each]); err != nil {
			f.Errorf("DeleteTimers: %v", err)
		}
	})
	f.hasTimers()
}
