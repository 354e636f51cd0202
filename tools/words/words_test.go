package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

// broken has for each rule a file that breaks it once.
var broken = map[string]struct{ path, text string }{
	"mend":          {"docs/a.md", "Mended code goes on."},
	"comes again":   {"a.go", "package a\n\n// f handles a message that came again.\nfunc f() {}\n"},
	"apart":         {"a.go", "package a\n\nvar keptApart int\n"},
	"none of the":   {"a.go", "package a\n\nconst m = \"it is none of the run's\"\n"},
	"brought about": {"run", "# What the message brings about.\n"},
	"where for if":  {"a.go", "package a\n\n// f returns the message; nil where it is not this run's.\nfunc f() {}\n"},

	"turn":        {"a.go", "package a\n\nvar x = turn.Options{}\n"},
	"wave":        {"a.go", "package a\n\nfunc indexWaves() {}\n"},
	"errand":      {"a.go", "package a\n\ntype errand struct{}\n"},
	"rivals":      {"a.go", "package a\n\n// Rivals wait.\nfunc f() {}\n"},
	"pump":        {"a.go", "package a\n\nvar pump int\n"},
	"seal":        {"a.go", "package a\n\nvar unsealed int\n"},
	"spill":       {"a.go", "package a\n\nfunc spillAll() {}\n"},
	"police":      {"a.go", "package a\n\nfunc TestPoliceBodies() {}\n"},
	"upkeep":      {"proof/a.go", "package a\n\n/*\nThe upkeep.\n*/\n"},
	"ReachOut":    {"a.go", "package a\n\nvar x = engine.ReachOut\n"},
	"SettleChild": {"docs/a.md", "The message `SettleChild` starts a child."},
	"ReportChild": {"a.go", "package a\n\nvar x = onReportChild\n"},
	"Declare":     {"docs/a.md", "`workflow.Declare` names a type."},
	"Opening":     {"a.go", "package a\n\nvar x = cart.Workflow.Opening()\n"},
	"Beat":        {"a.go", "package a\n\nvar x = activity.Beat\n"},

	"scene":                {"a.go", "package a\n\nfunc newScene() {}\n"},
	"stage of tests":       {"a.go", "package a\n\nvar x = stage.New()\n"},
	"family":               {"a.go", "package a\n\ntype family struct{}\n"},
	"gate":                 {"internal/turn/a.go", "package a\n\ntype gate struct{}\n"},
	"heart":                {"a.go", "package a\n\nvar heartOf int\n"},
	"shown":                {"engine/a.go", "package a\n\ntype Shown struct{}\n"},
	"brought":              {"engine/a.go", "package a\n\nvar firstBroughtID int\n"},
	"ticket of an attempt": {"internal/turn/a.go", "package a\n\ntype ticket struct{}\n"},
	"mine, told":           {"a.go", "package a\n\nfunc (t *session) mine() {}\n"},
	"known, current":       {"internal/executor/b/a.go", "package a\n\nfunc (t *session) has() bool { return false }\n"},

	wideMarkdown: {"docs/a.md", "An update is " + strings.Repeat("a call ", 16)},
	wideComment:  {"a.go", "package a\n\n\t// f " + strings.Repeat("returns ", 12) + "x.\n"},

	widePreformatted: {"a.go", "// Package a is\n//\n//\t" + strings.Repeat("a ─▶ ", 24) + "a\npackage a\n"},
}

// Each rule finds the file that breaks it, and no other rule finds it. judge fails on the hit, and
// prints it with what to write instead.
func TestRules(t *testing.T) {
	for _, r := range rules {
		b, found := broken[r.word]
		if !found {
			t.Errorf("no file breaks the rule %q", r.word)
			continue
		}
		all, err := search(fstest.MapFS{b.path: {Data: []byte(b.text)}}, []string{b.path, "deleted.go"})
		if err != nil || len(all) != 1 || all[0].word != r.word {
			t.Errorf("%s: %q has the hits %v, %v", r.word, b.text, all, err)
			continue
		}
		var out strings.Builder
		if err := judge(all, &out); err == nil || !strings.Contains(out.String(), r.instead) || !strings.Contains(out.String(), b.path+":") {
			t.Errorf("%s: a hit: %v\n%s", r.word, err, &out)
		}
	}
}

