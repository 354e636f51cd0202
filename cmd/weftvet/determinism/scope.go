package determinism

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// scope is the code of one function, without the function literals in it, which are scopes of their own; or the
// initializer of package-level variables.
type scope struct {
	cur   inspector.Cursor
	outer *scope      // of a literal: where it stands
	fn    *types.Func // of a declaration
	// vars has the package-level variables that it initializes, without unnamed ones.
	vars []*types.Var

	workflow bool   // it is workflow code, whatever encloses it
	takes    bool   // it takes a Context, and so does not run at its place
	outside  bool   // it is an activity's code, whatever encloses it
	who      string // it may only look, and is called this
	free     bool   // it may differ each time

	effects []effect
	calls   []call
	writes  []write
	reads   []read
}

// call is a function that a scope mentions: it calls the function, or passes it on.
type call struct {
	fn  *types.Func
	pos token.Pos
	cur inspector.Cursor // of the expression that names it
}

// read is a package-level variable whose value is used.
type read struct {
	v   *types.Var
	pos token.Pos
}

// own visits the nodes of the scope.
func (s *scope) own(visit func(inspector.Cursor)) {
	s.cur.Inspect(nil, func(c inspector.Cursor) bool {
		if _, ok := c.Node().(*ast.FuncLit); ok && c != s.cur {
			return false
		}
		visit(c)
		return true
	})
}

// decl returns the scope of the declaration that encloses the scope.
func (s *scope) decl() *scope {
	for s.outer != nil {
		s = s.outer
	}
	return s
}

// starts reports whether the code runs when the program starts, and never again: init, and initializers of variables.
func (s *scope) starts() bool {
	d := s.decl()
	return d == s && (d.fn == nil || d.fn.Name() == "init" && d.fn.Signature().Recv() == nil)
}

// holds reports whether a variable is declared in the scope, its parameters included.
func (s *scope) holds(v *types.Var) bool {
	n := s.cur.Node()
	return n.Pos() <= v.Pos() && v.Pos() < n.End()
}

// changesReceiver reports whether a write changes what the receiver of the method is or points to.
func (s *scope) changesReceiver(w write) bool {
	d := s.decl()
	return d.fn != nil && d.fn.Signature().Recv() == w.root && w.through
}

// checked reports whether the code is workflow code, by itself or because workflow code encloses
// it.
func (s *scope) checked() bool {
	for at := s; at != nil && !at.outside; at = at.outer {
		if at.workflow {
			return true
		}
	}
	return false
}

// bound reports whether a rule applies to the code.
func (s *scope) bound(rule string) bool {
	who, root := s.looks()
	if rule == Readonly {
		return who != ""
	}
	return root == nil || !root.free
}

// runs reports whether a call of the enclosing declaration may run the code, judged by its place.
func (s *scope) runs() bool {
	for at := s; at.outer != nil; at = at.outer {
		if at.outside || at.takes {
			return false
		}
	}
	return true
}

// looks returns the name of the code if it may only look, and the outermost scope of that code.
func (s *scope) looks() (who string, root *scope) {
	for at := s; at != nil && !at.outside; at = at.outer {
		if at.who != "" {
			who, root = at.who, at
		}
	}
	return who, root
}

// findScopes finds the functions of the package, and their kinds.
func (p *pkg) findScopes() {
	for c := range p.root.Preorder((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil), (*ast.ValueSpec)(nil)) {
		s := &scope{cur: c}
		switch n := c.Node().(type) {
		case *ast.FuncDecl:
			s.fn, _ = p.info.Defs[n.Name].(*types.Func)
			if s.fn == nil {
				continue
			}
			p.decls[s.fn] = s
		case *ast.FuncLit:
			s.outer = p.scopeOf(c.Parent())
		case *ast.ValueSpec:
			if _, local := c.Parent().Parent().Node().(*ast.DeclStmt); local {
				continue
			}
			s.vars = p.packageVars(n)
		}
		p.scopes = append(p.scopes, s)
		p.at[c.Node()] = s
	}
	for _, s := range p.scopes { // outer ones first
		p.characterize(s)
	}
	p.findHeld()
	for c := range p.root.Preorder((*ast.CallExpr)(nil)) {
		p.findLooking(c)
	}
	for c := range p.root.Preorder((*ast.CompositeLit)(nil)) {
		p.findLookingField(c)
	}
}

// packageVars returns the package-level variables that a specification declares.
func (p *pkg) packageVars(n *ast.ValueSpec) (all []*types.Var) {
	for _, name := range n.Names {
		if v, ok := p.info.Defs[name].(*types.Var); ok && v.Parent() == p.types.Scope() {
			all = append(all, v)
		}
	}
	return all
}

// scopeOf returns the scope of a node.
func (p *pkg) scopeOf(c inspector.Cursor) *scope {
	for e := range c.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil), (*ast.ValueSpec)(nil)) {
		if s := p.at[e.Node()]; s != nil {
			return s
		}
	}
	return nil
}

// characterize finds whether the scope is workflow code.
func (p *pkg) characterize(s *scope) {
	sig := p.signature(s)
	if sig != nil && takes(sig, isContext) {
		s.workflow, s.takes = true, true
		return
	}
	if _, ok := s.cur.Node().(*ast.FuncLit); ok && takes(sig, isGoContext) {
		s.outside = true
		return
	}
	s.own(func(c inspector.Cursor) {
		if e, ok := c.Node().(ast.Expr); ok && !s.workflow {
			tv := p.info.Types[e]
			s.workflow = tv.IsValue() && isContext(tv.Type)
		}
	})
}

func (p *pkg) signature(s *scope) *types.Signature {
	if s.fn != nil {
		return s.fn.Signature()
	}
	if lit, ok := s.cur.Node().(*ast.FuncLit); ok {
		sig, _ := p.info.TypeOf(lit).(*types.Signature)
		return sig
	}
	return nil
}

// isForElsewhere reports whether an expression is a function that is passed to a function such as
// activity.New, whose arguments are not workflow code.
func (p *pkg) isForElsewhere(c inspector.Cursor) bool {
	if c.ParentEdgeKind() != edge.CallExpr_Args {
		return false
	}
	fn := p.callee(c.Parent().Node().(*ast.CallExpr))
	return fn != nil && elsewhere[fullName(fn)]
}

// callee returns the function or method that a call names, or nil for a variable that holds a
// function, a conversion or a builtin.
func (p *pkg) callee(n *ast.CallExpr) *types.Func {
	fn, _ := p.object(n.Fun).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// object returns what an expression names, through parentheses, packages, selectors and type
// arguments, or nil for another expression.
func (p *pkg) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return p.info.ObjectOf(e)
	case *ast.SelectorExpr:
		return p.info.ObjectOf(e.Sel)
	case *ast.IndexExpr:
		return p.instantiated(e, e.X)
	case *ast.IndexListExpr:
		return p.instantiated(e, e.X)
	}
	return nil
}

// instantiated returns the generic function that an index expression instantiates.
func (p *pkg) instantiated(e, x ast.Expr) types.Object {
	if _, ok := p.info.TypeOf(e).Underlying().(*types.Signature); !ok {
		return nil
	}
	fn, _ := p.object(x).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn
}
