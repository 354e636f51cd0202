package sim

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// weight is how much a script chooses: the number of choices that are not calm, and of all choices.
type weight struct{ wild, all int }

// String returns the weight for a reader.
func (w weight) String() string { return fmt.Sprintf("%d choices that are not calm", w.wild) }

func (w weight) less(o weight) bool { return w.wild < o.wild || w.wild == o.wild && w.all < o.all }

func (s script) weight() (w weight) {
	for _, made := range s {
		w.all += len(made)
		for _, v := range made {
			w.wild += oneIf(v > 0)
		}
	}
	return w
}

// trimmed returns a script without its redundant choices: calm ones at the end of a stream.
func (s script) trimmed() script {
	short := script{}
	for name, made := range s {
		end := len(made)
		for end > 0 && made[end-1] == 0 {
			end--
		}
		if end > 0 {
			short[name] = made[:end:end]
		}
	}
	return short
}

// with returns a script with one stream replaced.
func (s script) with(name string, made []uint64) script {
	other := maps.Clone(s)
	other[name] = made
	return other
}

// shrinking is the search for the shortest script with the same kind of failure as a simulation.
type shrinking struct {
	game game
	best *simulation
	cur  script
	end  time.Time
}

// shrink searches, for a limited time, for a script that chooses less than a simulation did and
// fails in the same way. It returns that script's simulation, with a trace and its choices.
func (g game) shrink(whole *simulation, most time.Duration) *simulation {
	k := &shrinking{game: g, best: whole, cur: whole.choices().trimmed(), end: time.Now().Add(most)}
	k.try(k.cur)
	for before := (weight{}); before != k.cur.weight() && !k.over(); {
		before = k.cur.weight()
		k.streams()
		k.spans()
		k.pairs()
		k.lower()
	}
	short := &simulation{seed: whole.seed, script: k.cur, tracing: true, recording: true}
	k.game.play(short)
	return short
}

func (k *shrinking) over() bool { return time.Now().After(k.end) }

// try plays a script, and adopts it if it fails in the same way and chooses less.
func (k *shrinking) try(candidate script) bool {
	if k.over() {
		return false
	}
	s := &simulation{seed: k.best.seed, script: candidate, recording: true, limit: max(2*k.best.steps, 1000)}
	k.game.play(s)
	made := s.choices().trimmed()
	if s.kind != k.best.kind || k.best.script != nil && !made.weight().less(k.cur.weight()) {
		return false
	}
	k.best, k.cur = s, made
	return true
}

// names returns the names of the streams, the longest stream first.
func (k *shrinking) names() []string {
	names := slices.Sorted(maps.Keys(k.cur))
	slices.SortStableFunc(names, func(a, b string) int { return len(k.cur[b]) - len(k.cur[a]) })
	return names
}

// streams makes whole streams calm.
func (k *shrinking) streams() {
	for _, name := range k.names() {
		k.try(k.cur.with(name, nil))
	}
}

// spans removes parts of streams, or makes them calm. It begins with long parts.
func (k *shrinking) spans() {
	for _, name := range k.names() {
		for size := len(k.cur[name]); size > 0 && !k.over(); size /= 2 {
			for at := 0; at < len(k.cur[name]) && !k.over(); {
				made := k.cur[name]
				end := min(at+size, len(made))
				calm := slices.Concat(made[:at], make([]uint64, end-at), made[end:])
				if slices.Max(made[at:end]) > 0 && k.try(k.cur.with(name, calm)) {
					at += size
				} else if !k.try(k.cur.with(name, slices.Concat(made[:at], made[end:]))) {
					at += size
				}
			}
		}
	}
}

// pairs makes any two choices calm, because each of them may need the other.
func (k *shrinking) pairs() {
	type place struct {
		name string
		at   int
	}
	const most = 30 // it plays a simulation for each pair
	if k.cur.weight().wild > most {
		return
	}
	var wild []place
	for _, name := range k.names() {
		for at, v := range k.cur[name] {
			if v > 0 {
				wild = append(wild, place{name, at})
			}
		}
	}
	for i, a := range wild {
		for _, b := range wild[:i] {
			other := maps.Clone(k.cur)
			for _, p := range []place{a, b} {
				other[p.name] = slices.Clone(other[p.name])
				other[p.name][p.at] = 0
			}
			if k.try(other) {
				return // the indexes have changed, so the next round continues
			}
		}
	}
}

// lower makes single choices smaller.
func (k *shrinking) lower() {
	for _, name := range k.names() {
		for at := 0; at < len(k.cur[name]); at++ {
			for _, v := range []uint64{k.cur[name][at] / 2, k.cur[name][at] - 1} {
				if made := k.cur[name]; at < len(made) && v > 0 && v < made[at] {
					other := slices.Clone(made)
					other[at] = v
					k.lowered(name, other)
				}
			}
		}
	}
}

// lowered does the same as try for a script of the same length with one smaller choice.
func (k *shrinking) lowered(name string, made []uint64) {
	if k.over() {
		return
	}
	s := &simulation{seed: k.best.seed, script: k.cur.with(name, made), recording: true, limit: max(2*k.best.steps, 1000)}
	k.game.play(s)
	if now := s.choices().trimmed(); s.kind == k.best.kind && !k.cur.weight().less(now.weight()) {
		k.best, k.cur = s, now
	}
}

// A simulation replays from its choices alone.
func TestAScriptReplays(t *testing.T) {
	t.Parallel()
	for _, g := range games {
		for seed := range uint64(shortform.Or(8, 2)) {
			a := &simulation{seed: seed, tracing: true, recording: true}
			g.play(a)
			b := &simulation{seed: seed, tracing: true, script: a.choices().trimmed()}
			g.play(b)
			if !slices.Equal(a.trace, b.trace) {
				t.Errorf("%s, seed %d: %d steps by its seed, and %d by its script", g.test, seed, a.steps, b.steps)
			}
		}
	}
}

// A failure is shrunk to the choices that it needs.
func TestShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation is one goroutine, and make test shrinks one")
	}
	t.Parallel()
	for seed := uint64(1); ; seed++ {
		whole := &simulation{seed: seed, recording: true}
		dies := game{"TestSeeds", func(s *simulation) any {
			s.perform()
			if s.counts["a process dies"] > 0 && s.counts["a put arrives late"] > 0 {
				s.fail("a process dies, and a put arrives late")
			}
			return s
		}}
		if dies.play(whole); len(whole.wrong) == 0 {
			continue
		}
		short := dies.shrink(whole, 10*time.Minute) // a busy machine needs more than one minute
		// The failure needs a plan with faults, the fault itself, and few other choices.
		if w := short.choices().trimmed().weight(); w.wild > 12 || short.kind != whole.kind {
			t.Errorf("seed %d was shrunk to %v (%s), from %v", seed, w, short.kind, whole.choices().trimmed().weight())
		}
		return
	}
}
