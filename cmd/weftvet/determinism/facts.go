package determinism

import (
	"go/token"
	"go/types"
)

// effect is one thing that a function does and that workflow code, or code that may only look, must
// not do.
type effect struct {
	Rule    string
	Does    string // "calls time.Now"
	Instead string // what to write
	// At is where it is done, as file:line.
	At string
	// Via are the calls that lead to it, from the first function to the one that does it.
	Via []step
	// Local means that it is not followed into another module.
	Local bool
	// Acts says, of the rule Readonly, that it waits or issues a command: it does not only change a
	// variable.
	Acts bool

	pos token.Pos
}

// step is a function on the way to an effect.
type step struct{ Path, Package, Name string }

func stepOf(o types.Object) step { return step{o.Pkg().Path(), o.Pkg().Name(), localName(o)} }

// summary is what other functions must know of a function: the first effect of each rule, those of
// what it calls included. It is a fact, and of a package's own functions a working state.
type summary struct {
	Module string
	// Checked means that the function is workflow code itself, so its effects are reported in it.
	Checked bool
	// Mutates means that the function changes what its receiver is or points to.
	Mutates bool
	Effects []effect
}

// AFact makes it a fact.
func (*summary) AFact() {}

func (s *summary) find(is func(effect) bool) (e effect, ok bool) {
	for _, e := range s.Effects {
		if is(e) {
			return e, true
		}
	}
	return e, false
}

// has reports whether there is an effect of the same kind as e.
func (s *summary) has(e effect) bool {
	_, ok := s.find(func(o effect) bool { return o.Rule == e.Rule && o.Acts == e.Acts })
	return ok
}

// acts returns the effect by which a function does more than look and change variables, if any.
func (s *summary) acts() (e effect, ok bool) { return s.find(func(e effect) bool { return e.Acts }) }

// changed is the fact that a package-level variable does not keep the value of its declaration, and
// why.
type changed struct {
	Module string
	Why    string // "which Configure changes (config.go:12)"
}

// AFact makes it a fact.
func (*changed) AFact() {}
