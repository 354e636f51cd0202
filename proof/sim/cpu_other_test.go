//go:build !unix

package sim

// cpuSeconds returns 0, because the processor time of this process is not known on this system.
func cpuSeconds() float64 { return 0 }
