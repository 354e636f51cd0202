package sim

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func init() {
	flag.Func("without", "faults that are not played, separated by commas: the ones that a failure does not need", func(names string) error {
		for name := range strings.SplitSeq(names, ",") {
			name = strings.TrimSpace(name)
			if name != batchesWord && name != notificationsWord && !slices.ContainsFunc(allFaults, func(f *fault) bool { return f.name == name }) {
				return fmt.Errorf("unknown fault %q", name)
			}
			without[name] = true
		}
		return nil
	})
}

// faultCounts has two counts for each fault, by the fault's number: the seeds in which it happened,
// and how often it happened.
type faultCounts [][2]int

func (c faultCounts) add(s *simulation) {
	for i := range s.faults {
		if n := s.faults[i].count; n > 0 {
			c[i][0]++
			c[i][1] += n
		}
	}
}

// String prints a line for each fault.
func (c faultCounts) String() string {
	var text strings.Builder
	for _, f := range allFaults {
		fmt.Fprintf(&text, "%-50s %7d times in %6d seeds\n", f.name, c[f.number][1], c[f.number][0])
	}
	return text.String()
}

// missing returns the faults that can be played and have not happened.
func (c faultCounts) missing() (faults []*fault) {
	for _, f := range allFaults {
		if c[f.number][0] == 0 && !without[f.name] {
			faults = append(faults, f)
		}
	}
	return faults
}

// Every fault has a unique name, a source and chances.
func TestFaults(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range allFaults {
		if names[f.name] || f.name == "" || f.name != strings.ToLower(f.name) || strings.Contains(f.name, ",") {
			t.Errorf("fault %q: the name is empty, not in lower case, has a comma, or is taken", f.name)
		}
		if names[f.name] = true; len(f.source) < 40 {
			t.Errorf("fault %q has no source", f.name)
		}
		if f.plans <= 0 || f.plans > 1 || f.chance <= 0 || f.chance > 1 {
			t.Errorf("fault %q: plans %v, chance %v; both are above 0 and at most 1", f.name, f.plans, f.chance)
		}
	}
}
