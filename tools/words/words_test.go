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
}

// Each rule finds the file that breaks it, and no other rule does; one hit more than is allowed fails, and is printed with
// what to write instead.
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
		if err := judge(all, nil, &out); err == nil || !strings.Contains(out.String(), r.instead) || !strings.Contains(out.String(), b.path+":") {
			t.Errorf("%s: a new hit: %v\n%s", r.word, err, &out)
		}
		if err := judge(all, map[string]int{r.word: 1}, &out); err != nil {
			t.Errorf("%s: a hit that is allowed: %v", r.word, err)
		}
	}
}

// What is well said has no hits, and neither has what may say anything.
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

// notyet.txt only names rules; its numbers are lowered and never raised.
func TestRatchet(t *testing.T) {
	const text = "# left\n3 wave\n2 mend\n1 spill\n"
	allowed, err := parseAllowed(text)
	if err != nil || allowed["wave"] != 3 || allowed["mend"] != 2 || len(allowed) != 3 {
		t.Errorf("it allows %v, %v", allowed, err)
	}
	all := hits{{word: "wave"}, {word: "mend"}, {word: "mend"}, {word: "mend"}, {word: "pump"}}
	if got, want := lowered(text, all), "# left\n1 wave\n2 mend\n"; got != want {
		t.Errorf("lowered it is\n%s\nwant\n%s", got, want)
	}
	for _, wrong := range []string{"3 no such word\n", "0 wave\n"} {
		if _, err := parseAllowed(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// Hits are found in lines that a diff adds, and in no others.
func TestSince(t *testing.T) {
	const diff = "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -3,0 +4,2 @@ func f()\n+a\n+b\n@@ -9 +10 @@\n-c\n+d\n@@ -20,2 +19,0 @@\n-e\n-f\n"
	var all hits
	for line := range 30 {
		all = append(all, hit{path: "a.go", line: line}, hit{path: "b.go", line: line})
	}
	got := all.in(added(diff))
	if len(got) != 3 || got[0].line != 4 || got[1].line != 5 || got[2].line != 10 {
		t.Errorf("the hits are %v", got)
	}
}
