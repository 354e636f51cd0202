package main

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	baseItems = 1_000_000
	longRun   = 1_000
)

// valueOf makes 300 bytes, half of which do not compress.
func valueOf(r *rand.Rand) []byte {
	v := make([]byte, 0, 304)
	for range 19 {
		v = binary.BigEndian.AppendUint64(v, r.Uint64())
	}
	for len(v) < 300 {
		v = append(v, "ActivityTaskCompleted"...)
	}
	return v[:300]
}

// fill writes the million items that the other measurements start from: runs of
// four under random ids, and one long run spread between them.
func fill(open opener) error {
	s, err := open()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 1))
	var items []item
	long := uint32(0)
	for i := range (baseItems - longRun) / 4 {
		for slot := range uint32(4) {
			items = append(items, item{logKey(workflowID(i), 1, slot+1), valueOf(r)})
		}
		if i%240 == 0 && long < longRun {
			long++
			items = append(items, item{logKey(workflowID(-1), 1, long), valueOf(r)})
		}
		if len(items) >= 4000 {
			if err := s.load(items); err != nil {
				return err
			}
			items = nil
		}
	}
	if err := s.load(items); err != nil {
		return err
	}
	time.Sleep(20 * time.Second) // let compactions end
	return s.close()
}

// idle is the latency of one append after another on a fresh store.
func idle(open opener) error {
	s, err := open()
	if err != nil {
		return err
	}
	if err := alone(s); err != nil {
		return err
	}
	return s.close()
}

// worn is idle in a store that holds a million items and has just been busy.
func worn(open opener) error {
	s, err := open()
	if err != nil {
		return err
	}
	if err := runFlow(s, 10_000); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	if err := alone(s); err != nil {
		return err
	}
	return s.close()
}

func alone(s store) error {
	r := rand.New(rand.NewPCG(2, uint64(os.Getpid())))
	var took []time.Duration
	for i := range 3_500 {
		key, value := logKey(workflowID(i), 2, 1), valueOf(r)
		began := time.Now()
		if err := s.append(key, value); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	percentiles("alone", took[500:])
	return nil
}

func percentiles(what string, took []time.Duration) {
	slices.Sort(took)
	for _, p := range []int{50, 95, 99} {
		report(fmt.Sprintf("%s.p%d", what, p), float64(took[len(took)*p/100].Nanoseconds())/1e3, "us")
	}
}

const inFlight = 64

// flow runs count workflows of three activities, 64 at a time, and reports rate,
// processor time and the latency of a put.
func flow(open opener, count int) error {
	s, err := open()
	if err != nil {
		return err
	}
	if err := runFlow(s, count); err != nil {
		return err
	}
	return s.close()
}

func runFlow(s store, count int) error {
	var next, seq atomic.Int64
	var took [inFlight][]time.Duration
	var failed atomic.Value
	var wg sync.WaitGroup
	seed := time.Now().UnixNano()
	cpu, began := cpuTime(), time.Now()
	for g := range inFlight {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(seed)+uint64(g)))
			for next.Add(1) <= int64(count) {
				if err := workflow(s, r, &seq, &took[g]); err != nil {
					failed.Store(err)
					return
				}
			}
		})
	}
	wg.Wait()
	wall, used := time.Since(began), cpuTime()-cpu
	if err, ok := failed.Load().(error); ok {
		return err
	}
	report("rate", float64(count)/wall.Seconds(), "wf/s")
	report("cpu", float64(used.Microseconds())/float64(count), "us/wf")
	percentiles("put", slices.Concat(took[:]...))
	return nil
}

