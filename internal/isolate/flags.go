package isolate

import (
	"errors"
	"fmt"
)

// Limits are an operator's settings of isolation. The zero value isolates nothing.
type Limits struct {
	// Children is how many child processes run the code; 0 isolates nothing. One more child runs
	// suspects.
	Children int
	// MemoryMiB is the hard limit of each child's memory, in MiB; 0 is half of the machine's or the
	// container's, divided by Children.
	MemoryMiB int
	// CPUs is how many processors the code of each child uses at once (GOMAXPROCS); 0 is Go's
	// default.
	CPUs int
}

// The smallest and the largest allowed Limits.
const (
	mostChildren            = 64
	leastMemory, mostMemory = 64, 1 << 20 // MiB; a Go program needs some to start at all
	mostCPUs                = 1024
)

// CheckLimits returns what is wrong with limits, and what to give instead.
func CheckLimits(l Limits) error {
	switch {
	case l.Children < 0 || l.Children > mostChildren:
		return fmt.Errorf("%d child processes are to run the code: give 1 to %d, or 0 for none", l.Children, mostChildren)
	case l.MemoryMiB != 0 && (l.MemoryMiB < leastMemory || l.MemoryMiB > mostMemory):
		return fmt.Errorf("a child process is to have %d MiB of memory: give %d to %d, or 0 for a share of the machine's", l.MemoryMiB, leastMemory, mostMemory)
	case l.CPUs < 0 || l.CPUs > mostCPUs:
		return fmt.Errorf("a child process is to use %d processors: give 1 to %d, or 0 for all", l.CPUs, mostCPUs)
	case l.Children == 0 && l != Limits{}:
		return errors.New("limits of child processes are given, but no child process: say how many run the code (--isolate)")
	}
	return nil
}

// OptionsOf returns limits that CheckLimits accepts as the options of a pool.
func OptionsOf(l Limits) Options {
	return Options{Children: l.Children, Memory: uint64(max(l.MemoryMiB, 0)) << 20, CPUs: l.CPUs}
}

// ReplaceLimits returns l with the given values in place of its own; nil was not given. Without
// child processes, their limits are dropped.
func ReplaceLimits(l Limits, children, memoryMiB, cpus *int) Limits {
	if children != nil && *children == 0 {
		l = Limits{}
	}
	for _, given := range []struct{ limit, value *int }{{&l.Children, children}, {&l.MemoryMiB, memoryMiB}, {&l.CPUs, cpus}} {
		if given.value != nil {
			*given.limit = *given.value
		}
	}
	return l
}
