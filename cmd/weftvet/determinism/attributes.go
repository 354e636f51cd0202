package determinism

import (
	"go/ast"
	"go/constant"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// everyRunHas has the names that filters have for what every run has, and that search attributes
// may still have in workflow code: the engine refuses those that are older.
var everyRunHas = []string{"Stuck", "StuckSince", "FailureType", "Paused", "PausedSince", "Retrying", "FailingActivity", "CloseReason", "ParentWorkflowId"}

// attributes reports search attributes that no filter finds. They are declared outside of workflow
// code, and it is their name that is wrong, wherever it is used.
func (r *reporter) attributes(pass *analysis.Pass) {
	for c := range r.root.Preorder((*ast.CallExpr)(nil)) {
		n := c.Node().(*ast.CallExpr)
		fn := r.callee(n)
		if fn == nil || fullName(fn) != workflowPath+".NewAttribute" || len(n.Args) != 1 {
			continue
		}
		v := r.info.Types[n.Args[0]].Value
		if v == nil || v.Kind() != constant.String {
			continue
		}
		name := constant.StringVal(v)
		i := slices.IndexFunc(everyRunHas, func(has string) bool { return strings.EqualFold(has, name) })
		if i < 0 || r.silenced(Attribute, n.Args[0].Pos()) {
			continue
		}
		pass.Report(analysis.Diagnostic{
			Pos: n.Args[0].Pos(), Category: Attribute,
			Message: "the search attribute " + name + " is never found: filters have " + everyRunHas[i] + " for what every run has: give it another name [" + Attribute + "]",
		})
	}
}
