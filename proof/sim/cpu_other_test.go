//go:build !unix

package sim

// cpuSeconds returns 0: the time that the cores have spent on this process is not known here.
func cpuSeconds() float64 { return 0 }
