package sim

import (
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// draws is a stream of random choices. A simulation has several streams, so that one more choice in
// one of them does not change the others.
//
// Every choice of a simulation is drawn here, and nothing else makes two runs of one seed differ.
// So the choices of a run determine it. A script replays them, even after the code that draws from
// a seed has changed. With some choices set to 0, a script shows what a failure needs (shrink.go).
// 0 is the calm choice: no fault, no delay, the smallest number, the actor that has waited longest.
type draws struct {
	random *rand.Rand // nil if a script is replayed
	script []uint64   // the choices; 0 after the end of the script
	at     int        // the index of the next choice
	record bool
	made   []uint64 // the choices so far, if they are recorded
}

// choose chooses a number below n.
func (d *draws) choose(n uint64) (v uint64) {
	switch {
	case d.random != nil:
		v = d.random.Uint64N(n)
	case d.at < len(d.script):
		v = min(d.script[d.at], n-1)
	}
	d.note(v)
	return v
}

func (d *draws) note(v uint64) {
	if d.at++; d.record {
		d.made = append(d.made, v)
	}
}

// chance draws whether something with this probability happens.
func (d *draws) chance(p float64) bool {
	v := uint64(0)
	switch {
	case d.random != nil:
		v = uint64(oneIf(d.random.Float64() < p))
	case d.at < len(d.script):
		v = min(d.script[d.at], 1)
	}
	d.note(v)
	return v == 1
}

// oneIn draws whether something happens that happens once in n times on average.
func (d *draws) oneIn(n int) bool { return d.IntN(n) == n-1 }

// IntN draws a number below n.
func (d *draws) IntN(n int) int { return int(d.choose(uint64(n))) }

// Int64N draws a number below n.
func (d *draws) Int64N(n int64) int64 { return int64(d.choose(uint64(n))) }

// ExpFloat64 draws a number that is 1 on average, and sometimes much larger.
func (d *draws) ExpFloat64() float64 {
	const fine = 1 << 20
	return -math.Log(1 - float64(d.choose(fine))/fine)
}

// Shuffle shuffles n things.
func (d *draws) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, i-d.IntN(i+1))
	}
}

// stream returns the stream with a name, and creates it on the first call.
func (s *simulation) stream(name string) *draws {
	if d := s.streams[name]; d != nil {
		return d
	}
	d := &draws{record: s.recording}
	if s.script != nil {
		d.script = s.script[name]
	} else {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name)) // writing to a hash never fails
		d.random = rand.New(rand.NewPCG(s.seed, h.Sum64()))
	}
	if s.streams == nil {
		s.streams = map[string]*draws{}
	}
	s.streams[name] = d
	return d
}

// choices returns the choices of a simulation, by stream. They are the script that replays it. The
// simulation must have recorded them.
func (s *simulation) choices() script {
	made := script{}
	for _, name := range slices.Sorted(maps.Keys(s.streams)) {
		made[name] = s.streams[name].made
	}
	return made
}

// script has the choices by stream. A missing stream always chooses 0.
type script map[string][]uint64
