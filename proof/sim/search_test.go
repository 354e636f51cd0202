package sim

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/batch/stored"
)

var (
	seeds    = flag.Int("seeds", defaultSeeds, "how many seeds to simulate")
	first    = flag.Uint64("seed", 0, "the first seed; 0 is the first of the fixed ones, or with -fresh a random one")
	fresh    = flag.Bool("fresh", false, "play random seeds, unless -seed is given")
	within   = flag.Duration("for", 0, "for how long to simulate seeds; 0 is no limit")
	failures = flag.Int("failures", 1, "after how many failures to stop")
	shrinks  = flag.Duration("shrink", 20*time.Second, "for how long to shrink a failure; 0 means not at all")
	keeps    = flag.Bool("keep", false, "keep failures: the seed in testdata/seeds.txt, and the script in testdata/scripts")
)

// game is a kind of simulation.
type game struct {
	test string // the test that plays it
	// play plays a simulation that has only its seed, and perhaps a script. It returns what the
	// test checks.
	play func(*simulation) any
}

var (
	deployments = game{"TestSeeds", func(s *simulation) any {
		s.perform()
		return s
	}}
	histories = game{"TestLinearizable", func(s *simulation) any { return watch(s) }}
	rollouts  = game{"TestRollouts", func(s *simulation) any {
		s.gradual = &gradual{}
		s.perform()
		return s
	}}
	games = []game{deployments, histories, rollouts}
)

// failing is a seed that fails.
type failing struct {
	seed   uint64
	plain  bool // it was played without batches
	number int  // the index among those of the search, from 1
	kind   string
	wrong  string
}

// search is many seeds of a game.
type search struct {
	t    *testing.T
	game game
	base uint64
	look func(any)
	// demandsFaults says whether each fault must happen if there are many seeds.
	demandsFaults bool

	mu     sync.Mutex
	number int // the number of the last one that began
	began  time.Time
	said   time.Time // when it last printed its progress
	failed []failing
	steps  []int
	millis []float64
	slow   uint64 // the seed with the most steps
	most   int
	faults faultCounts
	counts map[string]int
}

// run plays the seeds on all cores. It calls look with each seed that succeeds, one after the
// other. It shrinks and prints failures.
func (q *search) run() {
	q.base = cmp.Or(*first, 1)
	if *fresh && *first == 0 {
		q.base = freshSeed()
	}
	q.t.Logf("seeds from %d", q.base)
	q.began, q.faults, q.counts = time.Now(), make(faultCounts, len(allFaults)), map[string]int{}
	q.said = q.began
	spent := cpuSeconds()
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed, ok := q.next(); ok; seed, ok = q.next() {
				q.one(seed)
			}
		})
	}
	workers.Wait()
	if q.demandsFaults && q.number >= manySeeds {
		q.demandFaults()
	}
	q.t.Log(q.summary(cpuSeconds() - spent))
	slices.SortFunc(q.failed, func(a, b failing) int { return a.number - b.number })
	kinds := map[string]bool{}
	for _, f := range q.failed {
		if kinds[f.kind] {
			text := fmt.Sprintf("seed %d, number %d: %s\n  replay: %s", f.seed, f.number, f.wrong, q.game.command(f.seed))
			if *keeps {
				text += q.game.keepSeed(f)
			}
			q.t.Error(text)
			continue
		}
		kinds[f.kind] = true
		q.t.Error(q.game.explain(f))
	}
}

// freshSeed returns the first of a row of seeds that were never played. It is short enough to type.
func freshSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	const digits = 1_000_000_000_000
	return binary.BigEndian.Uint64(b[:]) % digits
}

// next returns the next seed to play, if there is one.
func (q *search) next() (seed uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.number >= *seeds || len(q.failed) >= *failures || *within > 0 && time.Since(q.began) > *within {
		return 0, false
	}
	if time.Since(q.said) > time.Minute {
		q.said = time.Now()
		q.t.Logf("%d seeds in %v, %d failures", q.number, time.Since(q.began).Round(time.Second), len(q.failed))
	}
	q.number++
	return q.base + uint64(q.number) - 1, true
}

