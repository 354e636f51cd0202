// Command bench measures Weft as users meet it: a server in a process of its own, over HTTP, with
// the Go client. It also measures the floors of the same run: what a bare coroutine switch, a
// durable write of the server's store and a bare HTTP exchange cost on this machine now. Figures
// are medians over several rounds. The aims are those of docs/performance.md. Figures for DynamoDB
// need a server in WEFT_DYNAMODB, as name=address: `make bench` starts one.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// figure is one row of the report.
type figure struct {
	name  string
	got   string
	floor string
	aim   string
}

// report prints a row at once.
func report(f figure) {
	fmt.Printf("%-90s %-50s %-44s %s\n", f.name, f.got, f.floor, f.aim)
}

func main() {
	do := run
	if len(os.Args) == 5 && os.Args[1] == contenderCommand {
		do = func() error { return runContender(os.Args[2], os.Args[3], os.Args[4]) }
	}
	if len(os.Args) == 2 && os.Args[1] == functionCommand {
		do = runFunction
	}
	if len(os.Args) == 2 && os.Args[1] == echoCommand {
		do = runEcho
	}
	if len(os.Args) == 4 && os.Args[1] == serverCommand {
		do = func() error { return runServer(os.Args[2], os.Args[3]) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	fmt.Printf("%s, %d cores, GOMAXPROCS %d\n\n", runtime.Version(), runtime.NumCPU(), runtime.GOMAXPROCS(0))
	report(figure{"figure", "measured", "floor of the same run", "aim"})
	for _, measure := range []func() error{switches, checks, replays, exportedReplay, fanOut, latency, throughput, updates, hotRun, longRuns, contention, idleMemory, coldStart} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// percentile returns a percentile of durations.
func percentile(d []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*p))]
}

// rounds calls fn n times and returns the median of its results.
func rounds(n int, fn func() (time.Duration, error)) (time.Duration, error) {
	var all []time.Duration
	for range n {
		d, err := fn()
		if err != nil {
			return 0, err
		}
		all = append(all, d)
	}
	return percentile(all, 0.5), nil
}

func timed(fn func() error) (time.Duration, error) {
	begin := time.Now()
	err := fn()
	return time.Since(begin), err
}

// counted formats a number with the singular or plural of a noun.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func micros(d time.Duration) string { return fmt.Sprintf("%.2f µs", float64(d)/1e3) }
func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }
