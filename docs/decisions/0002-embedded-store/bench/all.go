package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// all runs every measurement on every store, run by run, so that a disturbance
// does not fall on one store alone.
func all() error {
	list := names(stores)
	if *name != "" {
		list = strings.Split(*name, ",")
	}
	what := []string{"idle", "worn", "flow", "flow1m", "paced", "disk", "read", "open", "recover", "memory", "queue"}
	if *only != "" {
		what = strings.Split(*only, ",")
	}
	results := map[string][]float64{}
	var order []string
	for run := range *runs {
		for _, w := range what {
			for _, st := range list {
				lines, err := measureOne(st, w)
				if err != nil {
					fmt.Fprintf(os.Stderr, "run %d %s %s: %v\n", run, st, w, err)
					continue
				}
				for _, l := range lines {
					key := w + " " + l.what + " " + l.unit + "\t" + st
					if results[key] == nil {
						order = append(order, key)
					}
					results[key] = append(results[key], l.value)
				}
			}
		}
	}
	for _, key := range order {
		v := results[key]
		slices.Sort(v)
		fmt.Printf("%-50s %10.4g  (%.4g - %.4g, n=%d)\n", key, v[len(v)/2], v[0], v[len(v)-1], len(v))
	}
	return nil
}

type line struct {
	what  string
	value float64
	unit  string
}

// measureOne runs one measurement in a child process and a fresh directory. It
// repeats one during which others kept the processors busy.
func measureOne(st, what string) ([]line, error) {
	const tries, tolerated = 6, 0.3
	for try := 1; ; try++ {
		if err := prepare(st, what); err != nil {
			return nil, err
		}
		out, others, err := watched(st, what)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		if others < tolerated || try == tries {
			return append(parse(out), line{"others", others, "cores"}), nil
		}
		fmt.Fprintf(os.Stderr, "%s %s: others used %.2f cores, again\n", st, what, others)
		time.Sleep(15 * time.Second)
	}
}

func prepare(st, what string) error {
	work := filepath.Join(*dir, "work")
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	if !measurements[what].base {
		return os.MkdirAll(work, 0o755)
	}
	if err := copyBase(st, work); err != nil {
		return err
	}
	if what == "recover" { // leaves what a kill leaves; its error is that kill
		_, _ = child(st, work, "dirty").CombinedOutput()
	}
	return nil
}

// watched runs a child and says how many cores were busy with something else.
func watched(st, what string) (out []byte, others float64, err error) {
	cmd := child(st, filepath.Join(*dir, "work"), what)
	busy, began := machineTime(), time.Now()
	out, err = cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return out, 0, err
	}
	own := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return out, (machineTime() - busy - own).Seconds() / time.Since(began).Seconds(), err
}

// machineTime is the processor time that everything on this machine has used.
func machineTime() (used time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	first, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(first) {
		if n, err := strconv.Atoi(field); err == nil && i != 4 && i != 5 { // idle, iowait
			used += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return used
}

func parse(out []byte) (lines []line) {
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		var l line
		if n, _ := fmt.Sscan(sc.Text(), &l.what, &l.value, &l.unit); n >= 2 {
			lines = append(lines, l)
		}
	}
	return lines
}

// copyBase gives a run its own copy of the million items, made on first use.
func copyBase(st, work string) error {
	base := filepath.Join(*dir, "base-"+st)
	if _, err := os.Stat(base); err != nil {
		if err := os.MkdirAll(base, 0o755); err != nil {
			return err
		}
		if out, err := child(st, base, "fill").CombinedOutput(); err != nil {
			return fmt.Errorf("fill: %w: %s", err, out)
		}
	}
	return exec.Command("sh", "-c", `cp -a --sparse=always "$0" "$1" && sync -f "$1"`, base, work).Run()
}

func child(st, where, what string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-store", st, "-dir", where, what)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
