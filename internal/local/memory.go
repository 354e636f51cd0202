package local

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/seed-41655fb1/weft/internal/disk"
)

const (
	// gcPercent is how much a server's heap grows between two collections, in percent of what is
	// live: fewer collections than Go's 100 give a fifth more workflows a second.
	gcPercent = 400
	// memoryShare is how much of the machine's or the container's memory the process has before it
	// collects more often than that.
	memoryShare = 0.5
)

// goPercent is the percentage that Go has by itself.
const goPercent = 100

// TuneMemory sets the garbage collector of a process that is only a server, unless GOGC, GOMEMLIMIT
// or the program has set it already. The limit is not a bound: live memory stays.
func TuneMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		if before := debug.SetGCPercent(gcPercent); before != goPercent {
			debug.SetGCPercent(before)
		}
	}
	if getenv("GOMEMLIMIT") == "" && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		// If no limit is found, none is set.
		_, _ = memlimit.Set(
			memlimit.WithRatio(memoryShare),
			memlimit.WithProvider(machineMemory),
		)
	}
}

// machineMemory returns how much memory the container, or the machine, has.
var machineMemory = memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)

// leastMemory is the least memory limit: the budget of requests has 25 MiB at least.
const leastMemory = 64 << 20

// CheckMemory refuses a memory limit with which a server cannot work, and logs a warning about one
// above the available memory. 0 is no limit.
func CheckMemory(limit int64, log *slog.Logger) error {
	if limit != 0 && limit < leastMemory {
		return fmt.Errorf("a memory limit of %d bytes is too small for the server: give 64MiB or more", limit)
	}
	if there, err := machineMemory(); err == nil && limit > 0 && uint64(limit) > there {
		log.Warn("the memory limit is above the available memory, so the process may be killed before it reaches it: give a smaller --memory-limit",
			"limit", limit, "memory", there)
	}
	return nil
}

// processMemory measures this process for the cache of runs.
type processMemory struct{}

// InUse implements executor.Memory.
func (processMemory) InUse() int64 {
	return readMetrics("/memory/classes/heap/objects:bytes", "/memory/classes/heap/stacks:bytes")
}

// Allocated implements executor.Memory.
func (processMemory) Allocated() int64 { return readMetrics("/gc/heap/allocs:bytes") }

// Collect implements executor.Memory.
func (processMemory) Collect() { runtime.GC() }

// samples are reused, because metrics are read before and after each piece of workflow code that
// runs.
var samples = sync.Pool{New: func() any { return new([2]metrics.Sample) }}

// readMetrics returns the sum of one or two metrics of the runtime.
func readMetrics(names ...string) (sum int64) {
	kept, _ := samples.Get().(*[2]metrics.Sample)
	defer samples.Put(kept)
	read := kept[:len(names)]
	for i, name := range names {
		read[i].Name = name
	}
	metrics.Read(read)
	for _, s := range read {
		sum += int64(s.Value.Uint64())
	}
	return sum
}

// Parts of the memory limit, one in so many: what each budget may take. What they leave is for
// garbage, connections and code.
const (
	cacheShare   = 4  // runs in memory
	requestShare = 8  // requests that are read, and answers that are written
	lineShare    = 16 // writes that wait for the disk
	messageShare = 16 // bodies of messages in the queues
	tablesShare  = 8  // tables that are not in their files yet
	blockShare   = 16 // blocks of the tables' files

	connectionShare = 8 // connections, at connectionSize each
)

// streamShare is the part of the connections that may have streams of server-sent events. Each
// waits in one of the requests that run at once.
const streamShare = 8

const (
	// connectionSize is about what a connection takes with a request that waits: stacks, buffers
	// and the state of the request.
	connectionSize = 32 << 10
	// leastConnections and mostConnections are how many connections the server holds at once. More
	// wait in the kernel's queue until others close.
	leastConnections, mostConnections = 256, 12_000
)

// Budgets of a server that was given no limit, in bytes. They are smaller if the limit that the
// process has makes them so.
const (
	usualCache, usualRequests = 256 << 20, 256 << 20
	usualLine, usualMessages  = 64 << 20, 64 << 20
)

// budgets are how many bytes each part of a server may take.
type budgets struct {
	cache, requests, messages int64
	disk                      disk.Memory
	connections               int
}

// newBudgets returns the budgets under the given limit, or under the process's own if given is 0.
func newBudgets(given int64) budgets {
	most := func(part, usual int64) int64 { return part }
	limit := given
	if given <= 0 {
		most, limit = func(part, usual int64) int64 { return min(part, usual) }, debug.SetMemoryLimit(-1)
	}
	return budgets{
		cache: most(limit/cacheShare, usualCache), requests: most(limit/requestShare, usualRequests), messages: most(limit/messageShare, usualMessages),
		disk:        disk.Memory{Line: most(limit/lineShare, usualLine), Cache: limit / blockShare, Tables: limit / tablesShare},
		connections: int(min(max(limit/connectionShare/connectionSize, leastConnections), mostConnections)),
	}
}

// footprint keeps the resident memory of the process near a limit. GOMEMLIMIT counts Go's memory
// alone, and the tables of the data directory are in C's if the program was built with cgo, with
// what C's allocator loses. So Go gets what the rest leaves of the limit.
type footprint struct {
	limit int64
	// measure returns how much of the process is resident, and how much memory Go has; false if the
	// system does not say.
	measure func() (resident, ofGo int64, ok bool)
	// set sets GOMEMLIMIT.
	set func(int64) int64

	last int64 // what was set
}

const (
	// footprintEvery is how often the process is measured.
	footprintEvery = time.Second
	// leastOfGo is the part of the limit that Go has whatever the rest takes: with less it would
	// collect garbage all the time.
	leastOfGo = 2
	// footprintStep is the part of the limit by which the rest has to change before GOMEMLIMIT
	// does: setting it stops the program.
	footprintStep = 64
)

// newFootprint returns the footprint of this process, and sets GOMEMLIMIT to what the tables will
// leave of the limit.
func newFootprint(limit int64) *footprint {
	f := &footprint{limit: limit, measure: residentMemory, set: debug.SetMemoryLimit}
	f.give(limit - limit/tablesShare - limit/blockShare)
	return f
}

func (f *footprint) give(bytes int64) {
	f.last = bytes
	f.set(bytes)
}

// adjust measures the process, and sets GOMEMLIMIT to what the other memory leaves.
func (f *footprint) adjust() {
	resident, ofGo, ok := f.measure()
	if !ok {
		return
	}
	left := max(f.limit-max(resident-ofGo, 0), f.limit/leastOfGo)
	if max(left-f.last, f.last-left) >= f.limit/footprintStep {
		f.give(left)
	}
}

// keep adjusts until ctx ends.
func (f *footprint) keep(ctx context.Context) {
	for ticks := time.Tick(footprintEvery); ; {
		f.adjust()
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}

// residentMemory measures this process. It returns false if there is no /proc.
func residentMemory() (resident, ofGo int64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, false
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	ofGo = readMetrics("/memory/classes/total:bytes") - readMetrics("/memory/classes/heap/released:bytes")
	return pages * int64(os.Getpagesize()), ofGo, err == nil
}

// limitChild sets the limit of a child process, unless the child has a lower one.
func limitChild(limit int64) {
	if limit > 0 && limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
}
