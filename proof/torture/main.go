package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// scenario is one way in which the server is disturbed.
type scenario struct {
	name string
	what string
	// weight is the scenario's share of a limited time. It is a share of what is left after each
	// scenario has the time that it always takes (least).
	weight float64
	least  time.Duration
	// run runs the scenario. An error is a failure, unless its type is skipped.
	run func(*testbed) error
	// aside says that it mostly waits, so that the short form runs it in parallel with the others.
	aside bool
}

// scenarios are all scenarios.
var scenarios = slices.Concat(processScenarios, fileScenarios, diskScenarios, clockScenarios, clientScenarios, poisonScenarios, soakScenarios)

// skipped is the reason why a scenario could not run here.
type skipped string

// Error returns the reason.
func (s skipped) Error() string { return "skipped: " + string(s) }

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Args = slices.Delete(os.Args, 1, 2)
		serve()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "serve-counted" {
		os.Args = slices.Delete(os.Args, 1, 2)
		serveCounted()
		return
	}
	if len(os.Args) == 5 && os.Args[1] == "serve-shifted" {
		first, err := time.ParseDuration(os.Args[4])
		if err == nil {
			err = serveShifted(os.Args[2], os.Args[3], first)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "weft:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(torture())
}

// torture runs the scenarios that the flags select, and returns the exit status.
func torture() int {
	list := flag.Bool("list", false, "list the scenarios")
	only := flag.String("only", "", "run these scenarios only: names with commas between")
	except := flag.String("except", "", "leave these out")
	seed := flag.Uint64("seed", 0, "the seed of all choices; 0 means a random one")
	minutes := flag.String("minutes", os.Getenv("TORTURE_MINUTES"), "about how long all scenarios may take; empty means the full form (hours). The default is TORTURE_MINUTES")
	keep := flag.Bool("keep", false, "keep the directories of scenarios that failed")
	out := flag.String("out", "", "the file for the results, a table in Markdown; empty means bin/torture-TIME.md")
	flag.Parse()
	if *list {
		for _, c := range scenarios {
			fmt.Printf("%-16s %s\n", c.name, c.what)
		}
		return 0
	}
	chosen, err := choose(*only, *except)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return 2
	}
	var total time.Duration
	if *minutes != "" {
		m, err := strconv.ParseFloat(*minutes, 64)
		if err != nil || m <= 0 {
			fmt.Fprintf(os.Stderr, "torture: TORTURE_MINUTES is %q: give a number of minutes\n", *minutes)
			return 2
		}
		total = time.Duration(m * float64(time.Minute))
	}
	if *seed == 0 {
		*seed = rand.Uint64()>>1 + 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t := &tournament{seed: *seed, total: total, keep: *keep, began: time.Now(), command: command(*only, *except, *minutes)}
	if err := t.openResults(*out); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return 2
	}
	fmt.Printf("%d scenarios, seed %d; results: %s\n", len(chosen), t.seed, t.results)
	t.play(ctx, chosen)
	return t.report()
}

// command returns the command that runs the same scenarios for the same time.
func command(only, except, minutes string) string {
	c := "go run ./proof/torture"
	for _, f := range [][2]string{{"only", only}, {"except", except}, {"minutes", minutes}} {
		if f[1] != "" {
			c += " -" + f[0] + " " + f[1]
		}
	}
	return c
}

