package storetest

import (
	"bytes"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

var attemptTests = []test{
	{"the latest is read", attemptLatest},
	{"the same number or a lower one is stale", attemptStale},
	{"a number may be left out", attemptSkips},
	{"a record of another run is replaced", attemptOfAnotherRun},
	{"a record without a run id is replaced", attemptWithoutRun},
	{"numbers may be large", attemptLarge},
	{"they are listed by event id", attemptOrder},
	{"runs and workflows are separate", attemptSeparate},
	{"they are not in the log", attemptNotInLog},
	{"bodies and expiries come back", attemptValues},
	{"more than a page of them", attemptMany},
	{"one of 20 with the same number is recorded", attemptRace},
	{"the highest of many wins", attemptHighest},
	{"attempts of runs are separate, whatever bytes their numbers have", attemptsOfNumbers},
}

func (f *fixture) record(a store.Attempt) {
	f.Helper()
	if err := f.store.RecordAttempt(f.Context(), a); err != nil {
		f.Errorf("RecordAttempt %d of event %d: %v", a.Number, a.Event, err)
	}
}

func (f *fixture) stale(a store.Attempt) {
	f.Helper()
	if err := f.store.RecordAttempt(f.Context(), a); !errors.Is(err, store.ErrStale) {
		f.Errorf("RecordAttempt %d of event %d: %v, want ErrStale", a.Number, a.Event, err)
	}
}

func (f *fixture) attempts(workflow string, run uint32) []store.Attempt {
	f.Helper()
	attempts, err := f.store.ReadAttempts(f.Context(), workflow, run)
	if err != nil {
		f.Fatalf("ReadAttempts of %s/%d: %v", workflow, run, err)
	}
	return attempts
}

// hasAttempts demands that a run has exactly these attempts, in this order.
func (f *fixture) hasAttempts(workflow string, run uint32, want ...store.Attempt) {
	f.Helper()
	got := f.attempts(workflow, run)
	if len(got) != len(want) {
		f.Errorf("%d attempts of %s/%d, want %d", len(got), workflow, run, len(want))
		return
	}
	for i, g := range got {
		w := want[i]
		if g.Workflow != w.Workflow || g.Run != w.Run || g.RunID != w.RunID || g.Event != w.Event || g.Number != w.Number ||
			!bytes.Equal(g.Body, w.Body) || !g.Expires.Equal(w.Expires) {
			f.Errorf("attempt %d of %s/%d: event %d, number %d, body %s, expires %v\nwant event %d, number %d, body %s, expires %v",
				i, g.Workflow, g.Run, g.Event, g.Number, brief(g.Body), g.Expires, w.Event, w.Number, brief(w.Body), w.Expires)
		}
	}
}

// attempt returns an attempt with a body that identifies it.
func attempt(workflow string, run uint32, event int64, number int) store.Attempt {
	a := store.Attempt{Workflow: workflow, Run: run, Event: event, Number: number}
	a.Body = bytesOf(int(event)+number, 20)
	return a
}

func attemptLarge(f *fixture) {
	low, high := attempt("order", 1, 5, 3<<20|7), attempt("order", 1, 5, 1<<52)
	f.record(low)
	f.record(high)
	f.stale(low)
	f.hasAttempts("order", 1, high)
}

func attemptLatest(f *fixture) {
	f.hasAttempts("order", 1)
	for n := 1; n <= 3; n++ {
		f.record(attempt("order", 1, 5, n))
		f.hasAttempts("order", 1, attempt("order", 1, 5, n))
	}
}

func attemptStale(f *fixture) {
	f.record(attempt("order", 1, 5, 1))
	f.record(attempt("order", 1, 5, 2))
	for _, n := range []int{1, 2} {
		late := attempt("order", 1, 5, n)
		late.Body = []byte("late")
		f.stale(late)
	}
	f.hasAttempts("order", 1, attempt("order", 1, 5, 2))
	f.record(attempt("order", 1, 5, 3))
}

func attemptOfAnotherRun(f *fixture) {
	of := func(run string, number int) store.Attempt {
		a := attempt("order", 1, 5, number)
		a.RunID = run
		return a
	}
	f.record(of("1-aa", 3))
	f.stale(of("1-aa", 3))
	f.stale(of("1-aa", 2))
	f.hasAttempts("order", 1, of("1-aa", 3))
	f.record(of("1-bb", 1))
	f.hasAttempts("order", 1, of("1-bb", 1))
	f.stale(of("1-bb", 1))
	f.record(of("1-bb", 2))
	f.hasAttempts("order", 1, of("1-bb", 2))
}

func attemptWithoutRun(f *fixture) {
	f.record(attempt("order", 1, 5, 3))
	named := attempt("order", 1, 5, 1)
	named.RunID = "1-aa"
	f.record(named)
	f.hasAttempts("order", 1, named)
	f.stale(named)
}

func attemptSkips(f *fixture) {
	f.record(attempt("order", 1, 5, 3))
	f.stale(attempt("order", 1, 5, 2))
	f.record(attempt("order", 1, 5, 9))
	f.record(attempt("order", 1, 5, 10))
	f.stale(attempt("order", 1, 5, 9))
	f.hasAttempts("order", 1, attempt("order", 1, 5, 10))
}

func attemptOrder(f *fixture) {
	events := []int64{1, 2, 9, 10, 11, 99, 100, 255, 256, 257, 65536, math.MaxInt64}
	var want []store.Attempt
	for i := range events {
		f.record(attempt("order", 1, events[(i*5)%len(events)], 1))
		want = append(want, attempt("order", 1, events[i], 1))
	}
	f.hasAttempts("order", 1, want...)
}

func attemptSeparate(f *fixture) {
	for i, id := range ids {
		f.record(attempt(id, 1, 5, 1+i))
		f.record(attempt(id, 2, 5, 1))
	}
	f.record(attempt("a", 11, 5, 1))
	for i, id := range ids {
		f.hasAttempts(id, 1, attempt(id, 1, 5, 1+i))
		f.hasAttempts(id, 2, attempt(id, 2, 5, 1))
	}
	f.hasAttempts("a", 11, attempt("a", 11, 5, 1))
	f.hasAttempts("a", 3)
}

func attemptNotInLog(f *fixture) {
	f.record(attempt("order", 1, 5, 1))
	f.holds("order")
	items := f.fill("order", 1, 2)
	items = append(items, f.fill("order", 2, 1)...)
	f.record(attempt("order", 1, 5, 2))
	f.record(attempt("order", 2, 7, 1))
	f.holds("order", items...)
	p := f.forward(store.Key{Workflow: "order", Run: 1}, 0)
	f.same("forward", p.Items, items[:2]...)
	f.hasAttempts("order", 1, attempt("order", 1, 5, 2))
}

func attemptValues(f *fixture) {
	day := f.now.Truncate(time.Second).Add(24 * time.Hour)
	bodies := [][]byte{nil, {}, {0}, {0xff, 0}, bytesOf(1, 1000)}
	expiries := []time.Time{{}, day, day.Add(time.Hour), {}, day.Add(time.Microsecond)}
	var want []store.Attempt
	for i, body := range bodies {
		a := store.Attempt{Workflow: "order", Run: 1, Event: int64(i + 1), Number: 1, Body: body, Expires: expiries[i]}
		f.record(a)
		if i == 4 {
			a.Expires = day.Add(time.Second)
		}
		want = append(want, a)
	}
	f.hasAttempts("order", 1, want...)
	want[1].Number, want[1].Expires = 2, day.Add(2*time.Hour)
	f.record(want[1])
	want[2].Number, want[2].Expires = 2, time.Time{}
	f.record(want[2])
	f.hasAttempts("order", 1, want...)
}

func attemptMany(f *fixture) {
	const perPage = 6
	body := min(f.MaxBody, f.PageBytes/perPage)
	var want []store.Attempt
	for i := range 2*f.PageBytes/body + 2 {
		a := attempt("order", 1, int64(i+1), 1)
		a.Body = bytesOf(i, body)
		f.record(a)
		want = append(want, a)
	}
	f.hasAttempts("order", 1, want...)
}

func attemptRace(f *fixture) {
	var won atomic.Int64
	var winner atomic.Value
	parallel(20, func(i int) {
		a := attempt("order", 1, 5, 1)
		a.Body = bytesOf(i, 20)
		switch err := f.store.RecordAttempt(f.Context(), a); {
		case err == nil:
			won.Add(1)
			winner.Store(a)
		case !errors.Is(err, store.ErrStale):
			f.Errorf("RecordAttempt: %v", err)
		}
	})
	if won.Load() != 1 {
		f.Fatalf("%d of 20 were recorded, want 1", won.Load())
	}
	f.hasAttempts("order", 1, winner.Load().(store.Attempt))
}

func attemptHighest(f *fixture) {
	parallel(20, func(i int) {
		if err := f.store.RecordAttempt(f.Context(), attempt("order", 1, 5, i+1)); err != nil && !errors.Is(err, store.ErrStale) {
			f.Errorf("RecordAttempt: %v", err)
		}
	})
	f.hasAttempts("order", 1, attempt("order", 1, 5, 20))
}

func attemptsOfNumbers(f *fixture) {
	for _, run := range numbers {
		f.record(attempt("chain", run, 5, 1))
	}
	for _, run := range numbers {
		f.hasAttempts("chain", run, attempt("chain", run, 5, 1))
	}
}
