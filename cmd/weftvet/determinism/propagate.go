package determinism

import (
	"go/types"
	"slices"
)

// propagate finds the effects of each function through the functions that it mentions. It can be
// called again when scopes have more effects.
func (p *pkg) propagate() {
	for _, s := range p.scopes {
		if s.fn == nil {
			continue
		}
		if p.summaries[s.fn] == nil {
			p.summaries[s.fn] = &summary{Module: p.module, Checked: s.checked()}
		}
	}
	for _, s := range p.scopes {
		if sum := p.summaries[s.decl().fn]; sum != nil && s.runs() {
			for _, e := range s.effects {
				if !sum.has(e) && (e.Rule == Readonly || s.bound(e.Rule)) {
					sum.Effects = append(sum.Effects, e)
				}
			}
		}
	}
	for p.round() {
	}
}

// round adds the effects of called functions, one call deep, and reports whether there were any. So
// the path to an effect is the shortest.
func (p *pkg) round() (more bool) {
	type news struct {
		to *summary
		e  effect
	}
	var all []news
	for _, s := range p.scopes {
		sum := p.summaries[s.decl().fn]
		if sum == nil || !s.runs() {
			continue
		}
		for _, c := range s.calls {
			for _, e := range p.through(c) {
				if e.Rule != Readonly && !s.bound(e.Rule) {
					continue
				}
				all = append(all, news{sum, e})
			}
		}
		if !sum.Mutates && slices.ContainsFunc(s.writes, func(w write) bool {
			_, ok := p.mutates(w)
			return ok && s.changesReceiver(w)
		}) {
			sum.Mutates, more = true, true
		}
	}
	for _, n := range all {
		if !n.to.has(n.e) {
			n.to.Effects, more = append(n.to.Effects, n.e), true
		}
	}
	return more
}

// summaryOf returns what is known about a function, or nil if it has no effects, or is unknown.
func (p *pkg) summaryOf(fn *types.Func) *summary {
	if s, ok := p.summaries[fn]; ok {
		return s
	}
	if fn.Pkg() == nil || fn.Pkg() == p.types || types.IsInterface(receiverType(fn)) {
		return nil
	}
	s := &summary{}
	if !p.pass.ImportObjectFact(fn, s) {
		s = nil
	}
	p.summaries[fn] = s
	return s
}

// farthest is how many calls deep other modules are followed. Deeper effects mostly belong to cases
// that do not arise.
const farthest = 3

// through returns the effects that a scope has through a call.
func (p *pkg) through(c call) (all []effect) {
	sum := p.summaryOf(c.fn)
	if sum == nil {
		return nil
	}
	for _, e := range sum.Effects {
		switch {
		case sum.Checked && e.Rule != Readonly: // it is reported where it is done
		case sum.Module != p.module && (e.Local || len(e.Via) >= farthest):
		case p.silenced(e.Rule, c.pos):
		case e.Rule == MapOrder && p.isSorted(c.result()):
		default:
			e.Via, e.pos = append([]step{stepOf(c.fn)}, e.Via...), c.pos
			all = append(all, e)
		}
	}
	return all
}
