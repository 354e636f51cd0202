package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// soakScenarios are load for long.
var soakScenarios = []scenario{
	{"soak", "an hour of load: memory, descriptors, threads, files and the cost of a run stay flat", 4, soak},
}

// sample is what the server has at a moment.
type sample struct {
	memory, descriptors, threads, disk int64
	cpu                                time.Duration
	runs                               int64
}

// bounds are how much the second half of a soak may have for each of what the first has. The first half warms the caches, whose size
// is bounded, and a kept run takes room until its retention is over: so the files are compared for each run.
var bounds = map[string]float64{"memory": 1.5, "descriptors": 1.5, "threads": 1.5, "bytes for each run": 1.3, "CPU for each run": 1.3}

// warmMemory is what a server may take before its memory is compared: the cache of runs fills up to 256 MiB, and the garbage collector lets
// the heap grow beyond that. A short soak ends while it fills.
const warmMemory = 512 << 20

// warmDisk is what the files may have before they are compared: the log and the tables grow in steps of some MiB.
const warmDisk = 64 << 20

// soak runs short workflows and long-lived books until its time is over, and compares its halves.
func soak(s *scene) error {
	if runtime.GOOS != "linux" {
		return skipped("the soak reads /proc")
	}
	p, err := s.launch(launch{})
	if err != nil {
		return err
	}
	length := s.budget
	if length == 0 {
		length = time.Hour
	}
	var runs atomic.Int64
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	ended := make(chan error, 4)
	for i := range cap(ended) {
		go func() { ended <- s.short(ctx, i, &runs) }()
	}
	var at []sample
	for range 4 { // the ends of the quarters; the first quarter is warm-up
		pause(s.ctx, length/4)
		if !p.alive() {
			return fmt.Errorf("the server ended: %s", p.log)
		}
		at = append(at, s.sample(p, runs.Load()))
	}
	stop()
	for range cap(ended) {
		if err := <-ended; err != nil {
			return err
		}
	}
	wrong := s.compare(at)
	l := s.startLoad("book", callers)
	pause(s.ctx, time.Second)
	l.end()
	if err := s.verify(l); err != nil {
		return err
	}
	return wrong
}

// compare compares the second half of the soak, after its warm-up, with the first.
func (s *scene) compare(at []sample) error {
	ratio := func(later, before float64) float64 { return later / max(before, 1e-9) }
	each := func(i int, of func(sample) float64) float64 {
		return (of(at[i]) - of(at[i-1])) / max(float64(at[i].runs-at[i-1].runs), 1)
	}
	disk := func(x sample) float64 { return float64(x.disk) }
	cpu := func(x sample) float64 { return x.cpu.Seconds() }
	ratios := map[string]float64{
		"memory":             ratio(float64(at[3].memory), float64(at[1].memory)),
		"descriptors":        ratio(float64(at[3].descriptors), float64(at[1].descriptors)),
		"threads":            ratio(float64(at[3].threads), float64(at[1].threads)),
		"bytes for each run": ratio(float64(at[3].disk)/float64(at[3].runs), float64(at[1].disk)/float64(at[1].runs)),
		"CPU for each run":   ratio(each(3, cpu)+each(2, cpu), 2*each(1, cpu)),
	}
	s.say("%d runs; memory %d to %d MiB, %d descriptors, %d threads, %.0f bytes on disk and %.2f ms of CPU for each run", at[3].runs,
		at[1].memory>>20, at[3].memory>>20, at[3].descriptors, at[3].threads, disk(at[3])/float64(at[3].runs), 1000*each(3, cpu))
	if at[3].memory < warmMemory {
		delete(ratios, "memory")
	}
	if at[3].disk < warmDisk {
		delete(ratios, "bytes for each run")
	}
	for name, r := range ratios {
		if r > bounds[name] {
			return fmt.Errorf("%s: the end has %.2f times what the middle has, and may have %.2f times", name, r, bounds[name])
		}
	}
	return nil
}

// short runs workflows one after the other: a timer, an activity, a result.
func (s *scene) short(ctx context.Context, caller int, runs *atomic.Int64) error {
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("soak-%d-%d", caller, n)
		result, err := part.Run(ctx, s.client(), id, id)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && result != "step of "+id {
			return fmt.Errorf("%s has the result %q", id, result)
		}
		runs.Add(1)
	}
	return nil
}

// sample takes a sample.
func (s *scene) sample(p *server, runs int64) (x sample) {
	pid := p.cmd.Process.Pid
	x.runs, x.memory, x.threads = runs, memoryOf(pid), field(pid, "Threads:")
	if open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err == nil {
		x.descriptors = int64(len(open))
	}
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		user, _ := strconv.ParseInt(f[11], 10, 64)
		system, _ := strconv.ParseInt(f[12], 10, 64)
		x.cpu = time.Duration(user+system) * 10 * time.Millisecond
	}
	all, _ := files(s.dir) // a file may go while they are listed
	for _, f := range all {
		if info, err := os.Stat(f); err == nil {
			x.disk += info.Size()
		}
	}
	return x
}
