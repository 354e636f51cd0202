package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/filter"
)

// The bounds of a batch. What is in its input is in that of each step, too.
const (
	// mostRuns is how many runs a batch may match at most.
	mostRuns = 1_000_000

	leastRate, mostRate = 0.01, 1000
	mostReason          = 1 << 10
	mostBuild           = 1 << 10
	mostInput           = 16 << 10
	// mostProblems is how many of its last problems a batch keeps, and mostText how long a reason
	// is, in bytes.
	mostProblems = 20
	mostText     = 300
	// mostGroups is how many groups a dry run has. It counts others together.
	mostGroups = 200
)

// Check returns what is wrong with a batch.
func Check(in *stored.Input) error {
	if err := engine.CheckID("batchId", in.ID); err != nil {
		return err
	}
	if err := engine.CheckID("key", in.Key); err != nil {
		return err
	}
	if err := checkFilter(in.Filter); err != nil {
		return err
	}
	if in.MostRuns < 1 || in.MostRuns > mostRuns {
		return fmt.Errorf("mostRuns is how many runs the batch may match: give 1 to %d, or nothing for %d", mostRuns, stored.DefaultMostRuns)
	}
	if err := checkRate(in.Rate); err != nil {
		return err
	}
	switch {
	case in.Action != nil:
		return checkAction(in.Action)
	case !in.DryRun:
		return fmt.Errorf("the action is missing: give one of %s, or dryRun to count the runs", kinds())
	}
	return nil
}

func kinds() string {
	var all []string
	for _, k := range stored.Kinds {
		all = append(all, string(k))
	}
	return strings.Join(all, ", ")
}

func checkFilter(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("the filter is missing: say which runs the batch is for, for example ExecutionStatus = 'Running'")
	}
	f, err := filter.Parse(text)
	if err != nil {
		return err
	}
	if f.Order() != filter.LatestStart {
		return errors.New("a batch takes the runs that started last first: leave ORDER BY out of its filter")
	}
	return nil
}

func checkRate(rate float64) error {
	if rate != 0 && !(rate >= leastRate && rate <= mostRate) {
		return fmt.Errorf("the rate is how many runs are acted on in a second: give %v to %v, or 0 for no limit", leastRate, mostRate)
	}
	return nil
}

func checkReason(reason string) error {
	if len(reason) > mostReason {
		return fmt.Errorf("the reason has %d bytes: give at most %d", len(reason), mostReason)
	}
	return nil
}

func checkBuild(build string) error {
	if len(build) > mostBuild {
		return fmt.Errorf("the build has %d bytes: give at most %d", len(build), mostBuild)
	}
	return nil
}

// checkAction returns what is wrong with an action: what is missing, and what another kind takes.
func checkAction(a *stored.Action) error {
	takes := func(what string, given bool, kinds ...stored.Kind) error {
		if given && !slices.Contains(kinds, a.Kind) {
			return fmt.Errorf("%s takes no %s: leave it out", a.Kind, what)
		}
		return nil
	}
	if !slices.Contains(stored.Kinds, a.Kind) {
		return fmt.Errorf("there is no action %q: give one of %s", a.Kind, kinds())
	}
	for _, err := range []error{
		takes("reason", a.Reason != "", stored.Cancel, stored.Terminate, stored.Reset, stored.Pause, stored.Resume),
		takes("signalName", a.Signal != "", stored.Signal),
		takes("input", len(a.Input) > 0, stored.Signal),
		takes("to", a.To != "", stored.Reset),
		takes("exclude", len(a.Exclude) > 0, stored.Reset),
		takes("build", a.Build != "", stored.Reset, stored.Move),
		takes("unpin", a.Unpin, stored.Move),
		checkReason(a.Reason),
		checkBuild(a.Build),
	} {
		if err != nil {
			return err
		}
	}
	switch a.Kind {
	case stored.Signal:
		return checkSignal(a)
	case stored.Reset:
		return checkReset(a)
	case stored.Move:
		if a.Build != "" && a.Unpin {
			return fmt.Errorf("a move to build %q cannot unpin the runs: give either", a.Build)
		}
	case stored.Cancel, stored.Terminate, stored.Delete, stored.Retry, stored.Pause, stored.Resume:
	}
	return nil
}

func checkSignal(a *stored.Action) error {
	if a.Signal == "" {
		return errors.New("the signal has no name: give signalName")
	}
	if err := engine.CheckName("signal's name", a.Signal); err != nil {
		return err
	}
	if len(a.Input) > mostInput {
		return fmt.Errorf("the input of the signal has %d bytes: a batch keeps it in each step, give at most %d", len(a.Input), mostInput)
	}
	return nil
}

func checkReset(a *stored.Action) error {
	if (a.To == "") == (a.Build == "") {
		return errors.New("say what to reset to: give one of to and build")
	}
	if a.To != "" && a.To != "firstTask" && a.To != "lastTask" {
		return fmt.Errorf("there is no task %q to reset to: give firstTask or lastTask", a.To)
	}
	for i, what := range a.Exclude {
		if what != "updates" && what != "signals" {
			return fmt.Errorf("a reset cannot exclude %q: give updates or signals", what)
		}
		if slices.Contains(a.Exclude[:i], what) {
			return fmt.Errorf("the reset excludes %s twice: give it once", what)
		}
	}
	return nil
}
