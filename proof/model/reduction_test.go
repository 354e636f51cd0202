//go:build !race

package model

import (
	"maps"
	"strings"
	"testing"
)

// The reduction (machine.local, machine.tidy) leaves out ways but no ends: with and without it, the
// explorer reaches the same states in which nothing more can happen. `make test` explores the wide
// shapes without faults; `make model`, which CI runs, explores all with one fault.
func TestReductionKeepsEnds(t *testing.T) {
	t.Parallel()
	for _, h := range shapes() {
		if !strings.Contains(h.name, *only) || h.large || h.clean {
			continue // machine.tidy forgets what has no effect on an end
		}
		h.finals, h.faults = true, 1
		if h.wide && !*all {
			h.faults = 0
		}
		reduced := explore(&h, *most, 2)
		h.plain = true
		whole := explore(&h, *most, 2)
		if !maps.Equal(reduced.finals, whole.finals) || len(whole.finals) == 0 {
			t.Errorf("%s: %d ends in %d states, and without the reduction %d in %d", h.name, len(reduced.finals), reduced.states, len(whole.finals), whole.states)
		}
	}
}
