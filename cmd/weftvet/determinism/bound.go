package determinism

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// kinds has the types of package workflow that declare a name, in the order in which fixes list
// their declarations.
var kinds = []struct{ typ, kind string }{
	{"Update", "update"},
	{"Query", "query"},
	{"Signal", "signal"},
	{"Topic", "topic"},
	{"Attribute", "search attribute"},
	{"Memo", "memo field"},
}

// handling has the methods of declarations by which workflow code handles a name.
var handling = map[string]bool{
	"Update.Handle": true, "Query.Handle": true, "Signal.Receive": true, "Signal.TryReceive": true,
	"Topic.Publish": true, "Topic.Truncate": true,
	"Attribute.Set": true, "Attribute.Unset": true, "Attribute.Get": true,
	"Memo.Set": true, "Memo.Unset": true, "Memo.Get": true,
}

// computed is the kind of what handles names that the code computes. Its Name is that of the kinds.
const computed = "computed"

// computing has the functions by which workflow code handles names that it computes, with the kinds
// that the binding has to allow.
var computing = map[string]string{
	"ReceiveSignals": "Signals", "TryReceiveSignals": "Signals", "OnSignals": "Signals", "HandleUpdates": "Updates", "HandleQueries": "Queries",
}

// handled is a declaration whose name some code handles.
type handled struct {
	Kind string // "signal"
	// Path and Var are of the package-level variable that holds the declaration, if one does.
	Path, Var string
	// Param is of a function that handles a name of its caller: 1 is its first parameter, -1 its
	// receiver.
	Param int
	// Sel is the way from the variable or parameter to the declaration: ".a.b" for fields, "[]" for
	// any element.
	Sel string
	// Name is the declared name, if it is a constant.
	Name string
	// At is where the code handles it, as file:line.
	At string

	local *types.Var    // the local variable that holds the declaration
	made  *ast.CallExpr // the call of NewSignal or the like, of a local variable or without one
}

// identity is the same for two declarations of one name.
type identity struct {
	kind, name, path, variable, sel string
	local                           *types.Var
	made                            *ast.CallExpr
}

func (h handled) id() identity {
	switch {
	case h.Name != "":
		return identity{kind: h.Kind, name: h.Name}
	case h.local != nil:
		return identity{kind: h.Kind, local: h.local, sel: h.Sel}
	default:
		return identity{kind: h.Kind, path: h.Path, variable: h.Var, sel: h.Sel, made: h.made}
	}
}

// handles is a fact: what a function handles.
type handles struct {
	Names []handled
	// Opaque means that the function calls code that is not known here.
	Opaque bool
}

// AFact makes it a fact.
func (*handles) AFact() {}

// declares is the fact that a package-level variable declares a name.
type declares struct{ Name string }

// AFact makes it a fact.
func (*declares) AFact() {}

// listing is the fact that a package-level variable holds options of a binding that name these.
type listing struct {
	Names   []handled
	Dynamic []string // kinds
}

// AFact makes it a fact.
func (*listing) AFact() {}

// unit is code that may be part of a workflow's code: a function, with the literals in it, or an
// expression.
type unit struct {
	names  map[identity]handled
	opaque bool
	links  []link
}

// link is a mention of other code.
type link struct {
	to   *unit            // in this package, or nil
	fact *handles         // of another package, or nil
	sig  *types.Signature // of the mentioned function, or nil
	recv ast.Expr         // the receiver, or nil
	call *ast.CallExpr    // nil if the function is only mentioned
}

// value is an expression that a variable is set to.
type value struct {
	cur inspector.Cursor
	// element means that the variable is set to the elements of the expression.
	element bool
}

