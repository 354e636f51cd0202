package determinism

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// findDirect notes what each scope does itself, which functions it mentions, and which variables it reads and writes.
func (p *pkg) findDirect() {
	for _, s := range p.scopes {
		s.own(func(c inspector.Cursor) { p.look(s, c) })
	}
}

const (
	useChannel = "use workflow.Channel, which waits with the workflow"
	useSelect  = "use workflow.Select, whose choice is the same on replay"
)

func (p *pkg) look(s *scope, c inspector.Cursor) {
	switch n := c.Node().(type) {
	case *ast.GoStmt:
		p.add(s, n.Pos(), effect{Rule: Goroutine, Does: "starts a goroutine", Instead: useGo})
	case *ast.SelectStmt:
		p.add(s, n.Pos(), effect{Rule: Channel, Does: "selects between Go channels", Instead: useSelect, Local: true})
	case *ast.SendStmt:
		p.channel(s, c, n.Pos(), "sends to a Go channel")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			p.channel(s, c, n.Pos(), "receives from a Go channel")
		}
	case *ast.RangeStmt:
		if _, ok := p.under(n.X).(*types.Chan); ok {
			p.channel(s, c, n.Pos(), "ranges over a Go channel")
		}
		p.assign(s, n, n.Tok, n.Key, n.Value)
	case *ast.AssignStmt:
		p.assign(s, n, n.Tok, n.Lhs...)
	case *ast.IncDecStmt:
		p.assign(s, n, token.ASSIGN, n.X)
	case *ast.CallExpr:
		p.lookCall(s, c, n)
	case *ast.Ident:
		p.lookName(s, c, n)
	}
}

// channel notes that a scope uses a channel, except as a case of a select, which is noted as a whole.
func (p *pkg) channel(s *scope, c inspector.Cursor, pos token.Pos, does string) {
	for at := range c.Enclosing() { // as far as its statement; what initializes a package-level variable stands in none
		if at.ParentEdgeKind() == edge.CommClause_Comm {
			return
		}
		if _, ok := at.Node().(ast.Stmt); ok {
			break
		}
	}
	p.add(s, pos, effect{Rule: Channel, Does: does, Instead: useChannel, Local: true})
}

// under returns the underlying type of an expression. For a type parameter it is the one that all
// its types share.
func (p *pkg) under(e ast.Expr) types.Type {
	t := p.info.TypeOf(e)
	if t == nil {
		return nil
	}
	if tp, ok := types.Unalias(t).(*types.TypeParam); ok {
		if core := coreType(tp); core != nil {
			return core
		}
	}
	return t.Underlying()
}

// coreType returns the underlying type that all types of a type parameter share, or nil if they
// differ.
func coreType(tp *types.TypeParam) (core types.Type) {
	constraint, ok := tp.Constraint().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	for t := range constraint.EmbeddedTypes() {
		terms := []types.Type{t}
		if u, ok := t.(*types.Union); ok {
			terms = nil
			for term := range u.Terms() {
				terms = append(terms, term.Type())
			}
		}
		for _, t := range terms {
			if core != nil && !types.Identical(core, t.Underlying()) {
				return nil
			}
			core = t.Underlying()
		}
	}
	return core
}

// lookName notes what a name denotes: a function that is called or passed on, or a package-level
// variable.
func (p *pkg) lookName(s *scope, c inspector.Cursor, id *ast.Ident) {
	switch o := p.info.Uses[id].(type) {
	case *types.Func:
		pos := expression(c).Node().Pos()
		if o.Signature().Recv() != nil {
			pos = id.Pos()
		}
		p.lookFunc(s, expression(c), pos, o.Origin())
	case *types.Var:
		if o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
			return
		}
		if p.forbid(s, expression(c).Node().Pos(), o, "uses ") {
			return
		}
		if !p.isWritten(c, o) {
			s.reads = append(s.reads, read{o, id.Pos()})
		}
	}
}

// expression returns the cursor of the expression that an identifier ends: itself, or a selector,
// with its type arguments.
func expression(c inspector.Cursor) inspector.Cursor {
	if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
		c = c.Parent()
	}
	for {
		switch c.ParentEdgeKind() {
		case edge.IndexExpr_X, edge.IndexListExpr_X, edge.ParenExpr_X:
			c = c.Parent()
		default:
			return c
		}
	}
}

// forbid notes that a scope uses what the table or the user forbids, and reports whether that is so.
func (p *pkg) forbid(s *scope, pos token.Pos, o types.Object, does string) bool {
	if trusts(o) {
		return true
	}
	does += shortName(o, p.types)
	if forbids(o) {
		p.add(s, pos, effect{Rule: Forbidden, Does: does, Instead: "-forbid names it", Local: true})
		return true
	}
	why, ok := lookUp(o)
	if ok {
		p.add(s, pos, effect{Rule: why.rule, Does: does, Instead: why.instead, Local: why.local})
	}
	return ok
}

