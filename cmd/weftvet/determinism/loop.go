package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// loop is a range over something that has no order.
type loop struct {
	p    *pkg
	s    *scope
	stmt *ast.RangeStmt
}

// orderMatters returns what depends on the order of the loop, or "" if nothing is known to.
func (l *loop) orderMatters(c inspector.Cursor) (why string) {
	if isBlank(l.stmt.Key) && isBlank(l.stmt.Value) {
		return ""
	}
	for b := range c.ChildAt(edge.RangeStmt_Body, -1).Preorder((*ast.CallExpr)(nil), (*ast.AssignStmt)(nil), (*ast.ReturnStmt)(nil)) {
		switch n := b.Node().(type) {
		case *ast.CallExpr:
			why = l.called(n)
		case *ast.AssignStmt:
			why = l.assigned(b, n)
		case *ast.ReturnStmt:
			if l.always(b) && slices.ContainsFunc(n.Results, l.depends) {
				why = "returns what comes first"
			}
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return e == nil || ok && id.Name == "_"
}

// always reports whether each iteration of the loop reaches a statement.
func (l *loop) always(c inspector.Cursor) bool { return c.Parent().Node() == l.stmt.Body }

// inside reports whether something is declared in the loop.
func (l *loop) inside(o types.Object) bool {
	return o != nil && l.stmt.Pos() <= o.Pos() && o.Pos() < l.stmt.End()
}

// depends reports whether an expression differs between iterations: it mentions a variable that is
// declared in the loop.
func (l *loop) depends(e ast.Expr) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			_, isVar := l.p.info.Uses[id].(*types.Var)
			yes = yes || isVar && l.inside(l.p.info.Uses[id])
		}
		return true
	})
	return yes
}

// outer reports whether an expression denotes something that outlives the loop.
func (l *loop) outer(e ast.Expr) bool {
	root, _ := l.p.rootOf(e)
	return root != nil && !l.inside(root)
}

// perKey reports whether an expression is an element of the loop's own key, which only one
// iteration reaches.
func (l *loop) perKey(e ast.Expr) bool {
	n, ok := ast.Unparen(e).(*ast.IndexExpr)
	if !ok || isBlank(l.stmt.Key) {
		return false
	}
	key, index := l.p.object(l.stmt.Key), l.p.object(n.Index)
	return key != nil && key == index
}

// called returns the effect of a call that depends on the order of the loop.
func (l *loop) called(n *ast.CallExpr) string {
	p := l.p
	fn := p.callee(n)
	if name := types.ExprString(n.Fun); p.callActs(n, fn) {
		return "calls " + name
	}
	if fn == nil || len(n.Args) == 0 || !slices.ContainsFunc(n.Args, l.depends) {
		return ""
	}
	if fn.Pkg() != nil && fn.Pkg().Path() == "fmt" && strings.HasPrefix(fn.Name(), "Fprint") && l.outer(n.Args[0]) {
		return "writes to " + types.ExprString(n.Args[0])
	}
	switch fn.Name() {
	case "Write", "WriteString", "WriteByte", "WriteRune", "Encode", "PushBack", "PushFront":
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok && fn.Signature().Recv() != nil && l.outer(sel.X) {
			return "writes to " + types.ExprString(sel.X)
		}
	}
	return ""
}

// callActs reports whether a call waits or issues a command.
func (p *pkg) callActs(n *ast.CallExpr, fn *types.Func) bool {
	if fn == nil || types.IsInterface(receiverType(fn)) {
		if v, ok := p.object(n.Fun).(*types.Var); ok && p.held[v] != nil {
			return p.scopeActs(p.held[v])
		}
		return isType(p.info.TypeOf(n.Fun), workflowPath, "CancelFunc") ||
			slices.ContainsFunc(n.Args, func(e ast.Expr) bool { return isContext(p.info.TypeOf(e)) })
	}
	if path := fn.Pkg(); path != nil && isWeft(path.Path()) {
		return takes(fn.Signature(), isContext) && !harmless[localName(fn)]
	}
	sum := p.summaryOf(fn)
	if sum == nil {
		return false
	}
	_, ok := sum.acts()
	return ok
}

// scopeActs reports whether a function literal waits or issues a command.
func (p *pkg) scopeActs(s *scope) bool {
	return slices.ContainsFunc(s.effects, func(e effect) bool { return e.Acts }) ||
		slices.ContainsFunc(s.calls, func(c call) bool {
			return slices.ContainsFunc(p.through(c), func(e effect) bool { return e.Acts })
		})
}

// assigned returns the effect of an assignment that depends on the order of the loop.
func (l *loop) assigned(c inspector.Cursor, n *ast.AssignStmt) string {
	for i, left := range n.Lhs {
		if n.Tok == token.DEFINE || len(n.Lhs) != len(n.Rhs) || !l.outer(left) || l.perKey(left) || !l.depends(n.Rhs[i]) {
			continue
		}
		if why := l.assignedTo(c, n.Tok, left, n.Rhs[i]); why != "" {
			return why
		}
	}
	return ""
}

// assignedTo says what the assignment of a value that depends on the loop does, to something outside it.
func (l *loop) assignedTo(c inspector.Cursor, tok token.Token, left, right ast.Expr) string {
	name := types.ExprString(left)
	if call, ok := ast.Unparen(right).(*ast.CallExpr); ok && l.p.builtinName(call) == "append" {
		if l.sorted(c, left) {
			return ""
		}
		return "appends to " + name + ", which is not sorted afterwards"
	}
	if n, ok := ast.Unparen(left).(*ast.IndexExpr); ok && tok == token.ASSIGN {
		if _, isMap := l.p.under(n.X).(*types.Map); isMap || l.depends(n.Index) || l.sorted(c, n.X) {
			return ""
		}
		return "fills " + types.ExprString(n.X) + ", which is not sorted afterwards"
	}
	switch {
	case tok != token.ASSIGN || mentions(right, name):
		return l.sum(tok, left, right, name)
	case l.always(c):
		return "keeps in " + name + " what comes last"
	}
	return ""
}

// sum reports whether a sum depends on the order.
func (l *loop) sum(tok token.Token, left, right ast.Expr, name string) string {
	if bin, ok := ast.Unparen(right).(*ast.BinaryExpr); ok && tok == token.ASSIGN {
		tok = bin.Op
	}
	b, ok := l.p.under(left).(*types.Basic)
	switch tok {
	case token.ADD, token.ADD_ASSIGN, token.SUB_ASSIGN, token.MUL_ASSIGN, token.QUO_ASSIGN:
		if ok && b.Info()&(types.IsString|types.IsFloat|types.IsComplex) != 0 {
			return "adds up " + name + ", a " + b.Name()
		}
	}
	return ""
}

// sorted reports whether a slice is sorted after the loop.
func (l *loop) sorted(c inspector.Cursor, e ast.Expr) bool {
	for at := range c.Enclosing((*ast.RangeStmt)(nil)) {
		if at.Node() == l.stmt {
			return l.p.sortedAfter(at, e)
		}
	}
	return false
}

// mentions reports whether an expression has a part that is spelled like this.
func mentions(e ast.Expr, name string) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if part, ok := n.(ast.Expr); ok && types.ExprString(part) == name {
			yes = true
		}
		return !yes
	})
	return yes
}
