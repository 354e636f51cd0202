package determinism

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the rules in docs/weftvet.md")

// The rules in the documents are those in the code.
func TestDocument(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root, "docs", "weftvet.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begun := strings.Cut(string(text), "-rewrite, in cmd/weftvet -->\n")
	got, tail, ended := strings.Cut(rest, "<!-- end -->")
	if !begun || !ended {
		t.Fatalf("%s has no place for the rules", path)
	}
	var want strings.Builder
	want.WriteString("| rule | finds | write instead | misses |\n|---|---|---|---|\n")
	for _, r := range Rules {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", r.ID, r.Finds, r.Instead, r.Misses)
	}
	if *rewrite {
		whole := head + "-rewrite, in cmd/weftvet -->\n" + want.String() + "<!-- end -->" + tail
		if err := os.WriteFile(path, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want.String() {
		t.Errorf("the rules in %s are not those in rules.go: go test ./determinism -run TestDocument -rewrite", path)
	}
}

// Every rule says what it misses, in all its parts, and is found somewhere.
func TestRulesAreWhole(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, r := range Rules {
		if ids[r.ID] || r.ID == "" || r.Finds == "" || r.Instead == "" || r.Misses == "" {
			t.Errorf("rule %+v lacks something, or is there twice", r)
		}
		ids[r.ID] = true
		if strings.ContainsAny(r.Finds+r.Instead+r.Misses, "|\n") {
			t.Errorf("rule %s does not fit into a table", r.ID)
		}
	}
	for name, why := range table {
		if !ids[why.rule] {
			t.Errorf("%s is forbidden by the rule %q, which there is not", name, why.rule)
		}
	}
}
