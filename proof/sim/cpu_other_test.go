//go:build !unix

package sim

// cpuSeconds is 0: how much time the cores have spent on this process is not known here.
func cpuSeconds() float64 { return 0 }