// findHandled finds which names each function handles, itself or through the code that it mentions,
// and exports that.
func (p *pkg) findHandled() {
	p.findValues()
	p.findPassed()
	for _, s := range p.scopes {
		if s.fn != nil {
			p.unit(s.cur)
		}
	}
	for c := range p.root.Preorder((*ast.CallExpr)(nil)) {
		n := c.Node().(*ast.CallExpr)
		for _, i := range p.codeOf(n) {
			p.unit(c.ChildAt(edge.CallExpr_Args, i))
		}
	}
	for p.spread() {
	}
	for _, s := range p.scopes {
		if s.fn != nil && s.fn.Name() != "_" && p.types.Name() != "main" {
			p.exportHandled(s)
		}
	}
	scope := p.types.Scope()
	for _, name := range scope.Names() { // sorted
		v, ok := scope.Lookup(name).(*types.Var)
		if !ok {
			continue
		}
		if kindOf(v.Type()) != "" {
			if name := p.declaredName(v); name != "" {
				p.pass.ExportObjectFact(v, &declares{name})
			}
		}
		if isType(v.Type(), workflowPath, "BindOptions") {
			if l, ok := p.heldListing(v, 8); ok {
				p.pass.ExportObjectFact(v, &listing{exportable(slices.Values(l.Names)), l.Dynamic})
			}
		}
	}
}

// exportHandled exports what a function handles.
func (p *pkg) exportHandled(s *scope) {
	u := p.units[s.cur.Node()]
	if len(u.names) == 0 && !u.opaque {
		return
	}
	f := &handles{Opaque: u.opaque}
	all := maps.Clone(u.names)
	for id, h := range all {
		if h.local != nil {
			if h.Param = paramOf(s.fn.Signature(), h.local); h.Param != 0 {
				h.Name = "" // it is the caller's
				all[id] = h
			}
		}
	}
	f.Names = exportable(maps.Values(all))
	p.pass.ExportObjectFact(s.fn, f)
}

// exportable returns the declarations that mean something to other packages, sorted.
func exportable(names func(func(handled) bool)) (all []handled) {
	for h := range names {
		if h.Path != "" || h.Param != 0 || h.Name != "" {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, handled.compare)
	return all
}

// paramOf returns which parameter of a function a variable is, as handled.Param has it.
func paramOf(sig *types.Signature, v *types.Var) int {
	if sig.Recv() == v {
		return -1
	}
	for i := range sig.Params().Len() {
		if sig.Params().At(i) == v {
			return 1 + i
		}
	}
	return 0
}

// codeOf returns the indexes of the arguments of Bind or Intercept that are workflow code.
func (p *pkg) codeOf(n *ast.CallExpr) []int {
	fn := p.callee(n)
	if fn == nil {
		return nil
	}
	switch fullName(fn) {
	case workflowPath + ".Bind":
		if len(n.Args) > 1 {
			return []int{1}
		}
	case workflowPath + ".Intercept":
		all := make([]int, len(n.Args))
		for i := range all {
			all[i] = i
		}
		return all
	}
	return nil
}

// kindOf returns the kind of name that a type declares, or "".
func kindOf(t types.Type) string {
	if t == nil {
		return ""
	}
	for _, k := range kinds {
		if isType(t, workflowPath, k.typ) {
			return k.kind
		}
	}
	return ""
}

// findValues finds what variables are set to.
func (p *pkg) findValues() {
	note := func(name ast.Expr, c inspector.Cursor, element bool) {
		if id, ok := name.(*ast.Ident); ok {
			if v, ok := p.info.ObjectOf(id).(*types.Var); ok {
				p.values[v] = append(p.values[v], value{c, element})
			}
		}
	}
	for c := range p.root.Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.RangeStmt)(nil)) {
		switch n := c.Node().(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) {
					note(left, c.ChildAt(edge.AssignStmt_Rhs, i), false)
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if len(n.Names) == len(n.Values) {
					note(name, c.ChildAt(edge.ValueSpec_Values, i), false)
				}
			}
		case *ast.RangeStmt:
			if n.Value != nil {
				note(n.Value, c.ChildAt(edge.RangeStmt_X, -1), true)
			}
		}
	}
}

// findPassed finds what this package passes to parameters of its functions.
func (p *pkg) findPassed() {
	for c := range p.root.Preorder((*ast.CallExpr)(nil)) {
		n := c.Node().(*ast.CallExpr)
		fn := p.callee(n)
		if fn == nil || p.decls[fn] == nil {
			continue
		}
		params := fn.Signature().Params()
		for i := range n.Args {
			if params.Len() > 0 {
				v := params.At(min(i, params.Len()-1))
				p.passed[v] = append(p.passed[v], value{cur: c.ChildAt(edge.CallExpr_Args, i)})
			}
		}
	}
}

