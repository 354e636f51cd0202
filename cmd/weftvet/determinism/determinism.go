package determinism

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzer reports what Weft's workflow code must not do.
var Analyzer = &analysis.Analyzer{
	Name:     "weftvet",
	Doc:      doc(),
	URL:      "https://pkg.go.dev/github.com/seed-41655fb1/weft/cmd/weftvet/determinism",
	Requires: []*analysis.Analyzer{summarizer},
	Run:      report,
}

// trusted and barred have the names that the user gave with -trust and -forbid.
var trusted, barred = nameList{}, nameList{}

func init() {
	Analyzer.Flags.Var(trusted, "trust", "comma-separated `names` that workflow code may use: path, path.Func, path.Type.Method or path.Var")
	Analyzer.Flags.Var(barred, "forbid", "comma-separated `names` that workflow code must not use: path.Func, path.Type.Method or path.Var")
}

func doc() string {
	var b strings.Builder
	b.WriteString("find what Weft's workflow code must not do, because it runs again and must do the same\n\nThe rules, by which a comment " +
		"//weftvet:ignore rule reason silences them:\n")
	for _, r := range Rules {
		fmt.Fprintf(&b, "\n%s: %s", r.ID, r.Finds)
	}
	return b.String()
}

// nameList is a set of names, as a flag that can be repeated.
type nameList map[string]bool

// String returns the names.
func (l nameList) String() string {
	all := make([]string, 0, len(l))
	for name := range l {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// Set adds names.
func (l nameList) Set(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" || strings.ContainsAny(name, " ()*") {
			return fmt.Errorf("%q is not a name: write path.Func, path.Type.Method or path.Var", name)
		}
		l[name] = true
	}
	return nil
}

func trusts(o types.Object) bool {
	return o.Pkg() != nil && (trusted[o.Pkg().Path()] || trusted[fullName(o)])
}

func forbids(o types.Object) bool { return barred[fullName(o)] }

// reporter reports each thing once.
type reporter struct {
	*pkg
	said map[string]bool
}

func report(pass *analysis.Pass) (any, error) {
	p := pass.ResultOf[summarizer].(*pkg)
	if p == nil {
		return nil, nil
	}
	r := &reporter{p, map[string]bool{}}
	for _, s := range p.scopes {
		if s.checked() {
			r.scope(pass, s)
		}
	}
	for _, l := range p.lookups {
		for _, e := range p.through(call{fn: l.fn, pos: l.pos}) {
			if e.Rule == Readonly {
				r.say(pass, l.who, e)
			}
		}
	}
	r.attributes(pass)
	r.bindings(pass)
	for _, i := range p.ignores {
		r.ignore(pass, i)
	}
	return nil, nil
}

// scope reports what workflow code does.
func (r *reporter) scope(pass *analysis.Pass, s *scope) {
	who, root := s.looks()
	for _, e := range s.effects {
		if s.bound(e.Rule) {
			r.say(pass, who, e)
		}
	}
	for _, c := range s.calls {
		callee := r.decls[c.fn]
		for _, e := range r.through(c) {
			if s.bound(e.Rule) && (e.Rule != Readonly || callee == nil || callee.who == "") {
				r.say(pass, who, e)
			}
		}
	}
	if who == "" {
		return
	}
	for _, w := range s.writes {
		does, ok := r.mutates(w)
		if callee := r.decls[w.method]; !ok || callee != nil && callee.who != "" || isPackageLevel(w.root) {
			continue
		}
		if (!root.holds(w.root) || s.changesReceiver(w)) && !r.silenced(Readonly, w.pos) {
			r.say(pass, who, effect{Rule: Readonly, Does: does, Instead: onlyLook, pos: w.pos})
		}
	}
}

// say reports an effect. who is what the code is called if it may only look.
func (r *reporter) say(pass *analysis.Pass, who string, e effect) {
	instead := e.Instead
	switch {
	case who == "":
		who = "workflow code"
	case e.Rule != Readonly:
		instead = "it may only look at the workflow's variables"
	}
	text := fmt.Sprintf("%s %s: %s [%s]", who, r.way(e), instead, e.Rule)
	key := fmt.Sprint(e.pos, e.Rule)
	if !r.said[key] {
		r.said[key] = true
		pass.Report(analysis.Diagnostic{Pos: e.pos, Category: e.Rule, Message: text})
	}
}

// way returns the effect and the functions that lead to it.
func (p *pkg) way(e effect) string {
	if len(e.Via) == 0 {
		return e.Does
	}
	var b strings.Builder
	for _, s := range e.Via {
		b.WriteString("calls ")
		if s.Path != p.types.Path() {
			b.WriteString(s.Package + ".")
		}
		b.WriteString(s.Name + ", which ")
	}
	return b.String() + e.Does + " (" + e.At + ")"
}

// ignore reports a comment that silences nothing.
func (r *reporter) ignore(pass *analysis.Pass, i *ignore) {
	if i.problem != "" {
		pass.Report(analysis.Diagnostic{Pos: i.comment.Pos(), Category: "ignore", Message: i.problem})
		return
	}
	for _, rule := range i.rules {
		if !slices.Contains(i.used, rule) {
			pass.Report(analysis.Diagnostic{
				Pos: i.comment.Pos(), Category: "ignore",
				Message: fmt.Sprintf("nothing here to silence for the rule %s: take the comment away", rule),
			})
		}
	}
}
