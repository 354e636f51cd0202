package determinism

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// lookup is a function that is passed to Weft as one that may only look, but whose declaration is
// not marked so: it belongs to another package, or is a side effect, which other code may call too.
type lookup struct {
	fn  *types.Func
	who string
	pos token.Pos
}

// findLooking marks the function that a call passes to Weft as one that may only look.
func (p *pkg) findLooking(c inspector.Cursor) {
	n := c.Node().(*ast.CallExpr)
	fn := p.callee(n)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != workflowPath {
		return
	}
	if cb, ok := callbacks[localName(fn)]; ok && cb.arg < len(n.Args) {
		p.markLooking(c.ChildAt(edge.CallExpr_Args, cb.arg), n.Args[cb.arg], cb)
	}
}

// findLookingField marks the functions that options pass to Weft as those that may only look.
func (p *pkg) findLookingField(c inspector.Cursor) {
	n := c.Node().(*ast.CompositeLit)
	t := named(p.info.TypeOf(n))
	if t == nil || t.Obj().Pkg() == nil || t.Obj().Pkg().Path() != workflowPath {
		return
	}
	fields, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, element := range n.Elts {
		at := c.ChildAt(edge.CompositeLit_Elts, i)
		name := ""
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			name, element, at = types.ExprString(pair.Key), pair.Value, at.ChildAt(edge.KeyValueExpr_Value, -1)
		} else if i < fields.NumFields() {
			name = fields.Field(i).Name()
		}
		if cb, ok := options[t.Obj().Name()+"."+name]; ok {
			p.markLooking(at, element, cb)
		}
	}
}

// markLooking marks the function that an expression stands for, at a cursor, as one that may only look.
func (p *pkg) markLooking(c inspector.Cursor, e ast.Expr, cb callback) {
	for _, s := range p.literals(c) {
		s.who, s.free, s.workflow = cb.who, cb.free, true
	}
	given, ok := p.object(e).(*types.Func)
	if !ok {
		return
	}
	if s := p.decls[given.Origin()]; s != nil && !cb.free {
		s.who, s.workflow = cb.who, true
	} else {
		p.lookups = append(p.lookups, lookup{given.Origin(), cb.who, e.Pos()})
	}
}

// literals returns the function literals that an expression denotes: itself, that of a local
// variable, or those that a function of this package returns.
func (p *pkg) literals(c inspector.Cursor) (all []*scope) {
	switch n := ast.Unparen(c.Node().(ast.Expr)).(type) {
	case *ast.FuncLit:
		all = append(all, p.at[n])
	case *ast.Ident:
		if v, ok := p.info.ObjectOf(n).(*types.Var); ok && p.held[v] != nil {
			all = append(all, p.held[v])
		}
	case *ast.CallExpr:
		if s := p.decls[p.callee(n)]; s != nil {
			s.own(func(c inspector.Cursor) {
				if lit, ok := c.Node().(*ast.ReturnStmt); ok {
					for _, result := range lit.Results {
						if f, ok := ast.Unparen(result).(*ast.FuncLit); ok {
							all = append(all, p.at[f])
						}
					}
				}
			})
		}
	}
	return all
}

// findHeld finds the local variables that are set once, to a function literal.
func (p *pkg) findHeld() {
	set := map[*types.Var]int{}
	note := func(name, value ast.Expr) {
		id, ok := name.(*ast.Ident)
		if !ok {
			return
		}
		v, ok := p.info.ObjectOf(id).(*types.Var)
		if !ok || v.Parent() == p.types.Scope() {
			return
		}
		if set[v]++; set[v] > 1 {
			delete(p.held, v)
			return
		}
		if lit, ok := value.(*ast.FuncLit); ok {
			p.held[v] = p.at[lit]
		}
	}
	for c := range p.root.Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil)) {
		switch n := c.Node().(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				note(left, pick(n.Rhs, i))
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if len(n.Values) > 0 {
					note(name, pick(n.Values, i))
				}
			}
		}
	}
}

// pick returns the expression of this index, or nil if there is none, as when one call returns many
// values.
func pick(all []ast.Expr, i int) ast.Expr {
	if i < len(all) {
		return ast.Unparen(all[i])
	}
	return nil
}
