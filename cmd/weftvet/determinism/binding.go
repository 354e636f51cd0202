package determinism

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// bindings reports the names that workflow code handles and that its binding omits, and those that
// the binding names in vain.
func (r *reporter) bindings(pass *analysis.Pass) {
	for c := range r.root.Preorder((*ast.CallExpr)(nil)) {
		n := c.Node().(*ast.CallExpr)
		args := r.codeOf(n)
		if args == nil || n.Ellipsis.IsValid() || r.silenced(Names, n.Pos()) {
			continue
		}
		b := &binding{pkg: r.pkg, call: n, code: &unit{names: map[identity]handled{}}, shared: map[identity]bool{}}
		for _, i := range args {
			u := r.units[c.ChildAt(edge.CallExpr_Args, i).Node()]
			for _, h := range u.names {
				b.code.add(h)
			}
			b.code.opaque = b.code.opaque || u.opaque
		}
		b.options = n.Args[min(2, len(n.Args)):]
		if fullName(r.callee(n)) == workflowPath+".Intercept" {
			if k := c.ParentEdgeKind(); k == edge.AssignStmt_Rhs || k == edge.ValueSpec_Values {
				continue // With may be called later
			}
			b.intercepts, b.options = true, withOf(c)
		}
		if b.read() {
			b.report(pass)
		}
	}
}

// binding is a call of Bind, or of Intercept.
type binding struct {
	*pkg
	call       *ast.CallExpr
	intercepts bool
	options    []ast.Expr
	code       *unit
	listed     []handled
	dynamic    []string
	// shared are the names of options that other bindings may have, too: those of variables.
	shared map[identity]bool
}

// withOf returns the arguments of the calls of With that follow a call.
func withOf(c inspector.Cursor) (args []ast.Expr) {
	for c.ParentEdgeKind() == edge.SelectorExpr_X {
		sel := c.Parent()
		if sel.Node().(*ast.SelectorExpr).Sel.Name != "With" || sel.ParentEdgeKind() != edge.CallExpr_Fun {
			break
		}
		c = sel.Parent()
		args = append(args, c.Node().(*ast.CallExpr).Args...)
	}
	return args
}

// read reads the options. It returns false if they are not all known.
func (b *binding) read() bool {
	for _, e := range b.options {
		l, ok := b.listing(e, 8)
		if !ok {
			return false
		}
		b.listed, b.dynamic = append(b.listed, l.Names...), append(b.dynamic, l.Dynamic...)
		if !b.isNames(e) {
			for _, h := range l.Names {
				b.shared[h.id()] = true
			}
		}
	}
	return true
}

// listing returns which names an expression of the type BindOptions has. ok is false if that is not
// known.
func (p *pkg) listing(e ast.Expr, depth int) (l listing, ok bool) {
	if depth--; depth < 0 {
		return l, false
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		if !p.isNames(e) {
			return l, false
		}
		if e.Ellipsis.IsValid() {
			l.Names = p.elements(e.Args[0], depth)
			return l, len(l.Names) > 0 && p.setKinds(l.Names, nil)
		}
		return p.listed(e.Args)
	case *ast.CompositeLit:
		return p.literalListing(e, depth)
	case *ast.Ident, *ast.SelectorExpr:
		v, isVar := p.object(e).(*types.Var)
		if !isVar || v.IsField() {
			return l, false
		}
		if v.Pkg() != p.types {
			return l, p.pass.ImportObjectFact(v, &l)
		}
		return p.heldListing(v, depth)
	}
	return l, false
}

// isNames reports whether an expression is a call of workflow.Names.
func (p *pkg) isNames(e ast.Expr) bool {
	n, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := p.callee(n)
	return fn != nil && fullName(fn) == workflowPath+".Names"
}

// listed returns the names that expressions declare.
func (p *pkg) listed(all []ast.Expr) (l listing, ok bool) {
	for _, e := range all {
		names := p.resolve(e)
		if len(names) == 0 || !p.setKinds(names, e) {
			return l, false
		}
		l.Names = append(l.Names, names...)
	}
	return l, true
}

