package sim

import (
	"log/slog"
	"os"
	"runtime/debug"
	"testing"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// memory is how much memory a search may use before the collector runs more often. A few seeds hold
// hundreds of megabytes.
const memory = 2 << 30

// TestMain makes the collector run less often, because a simulation creates much garbage and keeps
// little. It also drops the logs of workflow code.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	slog.SetDefault(quiet)
	os.Exit(m.Run())
}

// manySeeds is the number of seeds from which on each fault has to happen: see demandFaults.
const manySeeds = 1000

// TestSeeds simulates many seeds. A failure prints its seed, its shrunk script, and how to replay
// it:
//
//	go test ./proof/sim -run 'TestSeeds$' -seed=N -seeds=1
//
// -without=NAME,NAME leaves out faults that the failure does not need. -without=batches leaves out
// batches.
func TestSeeds(t *testing.T) {
	t.Parallel()
	q := &search{t: t, game: deployments, demandsFaults: true}
	q.run()
}

// A seed has to replay, or it would be worthless.
func TestASeedReplays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(shortform.Or(5, 1)) {
		a, b := simulate(seed, true, nil, nil), simulate(seed, true, nil, nil)
		if quiet := run(seed); quiet.steps != a.steps {
			t.Fatalf("seed %d took %d steps, and with a trace %d", seed, quiet.steps, a.steps)
		}
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
