package local

import (
	"math"
	"runtime/debug"
	"testing"
)

// Go gets what the rest of the process leaves of the limit, but at least half of it. Small changes
// set nothing.
func TestFootprint(t *testing.T) {
	t.Parallel()
	const limit = 640 << 20
	var resident, ofGo, set int64
	known, sets := true, 0
	f := &footprint{limit: limit, measure: func() (int64, int64, bool) { return resident, ofGo, known }, set: func(n int64) int64 {
		sets++
		set = n
		return 0
	}}
	for _, step := range []struct {
		name                 string
		resident, ofGo, want int64
		sets                 int
	}{
		{"in the beginning", 30 << 20, 10 << 20, 620 << 20, 1},
		{"a little more", 38 << 20, 10 << 20, 620 << 20, 1},
		{"the tables grow", 340 << 20, 200 << 20, 500 << 20, 2},
		{"they take nearly everything", 900 << 20, 300 << 20, limit / leastOfGo, 3},
		{"they shrink", 500 << 20, 440 << 20, 580 << 20, 4},
		{"Go has more than is resident", 300 << 20, 400 << 20, limit, 5},
	} {
		resident, ofGo = step.resident, step.ofGo
		if f.adjust(); set != step.want || sets != step.sets {
			t.Errorf("%s: GOMEMLIMIT is %d MiB after %d sets, want %d after %d", step.name, set>>20, sets, step.want>>20, step.sets)
		}
	}
	known, resident = false, 640<<20
	if f.adjust(); sets != 5 {
		t.Error("a system that does not say what is resident changed GOMEMLIMIT")
	}
}

// All budgets follow from a given limit, and leave a part of it. Without a limit they are at most
// the usual ones.
func TestBudgets(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{128 << 20, 512 << 20, 8 << 30} {
		b := newBudgets(limit)
		sum := b.cache + b.requests + b.messages + b.disk.Line + b.disk.Cache + b.disk.Tables + int64(b.connections)*connectionSize
		if least, most := limit*11/16, limit*7/8; sum < least || sum > most {
			t.Errorf("the budgets under %d MiB take %d MiB together, want %d to %d", limit>>20, sum>>20, least>>20, most>>20)
		}
	}
	if b := newBudgets(0); b.cache > usualCache || b.requests > usualRequests || b.messages > usualMessages || b.disk.Line > usualLine || min(b.cache, b.disk.Tables) <= 0 {
		t.Errorf("the budgets without a limit are %+v", b)
	}
}

// A child process takes the limit of the server, unless it has a lower one. It is not parallel: the
// limit is the process's.
func TestLimitChild(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	for _, step := range []struct{ given, want int64 }{{0, math.MaxInt64}, {2 << 30, 2 << 30}, {3 << 30, 2 << 30}, {1 << 30, 1 << 30}} {
		limitChild(step.given)
		if got := debug.SetMemoryLimit(-1); got != step.want {
			t.Errorf("a limit of %d bytes: GOMEMLIMIT is %d, want %d", step.given, got, step.want)
		}
	}
}