// setKinds sets the kinds of declarations that an expression stands for. Without an expression,
// they are those of their variables. It returns false if a kind is not known.
func (p *pkg) setKinds(all []handled, e ast.Expr) bool {
	for i := range all {
		t := types.Type(nil)
		switch h := all[i]; {
		case e != nil:
			t = p.info.TypeOf(e)
		case h.local != nil && h.Sel == "":
			t = h.local.Type()
		case h.made != nil:
			t = p.info.TypeOf(h.made)
		case h.Path != "" && h.Sel == "":
			if o := p.lookUpVar(h.Path, h.Var); o != nil {
				t = o.Type()
			}
		}
		if all[i].Kind = kindOf(t); all[i].Kind == "" {
			return false
		}
	}
	return true
}

// lookUpVar returns a package-level variable of this package or one that it imports, or nil.
func (p *pkg) lookUpVar(path, name string) types.Object {
	if path == p.types.Path() {
		return p.types.Scope().Lookup(name)
	}
	for _, i := range p.types.Imports() {
		if i.Path() == path {
			return i.Scope().Lookup(name)
		}
	}
	return nil
}

func (p *pkg) literalListing(n *ast.CompositeLit, depth int) (l listing, ok bool) {
	for _, e := range n.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return l, false
		}
		switch types.ExprString(pair.Key) {
		case "Names":
			if list, ok := ast.Unparen(pair.Value).(*ast.CompositeLit); ok {
				more, ok := p.listed(list.Elts)
				if !ok {
					return l, false
				}
				l.Names = append(l.Names, more.Names...)
				continue
			}
			sel, ok := ast.Unparen(pair.Value).(*ast.SelectorExpr) // workflow.Names(...).Names
			if !ok || sel.Sel.Name != "Names" {
				return l, false
			}
			more, ok := p.listing(sel.X, depth)
			if !ok {
				return l, false
			}
			l.Names, l.Dynamic = append(l.Names, more.Names...), append(l.Dynamic, more.Dynamic...)
		case "Dynamic":
			l.Dynamic = append(l.Dynamic, p.dynamicKinds(pair.Value)...)
		}
	}
	return l, true
}

// dynamicKinds returns the kinds that an expression of the type Kinds has: all of them if it is no
// constant.
func (p *pkg) dynamicKinds(e ast.Expr) (all []string) {
	bits := int64(-1)
	if v := p.info.Types[e].Value; v != nil && v.Kind() == constant.Int {
		bits, _ = constant.Int64Val(v)
	}
	for i, kind := range []string{"signal", "query", "update", "topic"} {
		if bits&(1<<i) != 0 {
			all = append(all, kind)
		}
	}
	return all
}

// heldListing returns which names a variable of the type BindOptions has.
func (p *pkg) heldListing(v *types.Var, depth int) (l listing, ok bool) {
	if len(p.values[v]) != 1 || p.values[v][0].element {
		return l, false
	}
	return p.listing(p.values[v][0].cur.Node().(ast.Expr), depth)
}

// enforced reports whether the engine refuses to handle a name of the kind that the binding omits.
func enforced(kind string) bool { return kind != "search attribute" && kind != "memo field" }

// report reports what is missing and what is in vain.
func (b *binding) report(pass *analysis.Pass) {
	names := map[identity]bool{}
	for _, h := range b.listed {
		names[h.id()] = true
	}
	all := slices.SortedFunc(maps.Values(b.code.names), handled.compare)
	b.reportComputed(pass, all)
	var missing, hidden []handled
	var texts, imports []string
	for _, h := range all {
		if h.Kind == computed || names[h.id()] || slices.Contains(b.dynamic, h.Kind) {
			continue
		}
		text, path, ok := b.text(h)
		if !enforced(h.Kind) && (h.Path == "" || !ok) {
			continue // the engine does not ask for it
		}
		switch {
		case ok:
			missing, texts = append(missing, h), append(texts, text)
			if path != "" && !slices.Contains(imports, path) {
				imports = append(imports, path)
			}
		case h.Path != "" || h.made != nil || h.Name != "":
			hidden = append(hidden, h)
		}
	}
	at := b.call.Pos()
	if missing != nil {
		what := b.qualifier() + "Names(" + strings.Join(texts, ", ") + ")"
		pass.Report(analysis.Diagnostic{
			Pos: at, Category: Names,
			Message:        fmt.Sprintf("%s handles %s, which the binding omits: add %s [%s]", b.who(), list(missing), what, Names),
			SuggestedFixes: b.fix(texts, imports),
		})
	}
	if hidden != nil {
		pass.Report(analysis.Diagnostic{
			Pos: at, Category: Names,
			Message: fmt.Sprintf("%s handles %s, which the binding omits and cannot name from here: declare a package variable that it can name, and add it to workflow.Names; a name that the code computes needs workflow.BindOptions.Dynamic [%s]",
				b.who(), list(hidden), Names),
		})
	}
	b.reportVain(pass)
}