// paced starts workflows at the rate that Weft wants to reach, and reports what
// that takes of the processors and how long a put lasts.
func paced(open opener) error {
	const rate, count = 1_500, 45_000
	s, err := open()
	if err != nil {
		return err
	}
	var seq atomic.Int64
	var failed atomic.Value
	var wg sync.WaitGroup
	took := make([][]time.Duration, count)
	written := bytesWritten()
	cpu, began := cpuTime(), time.Now()
	for i := range count {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / rate)))
		wg.Go(func() {
			if err := workflow(s, rand.New(rand.NewPCG(rand.Uint64(), 7)), &seq, &took[i]); err != nil {
				failed.Store(err)
			}
		})
	}
	wg.Wait()
	wall, used := time.Since(began), cpuTime()-cpu
	if err, ok := failed.Load().(error); ok {
		return err
	}
	report("rate", float64(count)/wall.Seconds(), "wf/s")
	report("cpu", float64(used.Microseconds())/float64(count), "us/wf")
	percentiles("put", slices.Concat(took...))
	report("written", float64(bytesWritten()-written)/count, "B/wf")
	return s.close()
}

// workflow makes the writes of one run in the engine's order: the start sends
// and then commits; each activity commits, sends, and deletes its own message.
func workflow(s store, r *rand.Rand, seq *atomic.Int64, took *[]time.Duration) error {
	id := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, r.Uint64()), r.Uint64())
	var message []byte
	for slot := range uint32(4) {
		own := message
		if slot == 0 {
			message = newMessage(seq)
			if err := s.insert(message, valueOf(r)); err != nil {
				return err
			}
		}
		value := valueOf(r)
		began := time.Now()
		if err := s.append(logKey(id, 1, slot+1), value); err != nil {
			return err
		}
		*took = append(*took, time.Since(began))
		if slot == 1 || slot == 2 {
			message = newMessage(seq)
			if err := s.insert(message, valueOf(r)); err != nil {
				return err
			}
		}
		if own != nil {
			if err := s.remove(own); err != nil {
				return err
			}
		}
	}
	return nil
}

func newMessage(seq *atomic.Int64) []byte {
	return messageKey(uint64(time.Now().UnixMilli()), uint64(seq.Add(1)))
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// disk is the space that 100,000 workflows take, while open, closed, and after
// the library compacted what it can. It reports the sustained rate as well.
func disk(open opener) error {
	const count = 100_000
	s, err := open()
	if err != nil {
		return err
	}
	written := bytesWritten()
	if err := runFlow(s, count); err != nil {
		return err
	}
	report("open", float64(diskBytes(*dir))/count, "B/wf")
	report("written", float64(bytesWritten()-written)/count, "B/wf")
	if err := s.close(); err != nil {
		return err
	}
	report("closed", float64(diskBytes(*dir))/count, "B/wf")
	if s, err = open(); err != nil {
		return err
	}
	began := time.Now()
	if err := s.compact(); err != nil {
		return err
	}
	report("compaction", time.Since(began).Seconds(), "s")
	if err := s.close(); err != nil {
		return err
	}
	report("compacted", float64(diskBytes(*dir))/count, "B/wf")
	return nil
}

// diskBytes counts allocated blocks, so holes in a file cost nothing.
func diskBytes(root string) (total int64) {
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		var st syscall.Stat_t
		if err == nil && syscall.Lstat(path, &st) == nil {
			total += st.Blocks * 512
		}
		return nil
	})
	return total
}

// bytesWritten is what this machine's disks were sent, journal included. The
// counter of the process is no use: it counts a whole folio for each dirty page.
func bytesWritten() (total int64) {
	text, _ := os.ReadFile("/proc/diskstats")
	for _, line := range strings.Split(string(text), "\n") {
		field := strings.Fields(line)
		if len(field) < 10 || strings.HasPrefix(field[2], "loop") || strings.HasPrefix(field[2], "ram") {
			continue
		}
		if _, err := os.Stat("/sys/block/" + field[2]); err != nil {
			continue // a partition, counted with its disk
		}
		n, _ := strconv.ParseInt(field[9], 10, 64)
		total += n * 512
	}
	return total
}

// read is the latency of backward reads among a million items.
func read(open opener) error {
	s, err := open()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(4, 4))
	for _, c := range []struct {
		what       string
		times, len int
		id         func() int
	}{
		{"one", 20_000, 1, func() int { return r.IntN(baseItems/4 - longRun) }},
		{"four", 20_000, 4, func() int { return r.IntN(baseItems/4 - longRun) }},
		{"thousand", 500, longRun, func() int { return -1 }},
	} {
		var took []time.Duration
		for range c.times {
			prefix := runPrefix(workflowID(c.id()), 1)
			began := time.Now()
			values, err := s.latest(prefix, c.len)
			took = append(took, time.Since(began))
			if err != nil || len(values) != c.len {
				return fmt.Errorf("%s: %d values, %w", c.what, len(values), err)
			}
		}
		percentiles(c.what, took)
	}
	return s.close()
}