// unit returns the unit of a function or an expression.
func (p *pkg) unit(c inspector.Cursor) *unit {
	if u := p.units[c.Node()]; u != nil {
		return u
	}
	u := &unit{names: map[identity]handled{}}
	p.units[c.Node()] = u
	c.Inspect(nil, func(c inspector.Cursor) bool { return p.lookHandled(u, c) })
	return u
}

// lookHandled notes what a node of a unit handles and mentions. It reports whether the nodes in it
// belong to the unit.
func (p *pkg) lookHandled(u *unit, c inspector.Cursor) bool {
	switch n := c.Node().(type) {
	case *ast.FuncLit:
		return !p.isForElsewhere(c)
	case *ast.CallExpr:
		if p.codeOf(n) != nil {
			return false // another workflow
		}
		p.lookHandledCall(u, n)
	case *ast.Ident:
		switch o := p.info.Uses[n].(type) {
		case *types.Func:
			p.lookHandledFunc(u, c, o.Origin())
		case *types.Var:
			p.lookHandledVar(u, c, o)
		}
	}
	return true
}

func (p *pkg) lookHandledCall(u *unit, n *ast.CallExpr) {
	if fn := p.callee(n); fn != nil {
		if fullName(fn) == workflowPath+".OnSignal" && len(n.Args) > 0 {
			p.handle(u, n.Args[0], n.Pos())
		}
		if !types.IsInterface(receiverType(fn)) {
			return
		}
	}
	if lit := p.literalOf(n.Fun); lit != nil { // a local variable that holds a function literal
		sig, _ := p.info.TypeOf(lit.Node().(ast.Expr)).(*types.Signature)
		u.links = append(u.links, link{to: p.unit(*lit), sig: sig, call: n})
		return
	}
	if _, ok := ast.Unparen(n.Fun).(*ast.FuncLit); ok {
		return
	}
	for _, arg := range n.Args {
		if t := p.info.TypeOf(arg); t != nil && isContext(t) {
			u.opaque = true
		}
	}
}

// literalOf returns the function literal that an expression denotes as the only value of a local
// variable.
func (p *pkg) literalOf(e ast.Expr) *inspector.Cursor {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := p.info.ObjectOf(id).(*types.Var)
	if !ok || len(p.values[v]) != 1 || p.values[v][0].element {
		return nil
	}
	c := p.values[v][0].cur
	if _, ok := c.Node().(*ast.FuncLit); !ok {
		return nil
	}
	return &c
}

// lookHandledFunc notes that a unit mentions a function.
func (p *pkg) lookHandledFunc(u *unit, c inspector.Cursor, fn *types.Func) {
	if fn.Pkg() == nil {
		return
	}
	e := expression(c)
	l := link{sig: fn.Signature()}
	if sel, ok := ast.Unparen(e.Node().(ast.Expr)).(*ast.SelectorExpr); ok && fn.Signature().Recv() != nil {
		l.recv = sel.X
	}
	if e.ParentEdgeKind() == edge.CallExpr_Fun {
		l.call = e.Parent().Node().(*ast.CallExpr)
	}
	switch {
	case fn.Pkg().Path() == workflowPath:
		if l.recv != nil && handling[localName(fn)] && !p.isForOther(c) {
			p.handle(u, l.recv, c.Node().Pos())
		}
		if kinds := computing[localName(fn)]; kinds != "" && !p.silenced(Names, c.Node().Pos()) {
			u.add(handled{Kind: computed, Name: kinds, At: p.where(c.Node().Pos())})
		}
		return
	case isWeft(fn.Pkg().Path()) || p.isForElsewhere(e):
		return
	case p.decls[fn] != nil:
		l.to = p.unit(p.decls[fn].cur)
	default:
		fact := &handles{}
		if types.IsInterface(receiverType(fn)) || !p.pass.ImportObjectFact(fn, fact) {
			return
		}
		l.fact = fact
	}
	u.links = append(u.links, l)
}

