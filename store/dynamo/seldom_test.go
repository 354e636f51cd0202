package dynamo

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// A repeated damage is reported once an hour, and the memory for reports is bounded.
func TestSeldom(t *testing.T) {
	t.Parallel()
	now, reports := checkedAt, map[string]int{}
	report := seldom(func(err error) { reports[err.Error()]++ }, func() time.Time { return now })
	for minute := range 121 { // as sweeps do
		now = checkedAt.Add(time.Duration(minute) * time.Minute)
		report(errors.New("a"))
		report(errors.New("b"))
	}
	if reports["a"] != 3 || reports["b"] != 3 {
		t.Errorf("in two hours: %v, want 3 each", reports)
	}
	for i := range mostReported {
		report(fmt.Errorf("other %d", i))
	}
	if report(errors.New("a")); reports["a"] != 4 {
		t.Errorf("%d reports, want 4: what was remembered is forgotten", reports["a"])
	}
}
