package local

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"

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

// Size is a number of bytes, written as GOMEMLIMIT is: 512MiB, 2GiB or 1000000.
type Size int64

// UnmarshalText reads a size. An error names what is wrong; 0 is no size, and a negative one is an error.
func (s *Size) UnmarshalText(text []byte) error {
	number, unit := string(text), int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n, found := strings.CutSuffix(number, suffix); found {
			number, unit = n, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(number, "B"), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is no size: give for example 512MiB or 2GiB", text)
	}
	*s = Size(n * unit)
	return nil
}

// MemoryFlags are the flags of memory.
type MemoryFlags struct {
	MemoryLimit Size `env:"WEFT_MEMORY_LIMIT" placeholder:"SIZE" help:"Memory that the process aims to stay within, as 512MiB: it sets GOMEMLIMIT, and the sizes of caches and buffers follow from it. Without it the limit is half of the machine's or the container's memory."`
}

const (
	// cacheShare and requestShare are the parts of the memory limit that the cache of runs, and the requests and answers, may take.
	cacheShare, requestShare = 4, 8
	// usualCache and usualRequests are the most they take, in bytes, if nobody has given a limit.
	usualCache, usualRequests = 256 << 20, 256 << 20
)

// budgets returns how many bytes the cache of runs, and the requests and answers, may take. If given is not 0 it becomes the limit of the
// process; otherwise they follow from the limit that the process has, and are bounded.
func budgets(given int64) (cacheBytes int, requestBytes int64) {
	if given > 0 {
		debug.SetMemoryLimit(given)
		return int(given / cacheShare), given / requestShare
	}
	limit := debug.SetMemoryLimit(-1)
	return int(min(limit/cacheShare, usualCache)), min(limit/requestShare, usualRequests)
}
