package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

const useVariable = "keep it in a variable of the workflow's function, or hand it in as input"

// findChanges finds the package-level variables that do not keep the value of their declaration.
func (p *pkg) findChanges() {
	for _, s := range p.scopes {
		if s.runs() {
			p.within[s.decl()] = append(p.within[s.decl()], s)
		}
	}
	for _, s := range p.scopes {
		for _, w := range s.writes {
			if does, ok := p.mutates(w); ok && isPackageLevel(w.root) {
				p.change(s, w, does)
			}
		}
		if spec, ok := s.cur.Node().(*ast.ValueSpec); ok {
			for i, v := range s.vars {
				if len(spec.Values) == len(spec.Names) {
					p.setFrom(s, v, spec.Values[i].Pos(), spec.Values[i].End())
				} else {
					p.setFrom(s, v, spec.Pos(), spec.End())
				}
			}
		}
	}
}

// change notes that a package-level variable is changed.
func (p *pkg) change(s *scope, w write, does string) {
	if s.starts() {
		p.setFrom(s, w.root, w.by.Pos(), w.by.End())
		return
	}
	if p.silenced(Global, w.pos) {
		return
	}
	p.add(s, w.pos, effect{Rule: Global, Does: does + ", a package-level variable", Instead: useVariable, Local: true})
	if p.changes[w.root] == "" && !p.inTest(w.pos) {
		p.changes[w.root] = "which " + p.name(s) + " changes (" + p.where(w.pos) + ")"
	}
}

// name returns the name that messages use for the function of a scope.
func (p *pkg) name(s *scope) string {
	if fn := s.decl().fn; fn != nil {
		return shortName(fn, p.types)
	}
	return "a function literal"
}

// setFrom notes that a variable is set, when the program starts, from something that differs each time.
func (p *pkg) setFrom(s *scope, v *types.Var, from, to token.Pos) {
	differs := func(e effect) bool {
		return from <= e.pos && e.pos < to && !p.makesActivity(s, e.pos) && slices.Contains([]string{Time, Random, IO, Runtime, Forbidden}, e.Rule)
	}
	var all []effect
	for _, in := range p.within[s] {
		all = append(all, in.effects...)
		for _, c := range in.calls {
			all = append(all, p.through(c)...)
		}
	}
	i := slices.IndexFunc(all, differs)
	if i < 0 || p.changes[v] != "" || p.silenced(Global, from) {
		return
	}
	e := all[i]
	if len(e.Via) == 0 {
		e.Does += " (" + e.At + ")"
	}
	p.changes[v] = "whose value " + p.way(e)
}

// makesActivity reports whether a position is in the arguments of activity.New after the name. An
// activity may differ from process to process, and a replay does not compare its options.
func (p *pkg) makesActivity(s *scope, pos token.Pos) bool {
	for c := range s.cur.Preorder((*ast.CallExpr)(nil)) {
		n := c.Node().(*ast.CallExpr)
		if fn := p.callee(n); fn != nil && elsewhere[fullName(fn)] && len(n.Args) > 1 && n.Args[1].Pos() <= pos && pos < n.End() {
			return true
		}
	}
	return false
}

// findReads notes where package-level variables are read that do not keep their value.
func (p *pkg) findReads() {
	for _, s := range p.scopes {
		if s.starts() {
			continue
		}
		for _, r := range s.reads {
			if why := p.changeOf(r.v); why != "" && !p.changesThere(s, r) {
				does := "reads " + shortName(r.v, p.types) + ", " + why
				p.add(s, r.pos, effect{Rule: Global, Does: does, Instead: useVariable, Local: true})
			}
		}
	}
}

// changesThere reports whether a read is part of what changes the variable, which is reported.
func (p *pkg) changesThere(s *scope, r read) bool {
	return slices.ContainsFunc(s.writes, func(w write) bool {
		_, ok := p.mutates(w)
		return ok && w.root == r.v && w.by.Pos() <= r.pos && r.pos < w.by.End()
	})
}

// changeOf returns why a package-level variable does not keep its value, or "" if no change is
// known.
func (p *pkg) changeOf(v *types.Var) string {
	why, ok := p.changes[v]
	if ok || v.Pkg() == p.types {
		return why
	}
	var fact changed
	if p.pass.ImportObjectFact(v, &fact) && fact.Module == p.module {
		why = fact.Why
	}
	p.changes[v] = why
	return why
}