// isForOther reports whether a node stands in the options of a start or a child: an attribute that
// is set there is that of another run.
func (p *pkg) isForOther(c inspector.Cursor) bool {
	for e := range c.Enclosing((*ast.CompositeLit)(nil), (*ast.FuncLit)(nil), (*ast.FuncDecl)(nil)) {
		n, ok := e.Node().(*ast.CompositeLit)
		if !ok {
			return false
		}
		t := named(p.info.TypeOf(n))
		if t != nil && t.Obj().Pkg() != nil && isWeft(t.Obj().Pkg().Path()) && strings.HasSuffix(t.Obj().Name(), "Options") {
			return true
		}
	}
	return false
}

// lookHandledVar notes that a unit mentions a variable, which may hold code.
func (p *pkg) lookHandledVar(u *unit, c inspector.Cursor, v *types.Var) {
	if kindOf(v.Type()) != "" {
		p.lookEscape(u, c)
		return
	}
	if v.IsField() || !holdsCode(v.Type(), 4) {
		return
	}
	if e := expression(c); e.ParentEdgeKind() == edge.SelectorExpr_X && !holdsCode(p.info.TypeOf(e.Parent().Node().(ast.Expr)), 4) {
		return // another field
	}
	if len(p.values[v]) == 0 {
		u.opaque = true // a parameter, or a variable of another package
	}
	for _, set := range append(p.values[v][:len(p.values[v]):len(p.values[v])], p.passed[v]...) {
		u.links = append(u.links, link{to: p.unit(set.cur)})
	}
}

// lookEscape notes that a unit mentions a declaration. The unit is opaque if what becomes of it is
// not known.
func (p *pkg) lookEscape(u *unit, c inspector.Cursor) {
	e := expression(c)
	switch e.ParentEdgeKind() {
	case edge.SelectorExpr_X: // one of its methods
	case edge.CallExpr_Args:
		if fn := p.callee(e.Parent().Node().(*ast.CallExpr)); fn == nil || types.IsInterface(receiverType(fn)) {
			u.opaque = true
		}
	case edge.AssignStmt_Lhs, edge.RangeStmt_Value, edge.ValueSpec_Names:
	default:
		u.opaque = true
	}
}

// passedCode has Weft's types that hold functions of workflow code.
var passedCode = map[string]bool{"Case": true, "HandlerOptions": true, "Interceptor": true}

