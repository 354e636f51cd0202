package requests

import (
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bill"
)

// The pauses of callers, by what their runs wait for.
func TestPauseFor(t *testing.T) {
	t.Parallel()
	const ms, s, m = time.Millisecond, time.Second, time.Minute
	now := history.At(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC))
	at := func(e expects, in time.Duration) outlook { return outlook{e, now.Add(in)} }
	moment := func(in time.Duration) outlook { return at(expectsMoment, in) }
	retry := func(in time.Duration) outlook { return at(expectsRetry, in) }
	for _, c := range []struct {
		what     string
		outlook  outlook
		waited   time.Duration
		watching bool
		want     time.Duration
	}{
		{"news, at once", outlook{}, 0, false, 250 * ms},
		{"news, after 0.5 s", outlook{}, 500 * ms, false, 250 * ms},
		{"news, after 1.5 s", outlook{}, 1500 * ms, false, 750 * ms},
		{"news, after 1.9999 s, in whole milliseconds", outlook{}, 1999900 * time.Microsecond, false, 1000 * ms},
		{"news, after 2 s", outlook{}, 2 * s, false, s},
		{"news, after 8 s", outlook{}, 8 * s, false, s},
		{"news, after a minute", outlook{}, m, false, 7500 * ms},
		{"news, after an hour", outlook{}, time.Hour, false, m},
		{"a moment in 10 ms", moment(10 * ms), time.Hour, false, 260 * ms},
		{"a moment in 100 s", moment(100 * s), 0, false, 100*s + 250*ms},
		{"a moment in 299.9 s", moment(299900 * ms), 0, false, 5 * m},
		{"a moment in a day", moment(24 * time.Hour), 0, false, 5 * m},
		{"a moment that is now", moment(0), time.Hour, false, 500 * ms},
		{"a moment 0.2 s ago", moment(-200 * ms), time.Hour, false, 500 * ms},
		{"a moment 10 s ago", moment(-10 * s), 0, false, 5 * s},
		{"a moment an hour ago", moment(-time.Hour), 0, false, m},
		{"a retry in 20 s", retry(20 * s), time.Hour, false, 20*s + 250*ms},
		{"a retry in 5 minutes", retry(5 * m), 0, false, m},
		{"a retry a minute ago", retry(-m), 0, false, 30 * s},
		{"paused, at once", outlook{expects: expectsOperator}, 0, false, 5 * s},
		{"paused, after 2 minutes", outlook{expects: expectsOperator}, 2 * m, false, 15 * s},
		{"paused, after a day", outlook{expects: expectsOperator}, 24 * time.Hour, false, m},
		{"a reader, at once", outlook{}, 0, true, 250 * ms},
		{"a reader, after a minute", outlook{}, m, true, 5 * s},
		{"a reader of a run with a moment in a day", moment(24 * time.Hour), m, true, 5 * s},
	} {
		if got := pauseFor(c.outlook, now, c.waited, c.watching); got != c.want {
			t.Errorf("%s: the pause is %v, want %v", c.what, got, c.want)
		}
	}
	for waited, want := range map[time.Duration]time.Duration{0: 2 * s, 24 * s: 3 * s, time.Hour: 5 * s} {
		if got := pauseReaderOfList(time.Time{}, waited); got != want {
			t.Errorf("a reader of the list, after %v: the pause is %v, want %v", waited, got, want)
		}
	}
}

// The bill of a month has the requests that callers send who wait, and how long they are held.
func TestWaitsOfTheBill(t *testing.T) {
	t.Parallel()
	const hold = 250 * time.Millisecond
	for _, wait := range []time.Duration{1, hold, hold + 1, time.Second, time.Minute, 480 * time.Second, time.Hour, 72 * time.Hour} {
		requests, waited := 1.0, min(wait, hold)
		for ; waited < wait; requests++ {
			waited += pauseFor(outlook{}, 0, waited, false)
		}
		without, with := bill.Of(bill.Workload{Runs: 1}, bill.Default()), bill.Of(bill.Workload{Runs: 1, Waited: wait.Seconds()}, bill.Default())
		if got := with.Requests - without.Requests; got != requests {
			t.Errorf("%v: %v requests in the bill, and callers send %v", wait, got, requests)
		}
		if held := time.Duration((with.Seconds - without.Seconds) * float64(time.Second)).Round(time.Microsecond); held != min(wait, hold).Round(time.Microsecond) {
			t.Errorf("%v: held for %v in the bill", wait, held)
		}
	}
}
