//go:build aws

package main

import (
	"math"
	"testing"

	"github.com/seed-41655fb1/weft/internal/price"
)

// underived has what operations cost besides what the logs of their runs say, each for one, and
// why.
var underived = map[string]struct {
	writes, messages float64
	reason           string
}{
	"start, an activity at a rate, end":                   {1, 0, "a log does not say that a task queue has a rate: each attempt makes a reservation"},
	"start, 2 activities at a rate, one waits, end":       {2, 1, "the same, and a copy of the message waits for its reservation"},
	"start, a timer of more than 15 minutes, end":         {2, 0, "the timer is short, and this deployment keeps it in the table: logs assume the usual longest delay"},
	"a batch that cancels 1,000 runs":                     {0, 0, "what a batch does with a run is no invocation of its own, and no log says which pages of the list it has read"},
	"start, an activity fails, retried by a request, end": {1, 1, "the request replaces the record of the attempt that failed, and sends a message beside the one that waits"},
}

// unlogged are operations that leave nothing in a log, so that no run has their cost.
var unlogged = map[string]bool{
	"query of a run of another build": true, rejected: true, "query": true, "update sent again": true, "poll of an update": true,
	"description of a run": true, "where its code waits": true, "wait of 20 s for an event that does not come, held": true, counting().name: true,
	"look at a topic": true, "wait of 20 s for an item that does not come, held": true,
}

// What the logs of runs say that they have cost is what was counted: writes, their units and
// messages are equal, and dollars are within 10 %. Storage is left out on both sides.
func TestDerivedCosts(t *testing.T) {
	t.Parallel()
	r := measurements(t)
	for _, o := range append(r.operations[:len(r.operations):len(r.operations)], r.longTimer) {
		n, b := float64(o.times), o.bill
		if unlogged[o.name] {
			if b.Derived != (price.Cost{}) || b.Writes != 0 {
				t.Errorf("%s: %+v is derived, and it leaves nothing in a log", o.name, b.Derived)
			}
			continue
		}
		more := underived[o.name]
		for what, pair := range map[string][2]float64{
			"writes":      {float64(b.Derived.Writes) + n*more.writes, float64(b.Writes)},
			"write units": {float64(b.Derived.WriteUnits) + n*more.writes, b.WriteUnits},
			"index units": {float64(b.Derived.IndexUnits), b.IndexUnits},
			"messages":    {float64(b.Derived.Messages) + n*more.messages, float64(b.Messages)},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: %v %s are derived, with those that logs leave out (%s), and %v were counted", o.name, pair[0], what, more.reason, pair[1])
			}
		}
		counted := b.dollars(terms{}) - float64(b.StoredBytes+b.IndexBytes)/(1<<30)*price.Storage*keptMonths
		if derived := b.Derived.Dollars(); more.reason == "" && math.Abs(derived-counted) > counted/10 {
			t.Errorf("%s: %d times, $%.10f are derived, and $%.10f were counted", o.name, o.times, derived, counted)
		}
	}
	for name := range underived {
		if _, ok := r.named(name); !ok {
			t.Errorf("there is no operation %q", name)
		}
	}
}

// named returns the result of an operation.
func (r *results) named(name string) (result, bool) {
	for _, o := range append(r.operations[:len(r.operations):len(r.operations)], r.longTimer) {
		if o.name == name {
			return o, true
		}
	}
	return result{}, false
}
