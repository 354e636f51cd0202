// Switches is a linter for go vet: a switch over the type of an event, or the kind of a message,
// names every one. A default case does not stand for those that it leaves out, so that a new type
// fails the linter at each place that has to know it.
//
// It is the analyzer of github.com/nishanths/exhaustive. That one also asks for the types that only
// contain attributes, as history.Event does: no attributes have such a type, so what it says of
// them is left out.
package main

import (
	"go/types"
	"strings"

	"github.com/nishanths/exhaustive/passes/exhaustive"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

const (
	vocabulary = "github.com/seed-41655fb1/weft/engine/history"
	// enums match the types whose switches are checked.
	enums = `^github\.com/seed-41655fb1/weft/engine(/history)?\.(Type|Attributes|Arrival|News|TaskStep|Initiation|Record|Closing|MessageKind)$`
	// missing begins what is said of a type switch.
	missing = "missing cases in type switch: "
)

func main() { unitchecker.Main(analyzer()) }

// analyzer returns the linter.
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

// events returns those of a list of types that are the attributes of a type of event.
func events(from *types.Package, names string) string {
	var all []string
	for name := range strings.SplitSeq(names, ", ") {
		if declares(from, "Type"+name[strings.LastIndexAny(name, ".*")+1:]) {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}

// declares reports whether the vocabulary of events, as a package sees it, has a constant.
func declares(from *types.Package, name string) bool {
	for _, p := range append(from.Imports(), from) {
		if p.Path() == vocabulary {
			return p.Scope().Lookup(name) != nil
		}
	}
	return false
}
