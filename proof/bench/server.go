package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/workflow"
)

// beside formats a floor for a row: the time of so many exchanges and durable writes.
func (f floor) beside(exchanges, writes int) string {
	return fmt.Sprintf("%s, %s: %s", counted(exchanges, "exchange"), counted(writes, "write"), millis(time.Duration(exchanges)*f.exchange+time.Duration(writes)*f.write))
}

// times formats durations for a row, as the median and a tail.
func times(took []time.Duration, tail float64) string {
	return millis(percentile(took, .5)) + " / " + millis(percentile(took, tail))
}

// latency measures the time from start to result, one workflow at a time, with two requests and
// with one.
func latency() error {
	f, err := floors()
	if err != nil {
		return err
	}
	report(figure{"a durable write of the store / an HTTP exchange, p50", millis(f.write) + " / " + millis(f.exchange), "", ""})
	return withServer(func(s *served) error {
		for _, steps := range []int{1, 3} {
			two, err := each(500, func(i int) error {
				run, err := measured.Steps.Start(context.Background(), s.Client, fmt.Sprintf("two-%d-%d", steps, i), steps)
				if err == nil {
					_, err = run.Result(context.Background())
				}
				return err
			})
			if err != nil {
				return err
			}
			one, err := each(500, func(i int) error {
				_, err := measured.Steps.Run(context.Background(), s.Client, fmt.Sprintf("one-%d-%d", steps, i), steps)
				return err
			})
			if err != nil {
				return err
			}
			aim := map[int]string{1: "1.14 ms", 3: "2.06 ms"}[steps]
			report(figure{fmt.Sprintf("start to result, %s, idle, p50 / p95: Start and Result", counted(steps, "step")), times(two, .95), f.beside(2, 1+steps), aim})
			report(figure{"the same in one request: Run", times(one, .95), f.beside(1, 1+steps), aim})
		}
		return nil
	})
}

// throughput measures many workflows of three steps at a time: their rate, and their use of
// processor, memory and disk.
func throughput() error {
	return withServer(func(s *served) error {
		const n, atOnce = 6_000, 64
		if _, err := s.rate(n/10, atOnce, "warm"); err != nil {
			return err
		}
		cpu, err := s.cpu()
		before, err2 := diskSize(s.dir)
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		own := ownCPU()
		rate, err := s.rate(n, atOnce, "w")
		if err != nil {
			return err
		}
		own = ownCPU() - own
		after, err := s.cpu()
		memory, err2 := s.memory()
		size, err3 := diskSize(s.dir)
		if err = errors.Join(err, err2, err3); err != nil {
			return err
		}
		report(figure{"workflows a second, three steps each, 64 in flight", fmt.Sprintf("%.0f", rate), "", "three times the best peer"})
		report(figure{"processor time of a workflow, server + client", millis((after-cpu)/n) + " + " + millis(own/n), "", "1.0 ms"})
		report(figure{"memory of the server afterwards; bytes on disk for a workflow", fmt.Sprintf("%d MB; %d B", memory>>20, (size-before)/n), "", ""})
		return nil
	})
}

// rate runs n workflows, atOnce at a time, and returns how many ended a second.
func (s *served) rate(n, atOnce int, id string) (float64, error) {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, atOnce)
	begin := time.Now()
	for caller := range atOnce {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n) && errs[caller] == nil; i = next.Add(1) {
				_, errs[caller] = measured.Steps.Run(context.Background(), s.Client, fmt.Sprint(id, i), 3)
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(begin).Seconds(), errors.Join(errs...)
}

// lengths are the lengths of the histories, in events, at which runs are measured. An accepted
// update adds five events.
var lengths = []int{10, 1_000, 50_000}

const updateEvents = 5

// updates measures refused and accepted updates of one run, one at a time, by the length of its
// history and the share of refused updates.
func updates() error {
	f, err := floors()
	if err != nil {
		return err
	}
	return withServer(func(s *served) error {
		c := caller{s.Client, "c"}
		if err := c.open(); err != nil {
			return err
		}
		events := 0
		for _, length := range lengths {
			if err := c.grow((length - events) / updateEvents); err != nil {
				return err
			}
			const n = 300
			refused, err := each(n, func(int) error { return c.add(false) })
			if err != nil {
				return err
			}
			accepted, err := each(n, func(int) error { return c.add(true) })
			if err != nil {
				return err
			}
			events = length + len(accepted)*updateEvents
			report(figure{fmt.Sprintf("update refused, %d events of history, p50 / p99", length), times(refused, .99), f.beside(1, 0), "0.4 / 2 ms"})
			report(figure{fmt.Sprintf("update accepted, %d events of history, p50 / p99", length), times(accepted, .99), f.beside(1, 1), "1 / 4 ms"})
		}
		for _, share := range []int{50, 90} {
			var refused, accepted []time.Duration
			for i := range 1_000 {
				refuse := i*share/100 != (i+1)*share/100
				took, err := timed(func() error { return c.add(!refuse) })
				if err != nil {
					return err
				}
				if refuse {
					refused = append(refused, took)
				} else {
					accepted = append(accepted, took)
				}
			}
			report(figure{fmt.Sprintf("%d %% refused: refused, p50 / p99", share), times(refused, .99), f.beside(1, 0), "0.4 / 2 ms"})
			report(figure{fmt.Sprintf("%d %% refused: accepted, p50 / p99", share), times(accepted, .99), f.beside(1, 1), "1 / 4 ms"})
		}
		return nil
	})
}

// caller sends updates to a measured.Counter.
type caller struct {
	*client.Client
	id string
}

func (c caller) open() error {
	_, err := measured.Counter.Start(context.Background(), c.Client, c.id, 10)
	return err
}

// add sends an update that is to be accepted or refused.
func (c caller) add(accept bool) error {
	n := 1
	if !accept {
		n = 11
	}
	_, err := measured.Add.Call(context.Background(), c.Client, c.id, n)
	if !accept && client.AsRejected(err) != nil {
		return nil
	}
	if !accept && err == nil {
		return errors.New("an update was accepted that should be refused")
	}
	return err
}

// grow sends n updates that are accepted.
func (c caller) grow(n int) error {
	const callers = 16
	var all sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		all.Go(func() {
			for range (n + callers - 1) / callers {
				if errs[i] = c.add(true); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// idleMemory measures the memory of an idle open run after its eviction.
func idleMemory() error {
	dir, err := os.MkdirTemp("", "weft-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := local.Open(measured.Registry(), local.Options{Dir: dir, Executor: executor.Options{CacheEntries: 100}, Log: quiet})
	if err != nil {
		return err
	}
	c := client.ForHandler(s.Handler())
	begin := func(from, n int) error {
		for i := range n {
			if _, err := measured.Counter.Start(context.Background(), c, fmt.Sprint("idle-", from+i), 10, workflow.StartOptions{RequestID: "r"}); err != nil {
				return err
			}
		}
		return nil
	}
	const warm, n = 5_000, 20_000
	if err := begin(0, warm); err != nil {
		return err
	}
	memory := heap()
	size, err := diskSize(dir)
	if err != nil {
		return err
	}
	if err := begin(warm, n); err != nil {
		return err
	}
	now, err := diskSize(dir)
	if err != nil {
		return err
	}
	report(figure{
		"memory of an idle open run, evicted", fmt.Sprintf("%d B", max(0, int64(heap())-int64(memory))/n),
		fmt.Sprintf("on disk %d B", (now-size)/n), "its bytes on disk, nothing more",
	})
	return s.Close()
}

// heap returns the size of the reachable memory.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