// lookFunc notes that a scope mentions a function. c is the expression that names it, pos where to report it.
func (p *pkg) lookFunc(s *scope, c inspector.Cursor, pos token.Pos, fn *types.Func) {
	if fn.Pkg() == nil || p.isForElsewhere(c) { // error.Error
		return
	}
	switch path := fn.Pkg().Path(); {
	case path == workflowPath || path == activityPath || path == clientPath:
		p.lookWeft(s, pos, fn)
	case path == "math/rand/v2" && strings.HasPrefix(localName(fn), "Rand."):
		p.add(s, pos, readonly("draws a random number"))
	case p.forbid(s, pos, fn, "calls "):
	case !isWeft(path):
		s.calls = append(s.calls, call{fn, pos, c})
	}
}

const onlyLook = "it may only look"

// readonly is the effect of code that waits or issues a command.
func readonly(does string) effect {
	return effect{Rule: Readonly, Does: does, Instead: onlyLook, Acts: true}
}

// lookWeft notes the effects of one of Weft's own functions.
func (p *pkg) lookWeft(s *scope, pos token.Pos, fn *types.Func) {
	does := "calls " + shortName(fn, p.types)
	switch sig := fn.Signature(); {
	case takes(sig, isGoContext) && fn.Pkg().Path() != activityPath:
		p.add(s, pos, effect{Rule: IO, Does: does + ", which talks to the server", Instead: useActivity, Local: true})
	case takes(sig, isContext) && !harmless[localName(fn)]:
		p.add(s, pos, readonly(does))
	}
}

// lookCall notes the effects of a call that do not follow from its function alone.
func (p *pkg) lookCall(s *scope, c inspector.Cursor, n *ast.CallExpr) {
	fn := p.callee(n)
	switch o := p.object(n.Fun).(type) {
	case *types.Builtin:
		p.builtin(s, n, o.Name())
		return
	case *types.TypeName:
		return
	}
	if fn != nil && fn.Pkg() != nil {
		p.lookFormat(s, n, fn)
		p.lookMutation(s, n, fn)
	}
	if isType(p.info.TypeOf(n.Fun), workflowPath, "CancelFunc") {
		p.add(s, n.Pos(), readonly("cancels a Context"))
	}
	if fn == nil || types.IsInterface(receiverType(fn)) {
		for _, arg := range n.Args {
			if t := p.info.TypeOf(arg); t != nil && isContext(t) {
				p.add(s, n.Pos(), readonly("hands its Context to "+types.ExprString(n.Fun)))
			}
		}
	}
}

// receiverType returns the type of a method's receiver, or an invalid type for a function.
func receiverType(fn *types.Func) types.Type {
	if recv := fn.Signature().Recv(); recv != nil {
		return recv.Type()
	}
	return types.Typ[types.Invalid]
}

func (p *pkg) builtin(s *scope, n *ast.CallExpr, name string) {
	switch name {
	case "close":
		p.add(s, n.Pos(), effect{Rule: Channel, Does: "closes a Go channel", Instead: useChannel, Local: true})
	case "print", "println":
		p.add(s, n.Pos(), effect{Rule: IO, Does: "calls " + name, Instead: useLogger, Local: true})
	case "delete", "clear", "copy":
		p.write(s, n.Args[0], true, n)
	}
}

// lookFormat notes that a call prints an address.
func (p *pkg) lookFormat(s *scope, n *ast.CallExpr, fn *types.Func) {
	if fn.Pkg().Path() != "fmt" || !strings.HasSuffix(fn.Name(), "f") {
		return
	}
	for _, arg := range n.Args[:min(2, len(n.Args))] {
		v := p.info.Types[arg].Value
		if v != nil && v.Kind() == constant.String && printsAddress(constant.StringVal(v)) {
			p.add(s, n.Pos(), effect{Rule: Runtime, Does: "prints an address (%p)", Instead: "an address differs each time", Local: true})
			return
		}
	}
}

// printsAddress reports whether a format has the verb %p.
func printsAddress(format string) bool {
	for {
		_, rest, ok := strings.Cut(format, "%")
		if !ok {
			return false
		}
		rest = strings.TrimLeft(rest, "+-# 0123456789.*[]")
		if strings.HasPrefix(rest, "p") {
			return true
		}
		if format = rest; rest != "" {
			format = rest[1:]
		}
	}
}
