package sim

import (
	"flag"
	"testing"
)

var (
	seeds = flag.Int("seeds", defaultSeeds, "how many seeds to simulate")
	first = flag.Uint64("seed", 1, "the first seed")
)

// TestSeeds simulates many seeds. A failure prints its seed; replay it with
//
//	go test ./internal/sim -run TestSeeds -seed=N -seeds=1
func TestSeeds(t *testing.T) {
	t.Parallel()
	steps := 0
	for i := range *seeds {
		s := run(*first + uint64(i))
		steps += s.steps
		if len(s.wrong) > 0 {
			t.Fatal(s.report())
		}
	}
	t.Logf("%d seeds, %d steps", *seeds, steps)
}

// A seed is worth nothing if it does not replay.
func TestASeedReplays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		a, b := run(seed), run(seed)
		if a.steps != b.steps || len(a.trace) != len(b.trace) {
			t.Fatalf("seed %d took %d steps, and then %d", seed, a.steps, b.steps)
		}
		for i := range a.trace {
			if a.trace[i] != b.trace[i] {
				t.Fatalf("seed %d: line %d was\n%s\nand then\n%s", seed, i, a.trace[i], b.trace[i])
			}
		}
	}
}
