package local

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// gcPercent is how much a server's heap grows between two collections, in percent of what is live: fewer collections than Go's 100
	// give a fifth more workflows a second.
	gcPercent = 400
	// memoryShare is how much of the machine's or the container's memory the process has before it collects more often than that.
	memoryShare = 0.5
)

// TuneMemory sets the garbage collector of a process that is a server and nothing else, unless GOGC or GOMEMLIMIT say otherwise. The limit
// is no bound: what is live stays.
func TuneMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		// Without a limit that can be found, there is none, as without this.
		_, _ = memlimit.Set(
			memlimit.WithRatio(memoryShare),
			memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)),
		)
	}
}

// processMemory measures this process for the cache of runs.
type processMemory struct{}

// InUse implements turn.Memory.
func (processMemory) InUse() int64 {
	return readMetrics("/memory/classes/heap/objects:bytes", "/memory/classes/heap/stacks:bytes")
}

// Allocated implements turn.Memory.
func (processMemory) Allocated() int64 { return readMetrics("/gc/heap/allocs:bytes") }

// Collect implements turn.Memory.
func (processMemory) Collect() { runtime.GC() }

// readMetrics returns the sum of metrics of the runtime.
func readMetrics(names ...string) (sum int64) {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for _, s := range samples {
		sum += int64(s.Value.Uint64())
	}
	return sum
}
