package determinism

import (
	"go/types"
	"strings"
)

// fullName returns the name of a function, a method or a package-level variable in the tables and
// the flags: path.Func, path.Type.Method or path.Var.
func fullName(o types.Object) string {
	if o.Pkg() == nil {
		return o.Name()
	}
	return o.Pkg().Path() + "." + localName(o)
}

// shortName returns the name in messages: with the name of its package, unless that is the analyzed
// one.
func shortName(o types.Object, here *types.Package) string {
	if o.Pkg() == nil || o.Pkg() == here {
		return localName(o)
	}
	return o.Pkg().Name() + "." + localName(o)
}

// localName returns the name within the package. That of a method begins with its type.
func localName(o types.Object) string {
	if f, ok := o.(*types.Func); ok {
		if recv := f.Signature().Recv(); recv != nil {
			if t := named(recv.Type()); t != nil {
				return t.Obj().Name() + "." + o.Name()
			}
		}
	}
	return o.Name()
}

// named returns the named type of t or of what it points to, or nil for another type.
func named(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, _ := types.Unalias(t).(*types.Named)
	return n
}

// isType reports whether t is the named type path.name, or a pointer to it.
func isType(t types.Type, path, name string) bool {
	n := named(t)
	return n != nil && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path && n.Obj().Name() == name
}

// The packages of Weft that authors see.
const (
	weftPath     = "github.com/seed-41655fb1/weft"
	workflowPath = weftPath + "/workflow"
	activityPath = weftPath + "/activity"
	clientPath   = weftPath + "/client"
)

// isWeft reports whether a package is one of Weft's own, which are not checked.
func isWeft(path string) bool {
	rest, ok := strings.CutPrefix(path, weftPath)
	if !ok || rest == "" {
		return ok
	}
	for _, p := range []string{"/workflow", "/activity", "/client", "/engine", "/internal/bridge", "/internal/header", "/internal/options", "/internal/payload", "/internal/where", "/internal/attempt"} {
		if rest == p || strings.HasPrefix(rest, p+"/") {
			return true
		}
	}
	return false
}

// isContext reports whether t is workflow.Context.
func isContext(t types.Type) bool {
	n, _ := types.Unalias(t).(*types.Named)
	return n != nil && isType(n, workflowPath, "Context")
}

// takes reports whether a function has a parameter, or a receiver, of a type.
func takes(sig *types.Signature, is func(types.Type) bool) bool {
	for v := range sig.Params().Variables() {
		if is(v.Type()) {
			return true
		}
	}
	return sig.Recv() != nil && is(sig.Recv().Type())
}

func isGoContext(t types.Type) bool {
	n, _ := types.Unalias(t).(*types.Named)
	return n != nil && isType(n, "context", "Context")
}

// callback is a function that is passed to Weft, and that takes no Context.
type callback struct {
	arg int
	who string // what it is called
	// free means that it may differ each time.
	free bool
}

// callbacks has the functions of package workflow that take a function which may only look.
var callbacks = map[string]callback{
	"Validate":     {0, "a validator", false},
	"Query.Handle": {1, "a query handler", false},
	"Await":        {1, "a condition", false},
	"AwaitFor":     {2, "a condition", false},
	"OnCondition":  {0, "a condition", false},
	"SideEffect":   {1, "a side effect", true},
}

// options has the fields of options of package workflow with a function which may only look, by
// type and name.
var options = map[string]callback{"HandlerOptions.Validate": {who: "a validator"}}

// harmless has the functions of package workflow that take a Context and only look.
var harmless = map[string]bool{"Context.Err": true, "InfoOf": true, "Header": true, "LastResult": true, "LastFailure": true, "DetailsOf": true, "Logger": true, "AllHandlersFinished": true, "Attribute.Get": true, "Memo.Get": true}

// elsewhere has the functions that take a function which is not workflow code.
var elsewhere = map[string]bool{activityPath + ".New": true, activityPath + ".NewLocal": true, workflowPath + ".SideEffect": true}
