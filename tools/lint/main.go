// Lint is all of Weft's linters in one program for go vet, so that a package is parsed and
// type-checked once:
//
//	go build -C tools/lint -o ../../bin/lint . && go vet -vettool=bin/lint ./...
//
// It runs the analyzers of go vet, of staticcheck (with staticcheck.conf and //lint:ignore), of
// cmd/weftvet and of package switches. go vet caches what it finds.
package main

import (
	"encoding/gob"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/scannererr"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/seed-41655fb1/weft/cmd/weftvet/determinism"
	"github.com/seed-41655fb1/weft/tools/lint/switches"
)

func main() {
	analyzers := all()
	if last := len(os.Args) - 1; strings.HasSuffix(os.Args[last], ".cfg") { // called by go vet
		config, w := prepare(os.Args[last])
		os.Args[last] = config
		for i, a := range analyzers {
			analyzers[i] = reduced(a, w)
		}
	}
	unitchecker.Main(analyzers...)
}

// all returns the analyzers. The suite of go vet in golang.org/x/tools is ahead of that of Go 1.26.
// Its scannererr stays out, because the output of a process that is killed may end in any way.
func all() []*analysis.Analyzer {
	suite := slices.DeleteFunc(slices.Clone(vet.Suite), func(a *analysis.Analyzer) bool { return a == scannererr.Analyzer })
	return append(suite, checks, determinism.Analyzer, switches.Analyzer)
}

// wanted is what go vet wants to know of a package.
type wanted int

const (
	everything wanted = iota
	// facts are what the analyzers of other packages need.
	facts
	// factsOfSyntax are the facts that need no SSA form, whose construction takes far longer than
	// all the rest. They are enough of a package that is not Weft's: whether its functions are
	// deprecated, format like Printf, or do not return. staticcheck then does not know which of
	// its functions are pure or never return nil.
	factsOfSyntax
)

// reduced returns the analyzer for what is wanted of a package. If that is only facts, it runs the
// analyzers that produce facts for the given one, and nothing else.
func reduced(a *analysis.Analyzer, w wanted) *analysis.Analyzer {
	if w == everything || len(a.FactTypes) > 0 {
		return a
	}
	only := *a
	only.Requires, only.ResultType = producers(a.Requires, w, map[*analysis.Analyzer]bool{}), nil
	only.Run = func(*analysis.Pass) (any, error) { return nil, nil }
	return &only
}

// producers returns the analyzers, of the given ones and of those that they require, that produce
// the facts that are wanted. It marks what it has seen.
func producers(analyzers []*analysis.Analyzer, w wanted, seen map[*analysis.Analyzer]bool) (found []*analysis.Analyzer) {
	for _, a := range analyzers {
		if seen[a] {
			continue
		}
		seen[a] = true
		if w == factsOfSyntax && needsSSA(a) {
			for _, f := range a.FactTypes {
				gob.Register(f) // the facts of a package that is imported may have it
			}
		} else if len(a.FactTypes) > 0 {
			found = append(found, a)
		}
		found = append(found, producers(a.Requires, w, seen)...)
	}
	return found
}

// needsSSA reports whether an analyzer requires one that builds the SSA form, of staticcheck or of
// golang.org/x/tools.
func needsSSA(a *analysis.Analyzer) bool {
	return a.Name == "buildir" || a.Name == "buildssa" || slices.ContainsFunc(a.Requires, needsSSA)
}
