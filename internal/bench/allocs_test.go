//go:build !race

package main

import "testing"

// A cold replay is what a process does for a run that it does not have: it decodes the commits and runs the code again.
func TestAllocationsOfAReplay(t *testing.T) {
	const n, want = 1000, 14 // activities, and allocations for each: 8 of the commit, the others of the code
	rec, err := record(sequence.Name(), n, 1)
	if err != nil {
		t.Fatal(err)
	}
	all := testing.AllocsPerRun(5, func() {
		commits, err := rec.decode()
		if err == nil {
			err = rec.replay(commits)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if each := int(all) / n; each != want {
		t.Errorf("%d allocations for each activity (%v of all), want %d: say why in the commit if that is meant", each, all, want)
	}
}
