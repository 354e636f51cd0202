package determinism

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

const useSorted = "go through slices.Sorted(maps.Keys(m))"

// findMapOrder notes where the order of a map decides something.
func (p *pkg) findMapOrder() {
	for _, s := range p.scopes {
		s.own(func(c inspector.Cursor) {
			switch n := c.Node().(type) {
			case *ast.RangeStmt:
				if what := p.unordered(n.X); what != "" {
					l := &loop{p: p, s: s, stmt: n}
					if why := l.orderMatters(c); why != "" {
						p.add(s, n.Pos(), effect{Rule: MapOrder, Does: "ranges over " + what + " and " + why, Instead: useSorted, Local: true})
					}
				}
			case *ast.CallExpr:
				if what := p.collects(n); what != "" && !p.isSorted(c) {
					p.add(s, n.Pos(), effect{Rule: MapOrder, Does: what + " in the order of the map", Instead: useSorted, Local: true})
				}
			}
		})
	}
}

// unordered returns what a range iterates over if that has no order, or "" if it has one.
func (p *pkg) unordered(e ast.Expr) string {
	if _, ok := p.under(e).(*types.Map); ok {
		return "a map"
	}
	n, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || p.callee(n) == nil {
		return ""
	}
	switch name := fullName(p.callee(n)); name {
	case "maps.Keys", "maps.Values", "maps.All", "golang.org/x/exp/maps.Keys", "golang.org/x/exp/maps.Values":
		return shortName(p.callee(n), p.types)
	case "slices.Collect":
		return p.unordered(n.Args[0])
	case "reflect.Value.MapKeys":
		return "the keys of a map"
	}
	return ""
}

// collects returns what a call collects into a slice, if that has no order.
func (p *pkg) collects(n *ast.CallExpr) string {
	fn := p.callee(n)
	if fn == nil {
		return ""
	}
	switch fullName(fn) {
	case "slices.Collect":
		if what := p.unordered(n.Args[0]); what != "" {
			return "collects " + what
		}
	case "slices.AppendSeq":
		if what := p.unordered(n.Args[1]); what != "" {
			return "collects " + what
		}
	case "reflect.Value.MapKeys", "golang.org/x/exp/maps.Keys", "golang.org/x/exp/maps.Values":
		return "collects " + p.unordered(n)
	}
	return ""
}

// result returns the call whose function a mention is. The cursor is invalid if the function is
// passed on.
func (c call) result() inspector.Cursor {
	if c.cur.ParentEdgeKind() == edge.CallExpr_Fun {
		return c.cur.Parent()
	}
	return inspector.Cursor{}
}

// isSorted reports whether the slice that a call returns is sorted: at once, or by the variable
// that it is assigned to. A loop over it is checked as a loop.
func (p *pkg) isSorted(c inspector.Cursor) bool {
	if !c.Valid() {
		return false
	}
	switch kind, i := c.ParentEdge(); kind {
	case edge.CallExpr_Args:
		n := c.Parent().Node().(*ast.CallExpr)
		fn := p.callee(n)
		return p.sorts(n) || p.builtinName(n) == "len" || (fn == nil || fn.Pkg() != nil && fn.Pkg().Path() == "slices") && p.isSorted(c.Parent())
	case edge.RangeStmt_X:
		return p.unordered(c.Node().(ast.Expr)) != ""
	case edge.AssignStmt_Rhs:
		n := c.Parent().Node().(*ast.AssignStmt)
		if len(n.Lhs) == len(n.Rhs) {
			return p.sortedAfter(c, n.Lhs[i])
		}
		return slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return p.sortedAfter(c, e) })
	case edge.ValueSpec_Values:
		if n := c.Parent().Node().(*ast.ValueSpec); len(n.Names) == len(n.Values) {
			return p.sortedAfter(c, n.Names[i])
		}
	}
	return false
}

func (p *pkg) builtinName(n *ast.CallExpr) string {
	if b, ok := p.object(n.Fun).(*types.Builtin); ok {
		return b.Name()
	}
	return ""
}

// sorts reports whether a call is one of a function that sorts, by its name.
func (p *pkg) sorts(n *ast.CallExpr) bool {
	fn := p.callee(n)
	return fn != nil && (strings.Contains(strings.ToLower(fn.Name()), "sort") || fn.Pkg() != nil && fn.Pkg().Path() == "sort")
}

// sortedAfter reports whether something is sorted later in the declaration of a node.
func (p *pkg) sortedAfter(c inspector.Cursor, target ast.Expr) bool {
	s := p.scopeOf(c)
	if s == nil {
		return false
	}
	want, after := types.ExprString(target), c.Node().End()
	for call := range s.decl().cur.Preorder((*ast.CallExpr)(nil)) {
		n := call.Node().(*ast.CallExpr)
		if n.Pos() < after || !p.sorts(n) {
			continue
		}
		if len(n.Args) > 0 && types.ExprString(argument(n.Args[0])) == want {
			return true
		}
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok && types.ExprString(sel.X) == want {
			return true
		}
	}
	return false
}
