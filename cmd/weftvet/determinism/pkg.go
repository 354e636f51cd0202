package determinism

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// pkg has what is known about the analyzed package.
type pkg struct {
	pass   *analysis.Pass
	types  *types.Package
	info   *types.Info
	root   inspector.Cursor
	module string

	scopes  []*scope // in the order of the source, outer ones first
	at      map[ast.Node]*scope
	decls   map[*types.Func]*scope
	held    map[*types.Var]*scope // local variables that are set once, to a function literal
	within  map[*scope][]*scope   // of a declaration: itself, and the function literals that may run where it does
	lookups []lookup

	summaries map[*types.Func]*summary
	changes   map[*types.Var]string // package-level variables that do not keep their value, and why
	ignores   []*ignore

	values map[*types.Var][]value
	passed map[*types.Var][]value // of parameters
	units  map[ast.Node]*unit
}

// summarizer finds the effects of a package's functions, and exports those that other packages
// need.
var summarizer = &analysis.Analyzer{
	Name:       "weftvetsummary",
	Doc:        "finds what functions do that Weft's workflow code must not, for weftvet",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	Run:        summarize,
	ResultType: reflect.TypeFor[*pkg](),
	FactTypes:  []analysis.Fact{new(summary), new(changed), new(handles), new(declares), new(listing)},
}

// summarize analyzes a package. It returns nil for packages that are not checked: those of the
// standard library, for which the table is, and Weft's own.
func summarize(pass *analysis.Pass) (any, error) {
	path := pass.Pkg.Path()
	if isStandard(pass) || isWeft(path) {
		return (*pkg)(nil), nil
	}
	p := &pkg{
		pass: pass, types: pass.Pkg, info: pass.TypesInfo, root: pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(),
		at: map[ast.Node]*scope{}, decls: map[*types.Func]*scope{}, held: map[*types.Var]*scope{},
		within: map[*scope][]*scope{}, summaries: map[*types.Func]*summary{}, changes: map[*types.Var]string{},
		values: map[*types.Var][]value{}, passed: map[*types.Var][]value{}, units: map[ast.Node]*unit{},
	}
	if pass.Module != nil {
		p.module = pass.Module.Path
	}
	p.findIgnores()
	p.findScopes()
	p.findDirect()
	p.propagate() // who acts, and who changes a receiver: what the order of maps and changes of variables depend on
	p.findMapOrder()
	p.findChanges()
	p.findReads()
	p.propagate()
	p.export()
	p.findHandled()
	return p, nil
}

// isStandard reports whether the package is one of the standard library: in no module, and with a
// name that no module has.
func isStandard(pass *analysis.Pass) bool {
	first, _, _ := strings.Cut(pass.Pkg.Path(), "/")
	return (pass.Module == nil || pass.Module.Path == "") && !strings.Contains(first, ".")
}

// where returns a position as messages show it.
func (p *pkg) where(pos token.Pos) string {
	at := p.pass.Fset.Position(pos)
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}

// inTest reports whether a position is in a file of tests.
func (p *pkg) inTest(pos token.Pos) bool {
	return strings.HasSuffix(p.pass.Fset.Position(pos).Filename, "_test.go")
}

// add notes an effect of a scope, unless a comment silences it there.
func (p *pkg) add(s *scope, pos token.Pos, e effect) {
	if p.silenced(e.Rule, pos) {
		return
	}
	e.At, e.pos = p.where(pos), pos
	s.effects = append(s.effects, e)
}

// export exports the facts.
func (p *pkg) export() {
	for _, s := range p.scopes {
		sum := p.summaries[s.fn]
		if s.fn != nil && s.fn.Name() != "_" && (len(sum.Effects) > 0 || sum.Mutates) {
			p.pass.ExportObjectFact(s.fn, sum)
		}
	}
	scope := p.types.Scope()
	for _, name := range scope.Names() { // sorted
		if v, ok := scope.Lookup(name).(*types.Var); ok && p.changes[v] != "" {
			p.pass.ExportObjectFact(v, &changed{p.module, p.changes[v]})
		}
	}
}