// memory is what an open store costs while nothing happens.
func memory(open opener) error {
	s, err := open()
	if err != nil {
		return err
	}
	time.Sleep(time.Second)
	report("goroutines", float64(runtime.NumGoroutine()-1), "")
	cpu := cpuTime()
	time.Sleep(5 * time.Second)
	report("idlecpu", float64((cpuTime()-cpu).Microseconds())/5, "us/s")
	residents("fresh")
	r := rand.New(rand.NewPCG(5, 5))
	for range 50_000 {
		if _, err := s.latest(runPrefix(workflowID(r.IntN(baseItems/4-longRun)), 1), 4); err != nil {
			return err
		}
	}
	if err := runFlow(s, 10_000); err != nil {
		return err
	}
	time.Sleep(time.Second)
	residents("used")
	return s.close()
}

func residents(when string) {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		field := strings.Fields(line)
		if len(field) == 3 && strings.HasPrefix(field[0], "Rss") || strings.HasPrefix(line, "VmRSS") {
			var kb float64
			_, _ = fmt.Sscan(field[1], &kb)
			report(when+"."+strings.TrimSuffix(field[0], ":"), kb/1024, "MiB")
		}
	}
}

// openClean is the time to open and read one run.
func openClean(open opener) error {
	began := time.Now()
	s, err := open()
	if err != nil {
		return err
	}
	if v, err := s.latest(runPrefix(workflowID(7), 1), 4); err != nil || len(v) != 4 {
		return fmt.Errorf("%d values, %w", len(v), err)
	}
	report("open", float64(time.Since(began).Microseconds())/1e3, "ms")
	return s.close()
}

// dirty works for a while and dies without closing.
func dirty(open opener) error {
	s, err := open()
	if err != nil {
		return err
	}
	if err := runFlow(s, 8_000); err != nil {
		return err
	}
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// queue inserts, finds and removes messages in a row, and compares the cost of
// the first ten thousand with that of the last. The plain scan starts at the
// front of the queue each time; the other starts at the last key it removed.
func queue(open opener) error {
	s, err := open()
	if err != nil {
		return err
	}
	for _, c := range []struct {
		what          string
		count, window int
		cursor        bool
	}{
		{"plain1", 20_000, 1, false}, {"plain64", 200_000, 64, false}, {"cursor64", 200_000, 64, true},
	} {
		if err := drain(s, c.what, c.count, c.window, c.cursor); err != nil {
			return err
		}
	}
	return s.close()
}

func drain(s store, what string, count, window int, cursor bool) error {
	r := rand.New(rand.NewPCG(6, 6))
	from, seq := []byte("q"), uint64(0)
	part, began, cpu := count/20, time.Now(), cpuTime()
	for done := 0; done < count; {
		for range window {
			seq++
			if err := s.insert(messageKey(uint64(time.Now().UnixMilli()), seq), valueOf(r)); err != nil {
				return err
			}
		}
		keys, err := s.next(from, window)
		if err != nil || len(keys) != window {
			return fmt.Errorf("%s: %d keys after %d, %w", what, len(keys), done, err)
		}
		for _, k := range keys {
			if err := s.remove(k); err != nil {
				return err
			}
			if cursor {
				from = k
			}
		}
		if before := done / part; before != (done+window)/part && (before == 0 || before == 19) {
			report(fmt.Sprintf("%s.part%d", what, before+1), float64(time.Since(began).Microseconds())/float64(part), "us/msg")
		}
		if done += window; done/part != (done-window)/part {
			began = time.Now()
		}
	}
	report(what+".cpu", float64((cpuTime()-cpu).Microseconds())/float64(count), "us/msg")
	return nil
}