// reportComputed reports that the code handles names that it computes, and the binding allows none
// of their kind. Interceptors cannot allow any.
func (b *binding) reportComputed(pass *analysis.Pass, all []handled) {
	var kinds, places []string
	for _, h := range all {
		if h.Kind == computed && !b.intercepts && !slices.Contains(b.dynamic, kindsOf[h.Name]) {
			kinds, places = append(kinds, b.qualifier()+h.Name), append(places, h.At)
		}
	}
	if kinds == nil {
		return
	}
	option := b.qualifier() + "BindOptions{Dynamic: " + strings.Join(kinds, " | ") + "}"
	fn := b.call.Args[1].End()
	pass.Report(analysis.Diagnostic{
		Pos: b.call.Pos(), Category: Names,
		Message: fmt.Sprintf("%s handles names that it computes (%s), which the binding does not allow: add %s [%s]", b.who(), strings.Join(places, ", "), option, Names),
		SuggestedFixes: []analysis.SuggestedFix{{
			Message: "Allow names that the code computes", TextEdits: []analysis.TextEdit{{Pos: fn, End: fn, NewText: []byte(", " + option)}},
		}},
	})
}

// kindsOf has the kind of each of the constants of type Kinds.
var kindsOf = map[string]string{"Signals": "signal", "Queries": "query", "Updates": "update"}

// reportVain reports the names that the call lists and the code does not handle, if all of the code
// is known. Tests may list more: what is in question there is often what a request is answered. So
// may topics, to which activities publish.
func (b *binding) reportVain(pass *analysis.Pass) {
	if b.code.opaque || b.inTest(b.call.Pos()) {
		return
	}
	var vain []handled
	for _, h := range b.listed {
		if _, ok := b.code.names[h.id()]; !ok && enforced(h.Kind) && h.Kind != "topic" && !b.shared[h.id()] {
			vain = append(vain, h)
		}
	}
	if vain != nil {
		pass.Report(analysis.Diagnostic{
			Pos: b.call.Pos(), Category: Names,
			Message: fmt.Sprintf("%s does not handle %s: take it out of workflow.Names [%s]", b.who(), list(vain), Names),
		})
	}
}

func (b *binding) who() string {
	if b.intercepts {
		return "the interceptor"
	}
	return "the workflow"
}

// list returns declarations as messages have them.
func list(all []handled) string {
	texts := make([]string, len(all))
	for i, h := range all {
		texts[i] = h.Kind + " "
		switch {
		case h.Name != "":
			texts[i] += fmt.Sprintf("%q", h.Name)
		case h.local != nil:
			texts[i] += h.local.Name() + h.Sel
		case h.Var != "":
			texts[i] += h.Var + h.Sel
		default:
			texts[i] += "of an unknown name"
		}
		if h.At != "" {
			texts[i] += " (" + h.At + ")"
		}
	}
	return strings.Join(texts, ", ")
}

// qualifier returns what stands before Names at the call: "workflow.".
func (b *binding) qualifier() string {
	e := ast.Unparen(b.call.Fun)
	switch i := e.(type) {
	case *ast.IndexExpr:
		e = i.X
	case *ast.IndexListExpr:
		e = i.X
	}
	if sel, ok := e.(*ast.SelectorExpr); ok {
		return types.ExprString(sel.X) + "."
	}
	return ""
}

// fix returns the fix that adds names to the call.
func (b *binding) fix(texts, imports []string) []analysis.SuggestedFix {
	joined := strings.Join(texts, ", ")
	edit := analysis.TextEdit{}
	args := b.call.Args
	if b.intercepts {
		args = b.options
	}
	i := slices.IndexFunc(args, func(e ast.Expr) bool {
		return b.isNames(e) && !ast.Unparen(e).(*ast.CallExpr).Ellipsis.IsValid()
	})
	switch {
	case i >= 0:
		n := ast.Unparen(args[i]).(*ast.CallExpr)
		edit.Pos, edit.NewText = n.Lparen+1, []byte(joined)
		if len(n.Args) > 0 {
			edit.Pos, edit.NewText = n.Args[len(n.Args)-1].End(), []byte(", "+joined)
		}
	case b.intercepts && len(args) == 0:
		edit.Pos, edit.NewText = b.call.End(), []byte(".With("+b.qualifier()+"Names("+joined+"))")
	default:
		edit.Pos, edit.NewText = args[len(args)-1].End(), []byte(", "+b.qualifier()+"Names("+joined+")")
	}
	edit.End = edit.Pos
	edits := []analysis.TextEdit{edit}
	for _, path := range imports {
		edits = append(edits, b.importing(path))
	}
	return []analysis.SuggestedFix{{Message: "Name what the code handles", TextEdits: edits}}
}

