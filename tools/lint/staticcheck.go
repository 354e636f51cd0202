package main

import (
	"fmt"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"

	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/analysis/facts/directives"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/analysis/report"
	"honnef.co/go/tools/config"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// checks is the command staticcheck as one analyzer: it runs all its analyzers, and reports what
// staticcheck.conf turns on and no directive ignores.
//
// The command also reports unused code (U1000), for which it joins a package with its tests. go vet
// joins them already.
var checks = func() *analysis.Analyzer {
	requires := []*analysis.Analyzer{config.Analyzer, directives.Analyzer, unused.Analyzer.Analyzer}
	var each []*analysis.Analyzer
	for _, list := range [][]*lint.Analyzer{simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers} {
		for _, a := range list {
			each = append(each, collected(a.Analyzer))
		}
	}
	return &analysis.Analyzer{
		Name: "staticcheck", Doc: "run the checks of staticcheck, with its configuration and directives",
		Requires: append(requires, each...),
		Run: func(pass *analysis.Pass) (any, error) {
			var found []finding
			for _, a := range each {
				for _, d := range pass.ResultOf[a].([]analysis.Diagnostic) {
					found = append(found, finding{a.Name, d})
				}
			}
			reportAll(pass, append(found, unusedCode(pass)...))
			return nil, nil
		},
	}
}()

// finding is what a check has found.
type finding struct {
	check string
	analysis.Diagnostic
}

// collected returns an analyzer that returns what a given one reports.
func collected(a *analysis.Analyzer) *analysis.Analyzer {
	c := *a
	c.ResultType = reflect.TypeFor[[]analysis.Diagnostic]()
	c.Run = func(pass *analysis.Pass) (any, error) {
		var found []analysis.Diagnostic
		asked := *pass
		asked.Report = func(d analysis.Diagnostic) { found = append(found, d) }
		_, err := a.Run(&asked)
		return found, err
	}
	return &c
}

func unusedCode(pass *analysis.Pass) (found []finding) {
	for _, o := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
		found = append(found, finding{unused.Analyzer.Analyzer.Name, analysis.Diagnostic{
			Pos: pos(pass, o.Position), Message: fmt.Sprintf("%s %s is unused", o.Kind, o.Name),
		}})
	}
	return found
}

// pos returns where a position is.
func pos(pass *analysis.Pass, at token.Position) token.Pos {
	for _, f := range pass.Files {
		if file := pass.Fset.File(f.FileStart); file.Name() == at.Filename {
			return file.Pos(at.Offset)
		}
	}
	return token.NoPos
}

// reportAll reports what is turned on and not ignored, and directives that are of no use.
func reportAll(pass *analysis.Pass, found []finding) {
	on := config.For(pass).Checks
	ignores := directivesOf(pass)
	for _, f := range found {
		if enabled(on, f.check) && !ignored(ignores, f.check, report.DisplayPosition(pass.Fset, f.Pos)) {
			f.Message += " (" + f.check + ")"
			pass.Report(f.Diagnostic)
		}
	}
	for _, i := range ignores {
		if i.useless(on) {
			pass.Reportf(i.pos, "this linter directive didn't match anything; should it be removed? (staticcheck)")
		}
	}
}

// ignore is a directive: //lint:ignore checks reason, or //lint:file-ignore checks reason.
type ignore struct {
	pos    token.Pos
	checks []string
	file   string
	line   int // 0: the whole file
	used   bool
}

// directivesOf returns the directives of a package. It reports those without a reason.
func directivesOf(pass *analysis.Pass) (all []*ignore) {
	for _, d := range pass.ResultOf[directives.Analyzer].([]lint.Directive) {
		if d.Command != "ignore" && d.Command != "file-ignore" {
			continue
		}
		if len(d.Arguments) < 2 {
			pass.Reportf(d.Directive.Pos(), "malformed linter directive; missing the required reason field? (staticcheck)")
			continue
		}
		at := report.DisplayPosition(pass.Fset, d.Node.Pos())
		i := &ignore{pos: d.Directive.Pos(), checks: strings.Split(d.Arguments[0], ","), file: at.Filename}
		if d.Command == "ignore" {
			i.line = at.Line
		}
		all = append(all, i)
	}
	return all
}

// ignored reports whether a directive covers a finding, and records in it that it does.
func ignored(all []*ignore, check string, at token.Position) (is bool) {
	for _, i := range all {
		if i.file != at.Filename || i.line != 0 && i.line != at.Line {
			continue
		}
		for _, c := range i.checks {
			if ok, _ := filepath.Match(strings.ToLower(c), strings.ToLower(check)); ok {
				is, i.used = true, true
			}
		}
	}
	return is
}

// useless reports whether a directive for a line, with checks that are on, covered no finding.
// Unused code can be used under other build tags, so a directive for it is never useless.
func (i *ignore) useless(on []string) bool {
	if i.used || i.line == 0 {
		return false
	}
	for _, c := range i.checks {
		if strings.EqualFold(c, unused.Analyzer.Analyzer.Name) {
			return false
		}
		if enabled(on, c) {
			return true
		}
	}
	return false
}

// enabled reports whether a list of staticcheck.conf turns a check on. The last entry that matches
// decides.
func enabled(list []string, check string) (on bool) {
	for _, entry := range list {
		pattern, off := strings.CutPrefix(entry, "-")
		if matches(pattern, check) {
			on = !off
		}
	}
	return on
}

// matches reports whether a pattern covers a check: all, a check, a prefix with digits (SA4*), or a
// category (S*, which does not cover SA4000).
func matches(pattern, check string) bool {
	const digits = "0123456789"
	pattern, check = strings.ToLower(pattern), strings.ToLower(check)
	prefix, glob := strings.CutSuffix(pattern, "*")
	switch {
	case pattern == "all" || pattern == "*":
		return true
	case !glob:
		return pattern == check
	case strings.ContainsAny(prefix, digits):
		return strings.HasPrefix(check, prefix)
	}
	return strings.TrimRight(check, digits) == prefix
}