// choose returns the named scenarios, or all, without those in except.
func choose(only, except string) (chosen []scenario, err error) {
	names, out := strings.Split(only, ","), strings.Split(except, ",")
	for _, name := range append(names, out...) {
		if name != "" && !slices.ContainsFunc(scenarios, func(c scenario) bool { return c.name == name }) {
			return nil, fmt.Errorf("unknown scenario %q: -list lists them", name)
		}
	}
	for _, c := range scenarios {
		if (only == "" || slices.Contains(names, c.name)) && !slices.Contains(out, c.name) {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// outcome is the outcome of a scenario.
type outcome struct {
	scenario
	err   error
	took  time.Duration
	notes []string
}

// lanes is how many scenarios that mostly wait run in parallel with the others in the short form.
const lanes = 3

// tournament is one run of the harness.
type tournament struct {
	seed    uint64
	total   time.Duration // for all scenarios; 0 means the full form
	keep    bool
	began   time.Time
	command string
	results string // the name of the file with the results

	mu       sync.Mutex
	outcomes []outcome
}

// openResults creates the folder of the file with the results.
func (t *tournament) openResults(name string) error {
	if name == "" {
		name = filepath.Join("bin", "torture-"+t.began.UTC().Format("20060102-150405")+".md")
	}
	t.results = name
	return os.MkdirAll(filepath.Dir(name), 0o755)
}

// play runs scenarios. In the full form they run one after the other, so that nothing disturbs
// their measurements.
func (t *tournament) play(ctx context.Context, chosen []scenario) {
	var busy, waiting []scenario
	for _, c := range chosen {
		if t.total > 0 && c.aside {
			waiting = append(waiting, c)
		} else {
			busy = append(busy, c)
		}
	}
	slices.SortStableFunc(waiting, func(a, b scenario) int { return cmp.Compare(b.least, a.least) })
	var running sync.WaitGroup
	running.Go(func() { t.playEach(ctx, busy, 1) })
	running.Go(func() { t.playEach(ctx, waiting, lanes) })
	running.Wait()
}

// playEach runs scenarios, atOnce at a time, and divides the time among them.
func (t *tournament) playEach(ctx context.Context, chosen []scenario, atOnce int) {
	left, weights := t.total*time.Duration(atOnce), 0.0
	if atOnce > 1 {
		left = left * 7 / 10 // their durations differ
	}
	for _, c := range chosen {
		left -= c.least
		weights += c.weight
	}
	next := make(chan scenario)
	var running sync.WaitGroup
	for range atOnce {
		running.Go(func() {
			for c := range next {
				var budget time.Duration
				if t.total > 0 {
					budget = max(time.Duration(float64(left)*c.weight/weights), time.Millisecond)
				}
				t.playOne(ctx, c, budget)
			}
		})
	}
	for _, c := range chosen {
		if ctx.Err() == nil {
			next <- c
		}
	}
	close(next)
	running.Wait()
}

// playOne runs a scenario and records its outcome.
func (t *tournament) playOne(ctx context.Context, c scenario, budget time.Duration) {
	o := outcome{scenario: c}
	began := time.Now()
	s, err := newTestbed(ctx, c, t.seed, budget)
	if err == nil {
		err = c.run(s)
		o.notes = s.notes
		s.close(t.keep && err != nil)
	}
	o.err, o.took = err, time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outcomes = append(t.outcomes, o)
	fmt.Printf("%-16s %-7s %6.1fs  %s\n", c.name, o.verdict(), o.took.Seconds(), strings.Join(o.notes, "; "))
	if err != nil {
		fmt.Printf("    %s\n", strings.ReplaceAll(err.Error(), "\n", "\n    "))
		if t.keep && o.verdict() == "FAILED" {
			fmt.Printf("    its directory: %s\n", s.root)
		}
	}
	if err := t.write(); err != nil {
		fmt.Printf("    the results cannot be written: %v\n", err)
	}
}

func (o outcome) verdict() string {
	switch o.err.(type) {
	case nil:
		return "ok"
	case skipped:
		return "skipped"
	}
	return "FAILED"
}

// write writes the results so far. The caller holds the lock.
func (t *tournament) write() error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, commit %s, `%s`, seed %d, %d processors\n\n| scenario | what was done | outcome | took |\n|---|---|---|---|\n",
		t.began.UTC().Format("2006-01-02 15:04"), commit(), t.command, t.seed, runtime.NumCPU())
	for _, o := range t.outcomes {
		verdict := o.verdict()
		if o.err != nil {
			verdict += ": " + firstLine(o.err.Error())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %v |\n", o.name, cell(strings.Join(o.notes, "; ")), cell(verdict), o.took.Round(time.Second))
	}
	return os.WriteFile(t.results, []byte(b.String()), 0o644)
}

// cell formats a text as a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// firstLine returns the first line of a text, shortened.
func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text[:min(len(text), 300)]
}

// commit returns the commit that is checked out, followed by + if the tree differs from it.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	if changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output(); err == nil && len(changed) > 0 {
		name += "+"
	}
	return name
}

// report prints the table and returns the exit status.
func (t *tournament) report() (status int) {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "scenario\toutcome\ttook\twhat was done")
	for _, o := range t.outcomes {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%.1fs\t%s\n", o.name, o.verdict(), o.took.Seconds(), strings.Join(o.notes, "; "))
		if o.verdict() == "FAILED" {
			status = 1
		}
	}
	_ = w.Flush()
	fmt.Printf("\n%d scenarios in %v, seed %d; results: %s\n", len(t.outcomes), time.Since(t.began).Round(time.Second), t.seed, t.results)
	for _, o := range t.outcomes {
		if o.verdict() == "FAILED" {
			// Once more, because CI shows the end of its output only.
			fmt.Printf("%s failed: %s\n", o.name, o.err)
			fmt.Printf("repeat %s with: go run ./proof/torture -only %s -seed %d\n", o.name, o.name, t.seed)
		}
	}
	return status
}
