package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// write is a change of what an expression denotes.
type write struct {
	root *types.Var
	// through means that the change is behind a pointer, a map or a slice that is reached from the
	// root.
	through bool
	what    string // the expression
	pos     token.Pos
	// by is the statement, or the call, that changes it.
	by ast.Node
	// method is the method that may change its receiver, if the write is a call of one. Its summary
	// says whether it does.
	method *types.Func
}

// assign notes assignments to expressions.
func (p *pkg) assign(s *scope, by ast.Stmt, tok token.Token, to ...ast.Expr) {
	if tok == token.DEFINE {
		return
	}
	for _, e := range to {
		if e != nil {
			p.write(s, e, false, by)
		}
	}
}

// write notes a change of what an expression denotes. through means that the change is behind a
// pointer, a map or a slice.
func (p *pkg) write(s *scope, e ast.Expr, through bool, by ast.Node) {
	root, behind := p.rootOf(e)
	if root != nil {
		s.writes = append(s.writes, write{root: root, through: through || behind, what: types.ExprString(e), pos: e.Pos(), by: by})
	}
}

// rootOf returns the variable from which an expression is reached, and whether it is behind a
// pointer, a map or a slice.
func (p *pkg) rootOf(e ast.Expr) (root *types.Var, through bool) {
	for {
		switch n := ast.Unparen(e).(type) {
		case *ast.Ident:
			v, _ := p.info.ObjectOf(n).(*types.Var)
			return v, through
		case *ast.SelectorExpr:
			if v, ok := p.info.Uses[n.Sel].(*types.Var); ok && !v.IsField() {
				return v, through // of another package
			}
			if s := p.info.Selections[n]; s == nil {
				return nil, false
			} else if s.Indirect() {
				through = true
			}
			e = n.X
		case *ast.IndexExpr:
			switch p.under(n.X).(type) {
			case *types.Map, *types.Slice, *types.Pointer:
				through = true
			}
			e = n.X
		case *ast.SliceExpr:
			through, e = true, n.X
		case *ast.StarExpr:
			through, e = true, n.X
		case *ast.UnaryExpr:
			if n.Op != token.AND {
				return nil, false
			}
			e = n.X
		default:
			return nil, false
		}
	}
}

// isWritten reports whether an identifier is a variable that is only assigned to there.
func (p *pkg) isWritten(c inspector.Cursor, v *types.Var) bool {
	e := expression(c)
	switch e.ParentEdgeKind() {
	case edge.AssignStmt_Lhs, edge.IncDecStmt_X, edge.RangeStmt_Key, edge.RangeStmt_Value:
		return true
	}
	return false
}

// changers has the methods of the standard library that change their receiver, and may be called on
// shared variables.
var changers = names(`sync.Map.Store sync.Map.LoadOrStore sync.Map.LoadAndDelete sync.Map.Delete sync.Map.Swap sync.Map.CompareAndSwap
	sync.Map.CompareAndDelete sync.Map.Clear sync.Pool.Put sync.Pool.Get sync.Once.Do
	strings.Builder.Write strings.Builder.WriteString strings.Builder.WriteByte strings.Builder.WriteRune strings.Builder.Reset
	bytes.Buffer.Write bytes.Buffer.WriteString bytes.Buffer.WriteByte bytes.Buffer.WriteRune bytes.Buffer.Reset bytes.Buffer.Read
	bytes.Buffer.ReadByte bytes.Buffer.Next bytes.Buffer.Truncate
	container/list.List.PushBack container/list.List.PushFront container/list.List.Remove container/list.List.Init
	container/list.List.InsertBefore container/list.List.InsertAfter container/list.List.MoveToFront container/list.List.MoveToBack
	net/http.Header.Set net/http.Header.Add net/http.Header.Del net/url.Values.Set net/url.Values.Add net/url.Values.Del`)

// sorters has the packages and functions of the standard library that change the slice in their
// first argument.
var sorters = names(`sort.Sort sort.Stable sort.Slice sort.SliceStable sort.Strings sort.Ints sort.Float64s slices.Sort slices.SortFunc
	slices.SortStableFunc slices.Reverse`)

// lookMutation notes that a call changes its receiver, or a variable whose address it gets.
func (p *pkg) lookMutation(s *scope, n *ast.CallExpr, fn *types.Func) {
	path, name := fn.Pkg().Path(), fullName(fn)
	if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && fn.Signature().Recv() != nil {
		switch {
		case changers[name], path == "sync/atomic" && !strings.HasSuffix(name, ".Load"), strings.HasPrefix(name, "math/rand"):
			p.writeBy(s, sel, n, nil)
		case isPointer(fn.Signature().Recv().Type()) && !isWeft(path):
			p.writeBy(s, sel, n, fn)
		}
		return
	}
	switch {
	case len(n.Args) == 0:
	case sorters[name]:
		p.write(s, argument(n.Args[0]), true, n)
	case path == "sync/atomic" && !strings.HasPrefix(fn.Name(), "Load"):
		p.write(s, n.Args[0], false, n)
	case path == "flag", strings.HasPrefix(path, "encoding/"), path == "fmt" && strings.Contains(fn.Name(), "can"):
		for _, arg := range n.Args {
			if u, ok := ast.Unparen(arg).(*ast.UnaryExpr); ok && u.Op == token.AND {
				p.write(s, u.X, false, n)
			}
		}
	}
}

// argument returns the slice in an argument of a sorting function: the converted value in
// sort.Sort(byName(s)).
func argument(e ast.Expr) ast.Expr {
	if n, ok := ast.Unparen(e).(*ast.CallExpr); ok && len(n.Args) == 1 {
		return argument(n.Args[0])
	}
	return e
}

// writeBy notes a call of a method that changes its receiver. If the method is given, it may change
// it.
func (p *pkg) writeBy(s *scope, sel *ast.SelectorExpr, by *ast.CallExpr, fn *types.Func) {
	root, through := p.rootOf(sel.X)
	if root == nil {
		return
	}
	switch p.info.TypeOf(sel.X).Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice:
		through = true
	}
	s.writes = append(s.writes, write{root: root, through: through, what: types.ExprString(sel.X), pos: sel.Sel.Pos(), by: by, method: fn})
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// mutates reports whether a write happens, and returns its description for messages.
func (p *pkg) mutates(w write) (does string, ok bool) {
	if w.method == nil {
		return "changes " + w.what, true
	}
	sum := p.summaryOf(w.method)
	if sum == nil || !sum.Mutates || sum.Module != p.module { // the state of a library is not checked
		return "", false
	}
	return "changes " + w.what + " (by " + shortName(w.method, p.types) + ")", true
}

// isPackageLevel reports whether a variable is one of a package.
func isPackageLevel(v *types.Var) bool { return v.Pkg() != nil && v.Parent() == v.Pkg().Scope() }