// holdsCode reports whether values of a type may hold functions, to this depth.
func holdsCode(t types.Type, depth int) bool {
	if depth == 0 {
		return false
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil {
		path := n.Obj().Pkg().Path()
		if first, _, _ := strings.Cut(path, "/"); isWeft(path) && !passedCode[n.Obj().Name()] || !strings.Contains(first, ".") {
			return false
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Pointer:
		return holdsCode(u.Elem(), depth-1)
	case *types.Slice:
		return holdsCode(u.Elem(), depth-1)
	case *types.Array:
		return holdsCode(u.Elem(), depth-1)
	case *types.Map:
		return holdsCode(u.Elem(), depth-1)
	case *types.Struct:
		for f := range u.Fields() {
			if holdsCode(f.Type(), depth-1) {
				return true
			}
		}
	}
	return false
}

// handle notes that a unit handles the name that an expression declares.
func (p *pkg) handle(u *unit, e ast.Expr, pos token.Pos) {
	kind := kindOf(p.info.TypeOf(e))
	if kind == "" || p.silenced(Names, pos) {
		return
	}
	all := p.resolve(e)
	if len(all) == 0 {
		u.opaque = true
	}
	for _, h := range all {
		h.Kind, h.At = kind, p.where(pos)
		u.add(h)
	}
}

// add adds a declaration, and reports whether that changed something. Of several places and
// variables of one name, the first stays. So findings do not depend on the order of the search.
func (u *unit) add(h handled) bool {
	id := h.id()
	if old, ok := u.names[id]; ok && h.compare(old) >= 0 {
		return false
	}
	u.names[id] = h
	return true
}

// compare orders by kind, then by the place in the code.
func (h handled) compare(o handled) int {
	rank := func(h handled) int {
		return slices.IndexFunc(kinds, func(k struct{ typ, kind string }) bool { return k.kind == h.Kind })
	}
	at := func(h handled) (pos token.Pos) {
		if h.local != nil {
			return h.local.Pos()
		}
		if h.made != nil {
			return h.made.Pos()
		}
		return token.NoPos
	}
	return cmp.Or(cmp.Compare(rank(h), rank(o)), comparePlaces(h.At, o.At), cmp.Compare(h.Path, o.Path), cmp.Compare(h.Var, o.Var),
		cmp.Compare(h.Name, o.Name), cmp.Compare(h.Param, o.Param), cmp.Compare(h.Sel, o.Sel), cmp.Compare(at(h), at(o)))
}

// comparePlaces compares two texts file:line.
func comparePlaces(a, b string) int {
	fileA, lineA, _ := strings.Cut(a, ":")
	fileB, lineB, _ := strings.Cut(b, ":")
	return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(len(lineA), len(lineB)), cmp.Compare(lineA, lineB))
}

// farthestField bounds the way from a variable to a declaration, as a function may hand its
// parameter's field to itself.
const farthestField = 3

// resolve returns the declarations that an expression may stand for, without their kinds.
func (p *pkg) resolve(e ast.Expr) []handled { return p.resolveIn(e, 8) }

func (p *pkg) resolveIn(e ast.Expr, depth int) (all []handled) {
	if depth--; depth < 0 {
		return nil
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := p.info.ObjectOf(e).(*types.Var)
		if !ok {
			return nil
		}
		return p.resolveVar(v, depth)
	case *ast.SelectorExpr:
		if v, ok := p.info.Uses[e.Sel].(*types.Var); ok && !v.IsField() {
			return p.resolveVar(v, depth)
		}
		if s := p.info.Selections[e]; s == nil || s.Kind() != types.FieldVal {
			return nil
		}
		return selected(p.resolveIn(e.X, depth), "."+e.Sel.Name)
	case *ast.CallExpr:
		if fn := p.callee(e); fn != nil && isNew(fn) {
			return []handled{{Name: p.constant(e), made: e}}
		}
	case *ast.StarExpr:
		return p.resolveIn(e.X, depth)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return p.resolveIn(e.X, depth)
		}
	case *ast.IndexExpr:
		return p.elements(e.X, depth)
	}
	return nil
}

// resolveVar returns the declarations that a variable may hold.
func (p *pkg) resolveVar(v *types.Var, depth int) (all []handled) {
	if v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return []handled{{Path: v.Pkg().Path(), Var: v.Name(), Name: p.declaredName(v)}}
	}
	if v.IsField() {
		return nil
	}
	isName := kindOf(v.Type()) != ""
	for _, set := range p.values[v] {
		if call, ok := ast.Unparen(set.cur.Node().(ast.Expr)).(*ast.CallExpr); ok && !set.element && isName {
			if fn := p.callee(call); fn != nil && isNew(fn) {
				all = append(all, handled{local: v, made: call, Name: p.constant(call)})
			}
			continue
		}
		switch {
		case set.element && isName:
			all = append(all, p.elements(set.cur.Node().(ast.Expr), depth)...)
		case isName:
			all = append(all, p.resolveIn(set.cur.Node().(ast.Expr), depth)...)
		}
	}
	if len(all) == 0 {
		all = append(all, handled{local: v})
	}
	return all
}

