package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/internal/local"
)

// soakScenarios are long loads.
var soakScenarios = []scenario{
	{name: "soak", what: "an hour of load: memory, goroutines, descriptors, file size and the cost of a run stay flat", weight: 4, least: 15 * time.Second, run: soak},
}

// sample is a measurement of the idle server.
type sample struct {
	resident, heap, goroutines, descriptors, threads int64
	// disk is the size of all files. stored is the size of a backup, which is the data without what
	// the log and the tables have not freed.
	disk, stored int64
	cpu          time.Duration
	runs         int64
	cost         cost
}

// cost is the cost of one run alone.
type cost struct{ writes, reads, messages, invocations int64 }

// String prints the cost.
func (c cost) String() string {
	return fmt.Sprintf("%d writes, %d reads, %d messages and %d invocations", c.writes, c.reads, c.messages, c.invocations)
}

// bound limits a figure at the end of a soak: times its value in the middle, plus more.
type bound struct {
	times float64
	more  int64
	// short replaces times in the short form, which measures too little.
	short float64
}

// bounds are the bounds of the samples. The first quarter is a warm-up, which fills the caches.
// Their size is bounded.
var bounds = map[string]bound{
	"live heap in KiB":         {1.2, 8 << 10, 1.2},
	"resident memory in KiB":   {1.3, 32 << 10, 1.5},
	"goroutines":               {1.1, 10, 1.1},
	"descriptors":              {1.1, 10, 1.1},
	"threads":                  {1.3, 5, 1.3},
	"stored bytes per run":     {1.05, 50, 1.1},
	"microseconds of CPU each": {1.3, 200, 1.6},
}

// looseDisk is how many bytes the files may have beyond twice the stored ones. The log keeps
// segments for reuse, and the tables keep replaced values until they are merged.
const looseDisk = 192 << 20

// soakMemory and soakMemoryBrief are memory limits of the server, under which its caches are full
// after the first quarter. Without a limit the caches are a share of the machine's memory, and may
// fill for days.
const soakMemory, soakMemoryBrief = "WEFT_MEMORY_LIMIT=256MiB", "WEFT_MEMORY_LIMIT=64MiB"

// soak runs short workflows until its time has passed, and compares the two halves.
func soak(s *testbed) error {
	if runtime.GOOS != "linux" {
		return skipped("the soak reads /proc")
	}
	o := launch{counted: true, env: []string{soakMemory}}
	if s.brief {
		o.env = []string{soakMemoryBrief}
	}
	p, err := s.launch(o)
	if err != nil {
		return err
	}
	length := s.budget
	if length == 0 {
		length = time.Hour
	}
	var runs atomic.Int64
	var at []sample
	for i := range 4 { // quarters; the first one is the warm-up
		if err := s.soakFor(length/4, i, &runs); err != nil {
			return err
		}
		if !p.alive() {
			return fmt.Errorf("the server ended: %s", p.log)
		}
		x, err := s.sample(p, i, &runs)
		if err != nil {
			return err
		}
		if at = append(at, x); !s.brief {
			fmt.Printf("    soak after %v: %d runs, %d MiB resident, %d MiB live, %d goroutines, %d descriptors, %d MiB of files; a run: %v\n",
				time.Since(s.began).Round(time.Second), x.runs, x.resident>>20, x.heap>>20, x.goroutines, x.descriptors, x.disk>>20, x.cost)
		}
	}
	wrong := s.compare(at)
	l := s.startLoad("book", callers)
	pause(s.ctx, time.Second)
	l.end()
	return errors.Join(wrong, s.verify(l))
}

// soakFor runs workflows for a while, four at a time. All of them have ended when it returns.
func (s *testbed) soakFor(d time.Duration, quarter int, runs *atomic.Int64) error {
	ctx, cancel := context.WithTimeout(s.ctx, d)
	defer cancel()
	ended := make(chan error, 4)
	for i := range cap(ended) {
		go func() { ended <- s.short(ctx, quarter, i, runs) }()
	}
	var all error
	for range cap(ended) {
		all = errors.Join(all, <-ended)
	}
	return all
}

// short runs workflows one after the other: a timer, an activity, a result.
func (s *testbed) short(ctx context.Context, quarter, caller int, runs *atomic.Int64) error {
	for n := 0; ctx.Err() == nil; n++ {
		if caller == 0 && !s.brief {
			s.progress("%d runs", runs.Load())
		}
		id := fmt.Sprintf("soak-%d-%d-%d", quarter, caller, n)
		limited, cancel := context.WithTimeout(s.ctx, time.Minute)
		result, err := part.Run(limited, s.client(), id, id)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if result != "step of "+id {
			return fmt.Errorf("%s has the result %q", id, result)
		}
		runs.Add(1)
	}
	return nil
}

// sample takes a sample while nothing runs.
func (s *testbed) sample(p *server, quarter int, runs *atomic.Int64) (x sample, err error) {
	if x.cost, err = s.costOfRun(p, quarter, runs); err != nil {
		return x, err
	}
	now, err := p.count(true)
	if err != nil {
		return x, err
	}
	pid := p.cmd.Process.Pid
	x.heap, x.goroutines = now.Heap, now.Goroutines
	x.runs, x.resident, x.threads = runs.Load(), memoryOf(pid), field(pid, "Threads:")
	x.descriptors = descriptorsOf(pid)
	x.cpu = cpuOf(pid) // before the backup, which does not belong to the runs' cost
	if x.stored, err = s.backupSize(); err != nil {
		return x, err
	}
	all, _ := files(s.dir) // a file may disappear during the listing
	for _, f := range all {
		if info, err := os.Stat(f); err == nil {
			x.disk += info.Size()
		}
	}
	return x, nil
}