// Good prose has no hits. Neither have files that the linter skips.
func TestNoHits(t *testing.T) {
	for path, text := range map[string]string{
		"docs/a.md": "Where [internal/seal](../internal/seal/doc.go) is. The types tell them apart; clocks are 10 s apart.\n\n| " + strings.Repeat("a table ", 20) + "|\n\n```\n" +
			strings.Repeat("code ", 30) + "\n```\n- [a](https://example.com/" + strings.Repeat("a", 120) + ")\n",
		"a.go": "package a\n\n//go:generate " + strings.Repeat("x ", 60) + "\nvar gateway, wavelength, named, declared, heartbeat, turn, isMine int\n\n" +
			"func f(told func()) { told(); x.mine() } // the caller's turn\n",
		"engine/testdata/a.md":              "A wave comes again.",
		"docs/decisions/0022-a-wave.md":     "A wave comes again.",
		"tools/words/rules.go":              "package main // a wave",
		"engine/history/wire_gen.go":        "package history // a wave",
		"clients/typescript/package.json":   `{"a": "wave"}`,
		"internal/httpapi/testdata/b/c.txt": "A wave.",
	} {
		all, err := search(fstest.MapFS{path: {Data: []byte(text)}}, []string{path})
		if err != nil || len(all) > 0 {
			t.Errorf("%s has the hits %v, %v", path, all, err)
		}
	}
}

// A drawing, a table or an example in a Go comment may have 120 columns. Prose and comments of
// scripts may have 100.
func TestPreformatted(t *testing.T) {
	for _, c := range []struct {
		path, begin string
		most        int
		word        string
	}{
		{"a.go", "//\t", 120, widePreformatted},
		{"a.go", "\t//\t", 120, widePreformatted},
		{"a.go", "// ", 100, wideComment},
		{"a.go", "//   - ", 100, wideComment},
		{"a.sh", "#\t", 100, wideComment},
	} {
		line := c.begin + "a ─▶ "
		line += strings.Repeat("b", c.most-columns(line))
		if all := hitsIn(c.path, line); len(all) > 0 {
			t.Errorf("%q in %s has the hits %v", line, c.path, all)
		}
		if all := hitsIn(c.path, line+"b"); len(all) != 1 || all[0].word != c.word {
			t.Errorf("%q in %s has the hits %v, want one of %q", line+"b", c.path, all, c.word)
		}
	}
}

// An exemption covers its text in its files. It does not cover its text in other files, or the word
// elsewhere in the line.
func TestExemptions(t *testing.T) {
	for _, e := range exemptions {
		for _, file := range e.files {
			for _, c := range []struct {
				path, text string
				hits       int
			}{
				{file, e.text, 0},
				{file, e.text + " // seals", 1},
				{file, "Seal " + e.text, 1},
				{file, strings.ToUpper(e.text), 1},
				{"other/" + file, e.text, 1},
			} {
				if all := hitsIn(c.path, "x = "+c.text+"\n"); len(all) != c.hits || len(all.of(e.word)) != c.hits {
					t.Errorf("%q in %s has the hits %v, want %d of %q", c.text, c.path, all, c.hits, e.word)
				}
			}
		}
	}
}

// stale fails on an exemption whose text is no longer in its file.
func TestStale(t *testing.T) {
	all := []exemption{{word: "seal", text: "Sid: Seal", files: []string{"a.yaml"}}}
	for text, want := range map[string]bool{"Sid: Seal": false, "Sid: Encrypt": true} {
		if err := stale(fstest.MapFS{"a.yaml": {Data: []byte(text)}}, all); (err != nil) != want {
			t.Errorf("with the text %q: %v", text, err)
		}
	}
	if stale(fstest.MapFS{}, all) == nil {
		t.Error("an exemption for a missing file is accepted")
	}
}