// elements returns the declarations that are elements of an expression.
func (p *pkg) elements(e ast.Expr, depth int) (all []handled) {
	if depth--; depth < 0 {
		return nil
	}
	e = ast.Unparen(e)
	if lit, ok := e.(*ast.CompositeLit); ok {
		for _, x := range lit.Elts {
			if pair, ok := x.(*ast.KeyValueExpr); ok {
				x = pair.Value
			}
			all = append(all, p.resolveIn(x, depth)...)
		}
		return all
	}
	id, ok := e.(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := p.info.ObjectOf(id).(*types.Var)
	if !ok {
		return nil
	}
	if len(p.values[v]) == 0 && v.Parent() != p.types.Scope() {
		return []handled{{local: v, Sel: "[]"}} // a parameter
	}
	for _, set := range p.values[v] {
		if !set.element {
			all = append(all, p.elements(set.cur.Node().(ast.Expr), depth)...)
		}
	}
	return all
}

// selected returns the declarations at the end of a way from others.
func selected(all []handled, way string) (out []handled) {
	for _, h := range all {
		if h.Sel += way; strings.Count(h.Sel, ".") <= farthestField && h.made == nil {
			h.Name = ""
			out = append(out, h)
		}
	}
	return out
}

// isNew reports whether a function is NewSignal or the like.
func isNew(fn *types.Func) bool {
	name, ok := strings.CutPrefix(fullName(fn), workflowPath+".New")
	return ok && slices.ContainsFunc(kinds, func(k struct{ typ, kind string }) bool { return k.typ == name })
}

// constant returns the first argument of a call, if it is a constant text.
func (p *pkg) constant(n *ast.CallExpr) string {
	if len(n.Args) == 0 {
		return ""
	}
	if v := p.info.Types[n.Args[0]].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// declaredName returns the name that a package-level variable declares, if it is a constant.
func (p *pkg) declaredName(v *types.Var) string {
	if v.Pkg() != p.types {
		fact := &declares{}
		p.pass.ImportObjectFact(v, fact)
		return fact.Name
	}
	if len(p.values[v]) != 1 {
		return ""
	}
	call, ok := ast.Unparen(p.values[v][0].cur.Node().(ast.Expr)).(*ast.CallExpr)
	if !ok {
		return ""
	}
	if fn := p.callee(call); fn == nil || !isNew(fn) {
		return ""
	}
	return p.constant(call)
}

// spread adds to each unit what the code that it mentions handles, one mention deep, and reports
// whether there was more.
func (p *pkg) spread() (more bool) {
	for _, u := range p.units {
		for _, l := range u.links {
			names, opaque := []handled(nil), false
			if l.to != nil {
				names, opaque = slices.Collect(maps.Values(l.to.names)), l.to.opaque
			} else {
				names, opaque = l.fact.Names, l.fact.Opaque
			}
			if opaque && !u.opaque {
				u.opaque, more = true, true
			}
			for _, h := range names {
				for _, h := range p.substitute(h, l) {
					more = u.add(h) || more
				}
			}
		}
	}
	return more
}

// substitute returns what a declaration that mentioned code handles is for the code that mentions
// it.
func (p *pkg) substitute(h handled, l link) (all []handled) {
	param := h.Param
	if h.local != nil && l.sig != nil {
		param = paramOf(l.sig, h.local)
	}
	if param == 0 {
		return []handled{h}
	}
	for _, given := range p.given(param, &h, l) {
		given.Kind, given.At = h.Kind, h.At
		if h.Sel != "" {
			given.Name = ""
			if given.Sel += h.Sel; strings.Count(given.Sel, ".") > farthestField || given.made != nil {
				continue
			}
		}
		all = append(all, given)
	}
	return all
}

// given returns what a parameter is in a link. It takes "[]" off the declaration's way if it
// returns the elements.
func (p *pkg) given(param int, h *handled, l link) (all []handled) {
	if param < 0 {
		if l.recv == nil {
			return nil
		}
		return p.resolve(l.recv)
	}
	if l.call == nil {
		return nil
	}
	args := l.call.Args
	way, elements := strings.CutPrefix(h.Sel, "[]")
	last := param == l.sig.Params().Len()
	if elements {
		h.Sel = way
	}
	switch {
	case elements && last && l.sig.Variadic() && !l.call.Ellipsis.IsValid():
		for _, arg := range args[min(param-1, len(args)):] {
			all = append(all, p.resolve(arg)...)
		}
	case param > len(args):
	case elements:
		all = p.elements(args[param-1], 8)
	default:
		all = p.resolve(args[param-1])
	}
	return all
}
