package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a deliberate break of the protocol: one piece of source is replaced.
type mutant struct {
	name     string
	file     string // the path from the root of the module
	old, new string
	guard    string // a piece of the same file that guards against the same break; it is removed, too
	more     bool   // only with -all-mutants
	test     string // the test that must find it; empty means TestSeeds
	within   int    // it must be found within this many seeds, from the first one; 0 means enoughSeeds
}

// broken returns the source of the mutant's file with the break. It returns an error if the file
// does not have the piece exactly once.
func (m mutant) broken(source string) (string, error) {
	if n := strings.Count(source, m.old); n != 1 {
		return "", fmt.Errorf("%s has the piece to break %d times, want once: was it changed?\n%s", m.file, n, m.old)
	}
	text := strings.Replace(source, m.old, m.new, 1)
	if m.guard == "" {
		return text, nil
	}
	if n := strings.Count(text, m.guard); n != 1 {
		return "", fmt.Errorf("%s has the guard %d times, want once: was it changed?\n%s", m.file, n, m.guard)
	}
	return strings.Replace(text, m.guard, "false", 1), nil
}

// overlay writes the broken source outside the tree, and returns the overlay file for the go
// command.
func (m mutant) overlay(t *testing.T, root string) string {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.broken(string(source))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.go")
	if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: broken}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
