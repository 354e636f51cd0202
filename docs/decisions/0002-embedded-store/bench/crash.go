package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// The crash test. writers append slot after slot to a run of their own, and
// print what they know to be safe; readers print what they have seen. Whoever
// started this process kills it, or the file system under it, and then runs
// crashCheck with the same output.
//
// Writer w does, for slot k: insert message k, append k, remove message k-1.
// So if slot k is found, messages k must be there and k-2 and before must not.

const crashWriters, crashReaders = 16, 4

func crashID(w int) []byte { return workflowID(1_000 + w) }

func crashMessage(w, k int) []byte { return messageKey(uint64(w), uint64(k)) }

func crashWrite(open opener) error {
	s, err := open()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for w := range crashWriters {
		wg.Go(func() { crashWriter(s, w) })
	}
	for i := range crashReaders {
		wg.Go(func() { crashReader(s, i) })
	}
	wg.Wait()
	return errors.New("all writers stopped")
}

func crashWriter(s store, w int) {
	first := 1
	if have, _ := s.latest(runPrefix(crashID(w), 1), 1); len(have) == 1 {
		first = slotIn(have[0]) + 1
	}
	for k := first; ; k++ {
		value := fmt.Appendf(nil, "%d %0290d", k, w)
		if s.insert(crashMessage(w, k), value) != nil || s.append(logKey(crashID(w), 1, uint32(k)), value) != nil {
			return
		}
		fmt.Printf("%d %d acknowledged\n", w, k)
		if k > 1 && s.remove(crashMessage(w, k-1)) != nil {
			return
		}
	}
}

func slotIn(value []byte) (slot int) {
	_, _ = fmt.Sscan(string(value[:20]), &slot)
	return slot
}

func crashReader(s store, i int) {
	for w := i; ; w = (w + crashReaders) % crashWriters {
		have, err := s.latest(runPrefix(crashID(w), 1), 1)
		if err != nil {
			return
		}
		if len(have) == 1 {
			fmt.Printf("%d %d seen\n", w, slotIn(have[0]))
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// crashCheck reads the lines that crashWrite printed, in the file named by
// CRASH_LOG, and looks for what was promised and is gone.
func crashCheck(open opener) error {
	promised, err := readPromises(os.Getenv("CRASH_LOG"))
	if err != nil {
		return err
	}
	s, err := open()
	if err != nil {
		return err
	}
	keys, err := s.next([]byte("q"), 1<<20)
	if err != nil {
		return err
	}
	messages := map[string]bool{}
	for _, k := range keys {
		messages[string(k)] = true
	}
	total, lost := 0, 0
	for w := range crashWriters {
		have, err := s.latest(runPrefix(crashID(w), 1), 1<<20)
		if err != nil {
			return err
		}
		n := len(have)
		total += n
		if n > 0 && slotIn(have[0]) != n {
			return fmt.Errorf("writer %d: %d items, the last is slot %d", w, n, slotIn(have[0]))
		}
		if n < promised[w] {
			lost++
			fmt.Printf("LOST writer %d: promised slot %d, found %d\n", w, promised[w], n)
		}
		for k := 1; k <= n; k++ {
			if there := messages[string(crashMessage(w, k))]; k == n && !there || k <= n-2 && there {
				lost++
				fmt.Printf("ORDER writer %d of %d: message %d there is %v\n", w, n, k, there)
			}
		}
	}
	for _, k := range keys { // so that the next round may use these keys again
		if err := s.remove(k); err != nil {
			return err
		}
	}
	fmt.Printf("items %d, messages %d, broken promises %d\n", total, len(keys), lost)
	return s.close()
}

func readPromises(file string) (promised [crashWriters]int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return promised, err
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var w, k int
		if n, _ := fmt.Sscan(sc.Text(), &w, &k); n == 2 {
			promised[w] = max(promised[w], k)
		}
	}
	return promised, nil
}

// second opens the directory twice: here, and in a process that it starts.
func second(open opener) error {
	if os.Getenv("SECOND") != "" {
		s, err := open()
		if err != nil {
			return err
		}
		err = s.append(logKey(workflowID(2), 1, 1), []byte("second"))
		fmt.Println("second process opened; its append:", err)
		return s.close()
	}
	s, err := open()
	if err != nil {
		return err
	}
	if err := s.append(logKey(workflowID(1), 1, 1), []byte("first")); err != nil {
		return err
	}
	began := time.Now()
	out, err := child(*name, *dir, "second", "SECOND=yes").CombinedOutput()
	fmt.Printf("%s(%v, after %v)\n", out, err, time.Since(began).Round(time.Millisecond))
	return s.close()
}

// fullDisk appends until something gives way, then says whether reads still work.
func fullDisk(open opener) error {
	s, err := open()
	if err != nil {
		return err
	}
	value := make([]byte, 16<<10)
	for i := 0; i < len(value); i += 8 {
		binary.BigEndian.PutUint64(value[i:], rand.Uint64())
	}
	for i := 0; ; i++ {
		err := s.append(logKey(workflowID(i), 1, 1), value)
		if err == nil {
			continue
		}
		fmt.Printf("append %d: %v\n", i, err)
		have, err := s.latest(runPrefix(workflowID(i-1), 1), 1)
		fmt.Printf("the one before reads back: %d %v\n", len(have), err)
		have, err = s.latest(runPrefix(workflowID(i), 1), 1)
		fmt.Printf("the failed one reads: %d %v\n", len(have), err)
		fmt.Println("again:", s.append(logKey(workflowID(i), 1, 1), value))
		if ballast := filepath.Join(*dir, "..", "ballast"); os.Remove(ballast) == nil {
			fmt.Println("after space was freed:", s.append(logKey(workflowID(i+1), 1, 1), value))
		}
		fmt.Println("close:", s.close())
		return nil
	}
}
