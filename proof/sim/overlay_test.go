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
	// hint is a seed that finds it, at most within. `make test` tries it first, and then the seeds
	// from the first one. 0 means no hint: one of the first seeds finds it.
	hint int
}

// staleQuery is found with servers as well: see TestLinearizableOnDynamoDBFinds.
var staleQuery = mutant{
	name: "a query is answered from what the cache knows", file: "internal/executor/requests/read.go", test: "TestLinearizable",
	old: "	if err := t.View.EnsureFresh(ctx); err != nil {\n", new: "	if err := t.View.EnsureLoaded(ctx); err != nil {\n",
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

// sources returns the mutant's file as it is, and with the break in it.
func (m mutant) sources(t *testing.T, root string) (whole, broken string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		t.Fatal(err)
	}
	broken, err = m.broken(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), broken
}

// overlay writes an overlay file for the go command that replaces files of the module, by their
// paths from its root, and returns the path of the overlay file. The tree stays as it is.
func overlay(t *testing.T, root string, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	replaced := map[string]string{}
	for path, text := range texts {
		file := filepath.Join(dir, fmt.Sprintf("%d.go", len(replaced)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(root, filepath.FromSlash(path))] = file
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