// demandFaults fails the test if a fault has not happened, or no batch has done one of its actions.
// A rare fault happens in at most one of ten seeds that have it, so even a thousand seeds may miss
// it. So demandFaults first plays the next seeds that have the fault, at most mostSought.
func (q *search) demandFaults() {
	for _, kind := range stored.Kinds {
		if q.game.test == deployments.test && q.counts[batchActs+string(kind)] == 0 {
			q.t.Errorf("%d seeds have not played a batch that does %s", len(q.steps), kind)
		}
	}
	const mostSought = 400
	after := q.base + uint64(q.number)
	for _, f := range q.faults.missing() {
		if f.gradual != (q.game.test == rollouts.test) {
			continue // the other game plays it
		}
		for seed, played := after, 0; q.faults[f.number][0] == 0 && played < mostSought && len(q.failed) < *failures; seed++ {
			if (&simulation{seed: seed, gradual: q.game.gradual()}).has(f) {
				q.one(seed)
				played++
			}
		}
		if q.faults[f.number][0] == 0 {
			q.t.Errorf("%d seeds have not played %q", len(q.steps), f.name)
		}
	}
}

func (q *search) one(seed uint64) {
	s := &simulation{seed: seed}
	began := time.Now()
	v := q.game.play(s)
	took := time.Since(began)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.steps, q.millis = append(q.steps, s.steps), append(q.millis, float64(took.Microseconds())/1000)
	if s.steps > q.most {
		q.most, q.slow = s.steps, seed
	}
	q.faults.add(s)
	for what, n := range s.counts {
		q.counts[what] += n
	}
	if len(s.wrong) > 0 {
		q.failed = append(q.failed, failing{seed: seed, number: int(seed-q.base) + 1, kind: s.kind, wrong: s.wrong[0]})
		q.t.Logf("seed %d fails: %s", seed, s.wrong[0]) // at once, because the explanation is printed at the end
	} else if q.look != nil {
		q.look(v)
	}
}

// summary prints what was done.
func (q *search) summary(spent float64) string {
	n := len(q.steps)
	if n == 0 {
		return "no seed was played"
	}
	took := time.Since(q.began)
	slices.Sort(q.steps)
	slices.Sort(q.millis)
	at := func(share float64) int { return int(share * float64(n-1)) }
	var text strings.Builder
	fmt.Fprintf(&text, "%d seeds from %d in %v: %.0f a minute, %.1f ms of CPU each, %d failures\n", n, q.base, took.Round(time.Millisecond),
		float64(n)/took.Minutes(), spent*1000/float64(n), len(q.failed))
	for _, share := range []float64{0.5, 0.9, 0.99, 1} {
		fmt.Fprintf(&text, "  %3.0f%% of the seeds: at most %6d steps, %7.1f ms\n", share*100, q.steps[at(share)], q.millis[at(share)])
	}
	fmt.Fprintf(&text, "  the longest is seed %d\n", q.slow)
	for _, what := range slices.Sorted(maps.Keys(q.counts)) {
		fmt.Fprintf(&text, "  %-48s %9d\n", what, q.counts[what])
	}
	return text.String() + q.faults.String()
}

// command returns the command that replays a seed.
func (g game) command(seed uint64) string {
	return fmt.Sprintf("go test ./proof/sim -run '%s$' -seed=%d -seeds=1", g.test, seed)
}

// explain plays a failing seed again and shrinks it. It returns what a reader needs: the steps, and
// how to replay them.
func (g game) explain(f failing) string {
	whole := &simulation{seed: f.seed, plain: f.plain, tracing: true, recording: true}
	g.play(whole)
	if whole.kind != f.kind {
		return fmt.Sprintf("seed %d failed with %q, and does not fail like that when it is played again: something in it is not drawn", f.seed, f.wrong)
	}
	text := fmt.Sprintf("seed %d, number %d: %s\n  replay: %s", f.seed, f.number, strings.Join(whole.wrong, "\n  "), g.command(f.seed))
	if *keeps {
		text += g.keepSeed(f)
	}
	if *shrinks == 0 {
		return whole.report() + "\n" + text
	}
	short := g.shrink(whole, *shrinks)
	file := scriptFile{test: g.test, seed: f.seed, kind: f.kind, script: short.choices().trimmed()}
	note := fmt.Sprintf("shrunk from %d steps to %d, from %v to %v", whole.steps, short.steps, whole.choices().trimmed().weight(), file.script.weight())
	if *keeps {
		note += file.keep()
	}
	return fmt.Sprintf("%s\n%s\n%s\n%s", short.report(), file, note, text)
}

// gradual returns the gradual deploy of the game's simulations, or nil.
func (g game) gradual() *gradual {
	if g.test == rollouts.test {
		return &gradual{}
	}
	return nil
}
