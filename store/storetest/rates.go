package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

var rateTests = []test{
	{"the mark moves from the floor, or from its own place", rateMoves},
	{"a mark that would move too far stays", rateLatest},
	{"task queues are separate", rateSeparate},
	{"concurrent reservations are different", rateRace},
}

// reservation returns a reservation of a task queue: floor is in milliseconds after now, by in
// milliseconds.
func (f *fixture) reservation(taskQueue string, floor, by int) store.Reservation {
	const ms = time.Millisecond
	return store.Reservation{TaskQueue: taskQueue, Floor: f.now.Add(time.Duration(floor) * ms), By: time.Duration(by) * ms}
}

// reserves demands that a Reserve moves the mark to this many milliseconds after now.
func (f *fixture) reserves(s store.Reservation, want int) {
	f.Helper()
	at, err := f.store.Reserve(f.Context(), s)
	if err != nil {
		f.Fatalf("Reserve %+v: %v", s, err)
	}
	if got := at.Sub(f.now); got != time.Duration(want)*time.Millisecond {
		f.Errorf("the mark of %q is at %v, want %d ms", s.TaskQueue, got, want)
	}
}

func rateMoves(f *fixture) {
	f.reserves(f.reservation("reports", -1000, 20), -980)
	f.reserves(f.reservation("reports", -1000, 20), -960)
	f.reserves(f.reservation("reports", -960, 20), -940)
	f.reserves(f.reservation("reports", 0, 20), 20)
	f.reserves(f.reservation("reports", -5000, 30), 50)
	precise := store.Reservation{TaskQueue: "reports", Floor: f.now.Add(50*time.Millisecond + 7*time.Microsecond), By: time.Microsecond}
	if at, err := f.store.Reserve(f.Context(), precise); err != nil || !at.Equal(precise.Floor.Add(time.Microsecond)) {
		f.Errorf("the mark is at %v, %v", at, err)
	}
	if !f.Reopens {
		return
	}
	f.reserves(f.reservation("reports", 60, 20), 80)
	f.reopen()
	f.reserves(f.reservation("reports", 0, 20), 100)
}

func rateLatest(f *fixture) {
	until := func(s store.Reservation, latest int) store.Reservation {
		s.Latest = f.now.Add(time.Duration(latest) * time.Millisecond)
		return s
	}
	refused := func(s store.Reservation) {
		f.Helper()
		if at, err := f.store.Reserve(f.Context(), s); !errors.Is(err, store.ErrStale) {
			f.Errorf("Reserve %+v: %v, %v, want ErrStale", s, at, err)
		}
	}
	refused(until(f.reservation("slow", 0, 20), 19))
	f.reserves(until(f.reservation("slow", 0, 20), 20), 20)
	refused(until(f.reservation("slow", 0, 20), 39))
	f.reserves(until(f.reservation("slow", 0, 20), 40), 40)
	refused(until(f.reservation("slow", 100, 20), 119))
	f.reserves(f.reservation("slow", 0, 10), 50)
}

func rateSeparate(f *fixture) {
	names := []string{"", "reports", "slow", "slow-lane", "r"}
	for round := 1; round <= 2; round++ {
		for i, name := range names {
			f.reserves(f.reservation(name, 0, i+1), round*(i+1))
		}
	}
	if mark, err := f.store.ReadMark(f.Context()); err != nil || len(mark) > 0 {
		f.Errorf("the mark of the scan is %q, %v", mark, err)
	}
	if key := f.key(); len(key) > 0 {
		f.Errorf("the key is %q", key)
	}
	f.holds("reports")
}

func rateRace(f *fixture) {
	const n = 20
	var mu sync.Mutex
	seen := map[time.Duration]bool{}
	parallel(n, func(int) {
		for {
			at, err := f.store.Reserve(f.Context(), f.reservation("reports", 0, 10))
			if errors.Is(err, store.ErrThrottled) || errors.Is(err, store.ErrUnknown) {
				continue // its reservation, if any, belongs to nobody
			}
			if err != nil {
				f.Errorf("Reserve: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[at.Sub(f.now)] {
				f.Errorf("the moment %v was returned twice", at)
			}
			seen[at.Sub(f.now)] = true
			return
		}
	})
	if len(seen) != n {
		f.Errorf("%d moments, want %d", len(seen), n)
	}
}