// descriptorsOf returns how many descriptors a process has, without those of the tables' files. The
// number of those grows with the stored data, and Pebble bounds it.
func descriptorsOf(pid int) (n int64) {
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return 0
	}
	for _, name := range open {
		if target, err := os.Readlink(name); err == nil && !strings.HasSuffix(target, ".sst") {
			n++
		}
	}
	return n
}

// cpuOf returns the processor time of a process.
func cpuOf(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// backupSize returns the size of a backup of the running server.
func (s *testbed) backupSize() (int64, error) {
	r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "http://"+s.addr+local.BackupPath, nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	n, err := io.Copy(io.Discard, answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("a backup was answered with %s", answer.Status)
	}
	return n, err
}

// alone is how many runs a measurement of the cost takes. mostAlone is how many of them must have
// cost the same, because the sweep of timers, once a minute, may fall into the others.
const alone, mostAlone = 20, 18

// costOfRun runs workflows one at a time, with nothing else in the server. It returns the cost of
// each, or an error if the costs differ.
func (s *testbed) costOfRun(p *server, quarter int, runs *atomic.Int64) (usual cost, err error) {
	times := map[cost]int{}
	before, err := s.steady(p, 0)
	if err != nil {
		return usual, err
	}
	for n := range alone {
		id := fmt.Sprintf("alone-%d-%d", quarter, n)
		if _, err := part.Start(s.ctx, s.client(), id, id); err != nil {
			return usual, err
		}
		after, err := s.steady(p, before.Closed+1)
		if err != nil {
			return usual, err
		}
		c := cost{after.Writes - before.Writes, after.Reads - before.Reads, after.Messages - before.Messages, after.Invocations - before.Invocations}
		if times[c]++; times[c] > times[usual] {
			usual = c
		}
		before = after
		runs.Add(1)
	}
	if times[usual] < mostAlone {
		return usual, fmt.Errorf("runs of one workflow, one at a time, do not cost the same: %v", times)
	}
	return usual, nil
}

// steady waits until this many runs have closed and the server has been idle for a while, and
// returns its counts.
func (s *testbed) steady(p *server, closed int64) (counts, error) {
	const still, within = 10, 30 * time.Second // so often 10 ms
	last, same := counts{}, 0
	for began := time.Now(); same < still; pause(s.ctx, 10*time.Millisecond) {
		now, err := p.count(false)
		if err != nil {
			return now, err
		}
		now.Goroutines, now.Heap = 0, 0
		if same++; now != last || now.Closed < closed {
			same = 0
		}
		if last = now; time.Since(began) > within || s.ctx.Err() != nil {
			return now, fmt.Errorf("the server is not idle: %d runs of %d have closed", now.Closed, closed)
		}
	}
	return last, nil
}

// compare compares the end of the soak with its middle.
func (s *testbed) compare(at []sample) error {
	each := func(i, from int, of func(sample) int64) int64 {
		return (of(at[i]) - of(at[from])) / max(at[i].runs-at[from].runs, 1)
	}
	stored := func(x sample) int64 { return x.stored }
	cpu := func(x sample) int64 { return x.cpu.Microseconds() }
	first, middle, end := at[0], at[1], at[3]
	measured := []struct {
		name        string
		middle, end int64
	}{
		{"live heap in KiB", middle.heap >> 10, end.heap >> 10},
		{"resident memory in KiB", middle.resident >> 10, end.resident >> 10},
		{"goroutines", middle.goroutines, end.goroutines},
		{"descriptors", middle.descriptors, end.descriptors},
		{"threads", middle.threads, end.threads},
		{"stored bytes per run", each(1, 0, stored), each(3, 1, stored)},
		{"microseconds of CPU each", each(1, 0, cpu), each(3, 1, cpu)},
	}
	s.say("%d runs in %v", end.runs, time.Since(s.began).Round(time.Second))
	var all []error
	for _, m := range measured {
		s.say("%s %d to %d", m.name, m.middle, m.end)
		b := bounds[m.name]
		times := b.times
		if s.brief {
			times = b.short
		}
		if most := int64(float64(m.middle)*times) + b.more; m.end > most {
			all = append(all, fmt.Errorf("%s: %d in the middle of the soak and %d at its end, want at most %d", m.name, m.middle, m.end, most))
		}
	}
	s.say("files %d MiB for %d MiB stored", end.disk>>20, end.stored>>20)
	if most := 2*end.stored + looseDisk; end.disk > most {
		all = append(all, fmt.Errorf("the files have %d MiB for %d MiB stored, want at most %d MiB", end.disk>>20, end.stored>>20, most>>20))
	}
	s.say("a run costs %v", end.cost)
	for i, x := range at {
		if x.cost != first.cost {
			all = append(all, fmt.Errorf("a run costs %v after a quarter of the soak, and %v after %d quarters", first.cost, x.cost, i+1))
		}
	}
	return errors.Join(all...)
}
