package sim

import (
	"fmt"
	"strings"
)

// fault is a behaviour of AWS that the simulation plays. docs/aws.md lists every fault by its name.
//
// To add one:
//
//  1. Declare it beside the code that plays it: var lateAnswer = newFault(name, source, plans,
//     chance).
//  2. Call s.hits(lateAnswer) in each place in which it can happen, and draw all its other choices
//     from s.of(lateAnswer).
//  3. Add a mutant that only this fault finds to the list of mutants of its subject.
//
// A fault draws from a random stream of its own, which is seeded by its name. So a new fault
// changes no draw of another, and a seed without the fault replays as before.
type fault struct {
	// name is unique, in lower case: "store: answer lost".
	name string
	// source is the page of AWS that documents the behaviour, and what it says, in our words.
	source string
	// plans is the share of seeds that have the fault.
	plans float64
	// chance is the probability in these seeds each time that the fault can happen.
	chance float64
	// gradual says that only gradual deploys have it.
	gradual bool
	number  int // the index in allFaults
}

// allFaults are the declared faults.
var allFaults []*fault

// newFault declares a fault.
func newFault(name, source string, plans, chance float64) *fault {
	f := &fault{name: name, source: source, plans: plans, chance: chance, number: len(allFaults)}
	allFaults = append(allFaults, f)
	return f
}

// played is the state of a fault in one simulation.
type played struct {
	random *draws // nil until it is needed
	has    bool   // the seed has it
	count  int    // how often it has happened
}

// without names the faults that no simulation plays. It helps to shrink a failure.
var without = map[string]bool{}

// play returns the simulation's state of a fault.
func (s *simulation) play(f *fault) *played {
	if s.faults == nil {
		s.faults = make([]played, len(allFaults))
	}
	p := &s.faults[f.number]
	if p.random == nil {
		p.random = s.stream("fault " + f.name)
		p.has = p.random.chance(f.plans) && !without[f.name] && s.plays(f)
	}
	return p
}

// has reports whether the seed has a fault.
func (s *simulation) has(f *fault) bool { return s.play(f).has }

// of returns the random stream of a fault.
func (s *simulation) of(f *fault) *draws { return s.play(f).random }

// hits reports whether a fault happens now, and counts it. No fault happens in a calm simulation,
// nor at the end of a long one, because the backlog has to be worked off.
func (s *simulation) hits(f *fault) bool {
	p := s.play(f)
	if !p.has || s.quiet() || !p.random.chance(f.chance) {
		return false
	}
	p.count++
	return true
}

// happened lists the faults of a simulation with their counts.
func (s *simulation) happened() string {
	var all []string
	for _, f := range allFaults {
		if s.faults != nil && s.faults[f.number].count > 0 {
			all = append(all, fmt.Sprintf("%s %d", f.name, s.faults[f.number].count))
		}
	}
	return strings.Join(all, ", ")
}

// disturbed returns how many calls and messages failed or were duplicated because of faults.
func (s *simulation) disturbed() (n int) {
	for _, f := range allFaults {
		if s.faults != nil && f != indexLags && f != inBatches && f != ruleTwice && f != ruleLate {
			n += s.faults[f.number].count
		}
	}
	return n
}

// happens counts a fault that happens without a draw, as a part of a longer one.
func (s *simulation) happens(f *fault) { s.play(f).count++ }