// file returns the file of the call.
func (b *binding) file() *ast.File {
	for _, f := range b.pass.Files {
		if f.FileStart <= b.call.Pos() && b.call.Pos() < f.FileEnd {
			return f
		}
	}
	return nil
}

// importing returns the edit that imports a package: the call's own import of package workflow is
// there already.
func (b *binding) importing(path string) analysis.TextEdit {
	f := b.file()
	last := f.Imports[len(f.Imports)-1]
	text := fmt.Sprintf("\n%q", path)
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.IMPORT && !d.Lparen.IsValid() && d.Specs[0] == ast.Spec(last) {
			text = fmt.Sprintf("\nimport %q", path)
		}
	}
	return analysis.TextEdit{Pos: last.End(), End: last.End(), NewText: []byte(text)}
}

// text returns the expression by which the call can name a declaration, and the path of a package
// that it has to import for that.
func (b *binding) text(h handled) (text, path string, ok bool) {
	if strings.Contains(h.Sel, "[]") {
		return "", "", false
	}
	switch {
	case h.Path != "":
		return b.global(h)
	case h.local != nil && b.sees(h.local):
		return h.local.Name() + h.Sel, "", true
	case h.made != nil && h.Sel == "":
		return b.copied(h.made)
	}
	return "", "", false
}

// at returns what a name means at the call.
func (b *binding) at(name string) types.Object {
	inner := b.types.Scope().Innermost(b.call.Pos())
	if inner == nil {
		return nil
	}
	_, o := inner.LookupParent(name, b.call.Pos())
	return o
}

// sees reports whether the call can name an object without a package.
func (b *binding) sees(o types.Object) bool { return b.at(o.Name()) == o }

// global returns the expression for a package-level variable.
func (b *binding) global(h handled) (text, path string, ok bool) {
	if h.Path == b.types.Path() {
		o := b.types.Scope().Lookup(h.Var)
		return h.Var + h.Sel, "", o != nil && b.sees(o)
	}
	for name := range strings.SplitSeq(h.Var+h.Sel, ".") {
		if !token.IsExported(name) {
			return "", "", false
		}
	}
	for _, spec := range b.file().Imports {
		if name := b.info.PkgNameOf(spec); name != nil && name.Imported().Path() == h.Path {
			if name.Name() == "." {
				return h.Var + h.Sel, "", true
			}
			return name.Name() + "." + h.Var + h.Sel, "", b.sees(name)
		}
	}
	imported := imported(b.types, h.Path, map[*types.Package]bool{})
	if imported == nil || b.at(imported.Name()) != nil {
		return "", "", false
	}
	return imported.Name() + "." + h.Var + h.Sel, h.Path, true
}

// imported returns a package that another one imports, itself or through others, or nil.
func imported(p *types.Package, path string, seen map[*types.Package]bool) *types.Package {
	for _, i := range p.Imports() {
		if i.Path() == path {
			return i
		}
		if !seen[i] {
			seen[i] = true
			if found := imported(i, path, seen); found != nil {
				return found
			}
		}
	}
	return nil
}

// copied returns the text of an expression, if all its names mean the same at the call.
func (b *binding) copied(e ast.Expr) (text, path string, ok bool) {
	ok = true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, func(n ast.Node) bool {
				if id, isName := n.(*ast.Ident); isName {
					ok = ok && b.same(id)
				}
				return true
			})
			return false
		case *ast.Ident:
			ok = ok && b.same(n)
		}
		return true
	})
	var out bytes.Buffer
	if format.Node(&out, b.pass.Fset, e) != nil {
		return "", "", false
	}
	return out.String(), "", ok && !strings.Contains(out.String(), "\n")
}

// same reports whether a name means at the call what it means where it stands.
func (b *binding) same(id *ast.Ident) bool {
	there, here := b.info.ObjectOf(id), b.at(id.Name)
	if a, ok := there.(*types.PkgName); ok {
		c, ok := here.(*types.PkgName)
		return ok && a.Imported() == c.Imported()
	}
	return there != nil && there == here
}
