// Lint is all of Weft's linters in one program for go vet, so that a package is parsed and
// type-checked once:
//
//	go build -C tools/lint -o bin/lint . && go vet -vettool=bin/lint ./...
//
// It runs the analyzers of go vet, of staticcheck (with staticcheck.conf and //lint:ignore), of
// cmd/weftvet and of package switches. go vet caches what it finds.
package main

import (
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
		config, onlyFacts := prepare(os.Args[last])
		if os.Args[last] = config; onlyFacts {
			for i, a := range analyzers {
				analyzers[i] = facts(a)
			}
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

// facts returns the analyzer for a package of which go vet needs only facts. It runs the analyzers
// that produce facts for the given one, and nothing else.
func facts(a *analysis.Analyzer) *analysis.Analyzer {
	if len(a.FactTypes) > 0 {
		return a
	}
	only := *a
	only.Requires, only.ResultType = producers(a.Requires, map[*analysis.Analyzer]bool{}), nil
	only.Run = func(*analysis.Pass) (any, error) { return nil, nil }
	return &only
}

// producers returns the analyzers, of the given ones and of those that they require, that produce
// facts. It marks what it has seen.
func producers(analyzers []*analysis.Analyzer, seen map[*analysis.Analyzer]bool) (found []*analysis.Analyzer) {
	for _, a := range analyzers {
		if seen[a] {
			continue
		}
		seen[a] = true
		if len(a.FactTypes) > 0 {
			found = append(found, a)
		}
		found = append(found, producers(a.Requires, seen)...)
	}
	return found
}
