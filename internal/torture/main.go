package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// scenario is something that is done to the server.
type scenario struct {
	name string
	what string
	// weight is its share of a limited time.
	weight float64
	// run does it. An error is a failure; errSkipped is none.
	run func(*scene) error
}

// scenarios are all that there are.
var scenarios = slices.Concat(processScenarios, fileScenarios, diskScenarios, clockScenarios, clientScenarios, poisonScenarios, soakScenarios)

// skipped is why a scenario could not run here.
type skipped string

// Error is the reason.
func (s skipped) Error() string { return "skipped: " + string(s) }

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Args = slices.Delete(os.Args, 1, 2)
		serve()
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
	seed := flag.Uint64("seed", 0, "the seed of all choices; 0 is a fresh one")
	minutes := flag.String("minutes", os.Getenv("TORTURE_MINUTES"), "how long all may take, about; empty is the full form (hours). TORTURE_MINUTES is its default")
	keep := flag.Bool("keep", false, "keep the directories of scenarios that failed")
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
	return report(all(ctx, chosen, *seed, total, *keep), *seed)
}

// choose returns the scenarios that are named, or all, without those that are left out.
func choose(only, except string) (chosen []scenario, err error) {
	names, out := strings.Split(only, ","), strings.Split(except, ",")
	for _, name := range append(names, out...) {
		if name != "" && !slices.ContainsFunc(scenarios, func(c scenario) bool { return c.name == name }) {
			return nil, fmt.Errorf("there is no scenario %q: -list lists them", name)
		}
	}
	for _, c := range scenarios {
		if (only == "" || slices.Contains(names, c.name)) && !slices.Contains(out, c.name) {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// outcome is what became of a scenario.
type outcome struct {
	scenario
	err   error
	took  time.Duration
	notes []string
}

// all runs scenarios one after the other.
func all(ctx context.Context, chosen []scenario, seed uint64, total time.Duration, keep bool) (outcomes []outcome) {
	var weights float64
	for _, c := range chosen {
		weights += c.weight
	}
	for _, c := range chosen {
		if ctx.Err() != nil {
			return outcomes
		}
		began := time.Now()
		o := outcome{scenario: c}
		s, err := newScene(ctx, c, seed, time.Duration(float64(total)*c.weight/weights))
		if err == nil {
			err = c.run(s)
			o.notes = s.notes
			s.close(keep && err != nil)
		}
		o.err, o.took = err, time.Since(began)
		outcomes = append(outcomes, o)
		fmt.Printf("%-16s %-7s %6.1fs  %s\n", c.name, o.verdict(), o.took.Seconds(), strings.Join(o.notes, "; "))
		if err != nil {
			fmt.Printf("    %s\n", strings.ReplaceAll(err.Error(), "\n", "\n    "))
			if keep && o.verdict() == "FAILED" {
				fmt.Printf("    its directory: %s\n", s.root)
			}
		}
	}
	return outcomes
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

// report prints the table and returns the exit status.
func report(outcomes []outcome, seed uint64) (status int) {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "scenario\toutcome\ttook\twhat was done")
	var took time.Duration
	for _, o := range outcomes {
		took += o.took
		_, _ = fmt.Fprintf(w, "%s\t%s\t%.1fs\t%s\n", o.name, o.verdict(), o.took.Seconds(), strings.Join(o.notes, "; "))
		if o.verdict() == "FAILED" {
			status = 1
		}
	}
	_ = w.Flush()
	fmt.Printf("\n%d scenarios in %v, seed %d\n", len(outcomes), took.Round(time.Second), seed)
	for _, o := range outcomes {
		if o.verdict() == "FAILED" {
			fmt.Printf("repeat %s with: go run ./internal/torture -only %s -seed %d\n", o.name, o.name, seed)
		}
	}
	return status
}
