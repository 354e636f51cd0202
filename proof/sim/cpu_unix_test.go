//go:build unix

package sim

import (
	"syscall"
	"time"
)

// cpuSeconds returns the processor time that this process has used, or 0 if it is not known.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
