// Package switches reports a switch over the type of an event, or over the kind of a message, that
// does not name every one. A default case does not count. So a new type fails the linter at each
// switch that has to handle it.
//
// The proofs are excluded: each handles only the events of its subject.
//
// It is the analyzer of github.com/nishanths/exhaustive, without one kind of report. The analyzer
// also asks for types that only contain attributes, such as history.Event. No attributes have such
// a type.
package switches

import (
	"go/types"
	"strings"

	"github.com/nishanths/exhaustive/passes/exhaustive"
	"golang.org/x/tools/go/analysis"
)

const (
	vocabulary = "github.com/seed-41655fb1/weft/engine/history"
	// enums match the types whose switches are checked.
	enums = `^github\.com/seed-41655fb1/weft/engine(/history)?\.(Type|Attributes|Arrival|News|TaskStep|Initiation|Record|Closing|MessageKind)$`
	// missing is how the analyzer's report of a type switch begins.
	missing = "missing cases in type switch: "
	proofs  = "/proof/"
)

// Analyzer is the linter.
var Analyzer = analyzer()

func analyzer() *analysis.Analyzer {
	for flag, value := range map[string]string{"check": "switch,typeswitch", "typeonly": enums} {
		if err := exhaustive.Analyzer.Flags.Set(flag, value); err != nil {
			panic(err) // the values are constants
		}
	}
	return &analysis.Analyzer{
		Name: "switches", Doc: "check that switches over events and messages name all of them",
		Requires: exhaustive.Analyzer.Requires, Run: run,
	}
}

func run(pass *analysis.Pass) (any, error) {
	if strings.Contains(pass.Pkg.Path(), proofs) {
		return nil, nil
	}
	asked := *pass
	asked.Report = func(d analysis.Diagnostic) {
		if names, ok := strings.CutPrefix(d.Message, missing); ok {
			names = events(pass.Pkg, names)
			if names == "" {
				return
			}
			d.Message = missing + names
		}
		pass.Report(d)
	}
	return exhaustive.Analyzer.Run(&asked)
}

// events returns the types in a list that are the attributes of an event type.
func events(from *types.Package, names string) string {
	var all []string
	for name := range strings.SplitSeq(names, ", ") {
		if declares(from, "Type"+name[strings.LastIndexAny(name, ".*")+1:]) {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}

// declares reports whether engine/history declares a name, if the package imports it or is it.
func declares(from *types.Package, name string) bool {
	for _, p := range append(from.Imports(), from) {
		if p.Path() == vocabulary {
			return p.Scope().Lookup(name) != nil
		}
	}
	return false
}
