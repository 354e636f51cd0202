package filter_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/store"
)

// retried draws an expression about retries and an attribute of the row, and what it says.
func retried(t *rapid.T, depth int) (text string, is func(failing []string, charge bool) bool) {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return "Retrying", func(failing []string, _ bool) bool { return len(failing) > 0 }
	case 1:
		return "FailingActivity = 'ship'", func(failing []string, _ bool) bool { return slices.Contains(failing, "ship") }
	case 2:
		return "FailingActivity IS NULL", func(failing []string, _ bool) bool { return len(failing) == 0 }
	case 3:
		return "WorkflowType = 'charge'", func(_ []string, charge bool) bool { return charge }
	case 4:
		text, is := retried(t, depth-1)
		return "NOT (" + text + ")", func(failing []string, charge bool) bool { return !is(failing, charge) }
	}
	one, isOne := retried(t, depth-1)
	other, isOther := retried(t, depth-1)
	if kind == 5 {
		return "(" + one + ") AND (" + other + ")", func(failing []string, charge bool) bool { return isOne(failing, charge) && isOther(failing, charge) }
	}
	return one + " OR " + other, func(failing []string, charge bool) bool { return isOne(failing, charge) || isOther(failing, charge) }
}

// A filter selects by retries what its twin does. Without them, it selects what meets it in any
// case, and its candidates are all that may meet it. A closed run has no retries.
func TestRetriesAreLikeTheirTwins(t *testing.T) {
	t.Parallel()
	states := [][]string{nil, {"ship"}, {"pay", "ship"}, {"pay"}}
	rapid.Check(t, func(t *rapid.T) {
		text, is := retried(t, 4)
		f, err := filter.Parse(text)
		if err != nil {
			if len(text) > filter.MaxLength {
				return
			}
			t.Fatalf("%s: %v", text, err)
		}
		for _, charge := range []bool{false, true} {
			row := &store.Summary{Type: fmt.Sprint(charge), Status: "running"}
			if charge {
				row.Type = "charge"
			}
			certain, possible := f.Store().Selects(row), f.Candidates().Selects(row)
			for _, failing := range states {
				got, want := f.Selects(row, &filter.Retries{Activities: failing}), is(failing, charge)
				if got != want || certain && !got || got && !possible || !f.NeedsRetries() && (certain != got || possible != got) {
					t.Fatalf("%s: %v with %q, want %v; certain %v, possible %v", text, got, failing, want, certain, possible)
				}
			}
			row.Status = "completed"
			if want := is(nil, charge); f.Store().Selects(row) != want || f.Candidates().Selects(row) != want {
				t.Fatalf("%s: of a closed run %v, want %v", text, f.Candidates().Selects(row), want)
			}
		}
	})
}

func TestGroupByRetries(t *testing.T) {
	t.Parallel()
	group, err := filter.Group("Retrying")
	if err != nil || !group.NeedsRetries() {
		t.Fatal(err)
	}
	row := &store.Summary{Status: "running"}
	if a, b := group.Of(row, &filter.Retries{}), group.Of(row, &filter.Retries{Activities: []string{"ship"}}); a != "false" || b != "true" {
		t.Error(a, b)
	}
	if other, err := filter.Group("Stuck"); err != nil || other.NeedsRetries() {
		t.Error(err)
	}
}
