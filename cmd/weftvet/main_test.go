package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/cmd/weftvet/internal/shop"
)

// root is where Weft's own module is.
var root = filepath.Join("..", "..")

// program is the command, built once.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "weftvet")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "weftvet")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// findings runs a command in a folder, and returns what it reports, as file:line:column: message,
// sorted. A command that finds something must say so in its exit status, and one that does not must
// succeed.
func findings(t *testing.T, dir string, args ...string) (found []string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), dir+string(filepath.Separator))
		if line != "" && !strings.HasPrefix(line, "#") { // the names of packages
			found = append(found, strings.TrimPrefix(line, "./"))
		}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || (err != nil) != (found != nil) {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func vet(args ...string) []string {
	return append([]string{"go", "vet", "-vettool=" + program}, args...)
}

// go vet, which knows of other packages only the facts that were written to files, finds what the
// command finds by itself.
func TestVettool(t *testing.T) {
	t.Parallel()
	dir := shop.New(t, root)
	alone, vetted := findings(t, dir, program, "./..."), findings(t, dir, vet("./...")...)
	if !slices.Equal(alone, vetted) {
		t.Errorf("weftvet finds\n%s\ngo vet -vettool finds\n%s", strings.Join(alone, "\n"), strings.Join(vetted, "\n"))
	}
	const want = "across/across.go:11:6: workflow code calls clock.Stamp, which calls clock.now, which calls time.Now (clock.go:13): " +
		"use workflow.Now, which is the same on replay [time]"
	if !slices.Contains(vetted, want) {
		t.Errorf("not found:\n%s\nbut\n%s", want, strings.Join(vetted, "\n"))
	}
}

// A package that go vet has looked at because another one imports it is not taken for clean when it
// is named.
func TestVettoolAfterImport(t *testing.T) {
	t.Parallel()
	dir := shop.New(t, root)
	findings(t, dir, vet("./across")...)
	found := findings(t, dir, vet("./across/clock")...)
	if len(found) != 1 || !strings.Contains(found[0], "clock.go") {
		t.Errorf("%q, want one finding in clock.go", found)
	}
}

// Weft's examples, and what its tests run, keep to the rules.
func TestOwnWorkflows(t *testing.T) {
	t.Parallel()
	for dir, packages := range map[string][]string{
		root:                                     {"./examples/...", "./proof/testbed", "./proof/sim", "./localstack/faults"},
		filepath.Join(root, "examples", "hello"): {"./..."},
		filepath.Join(root, "examples", "deploy"): {"./..."},
	} {
		for _, found := range findings(t, dir, vet(packages...)...) {
			t.Error(found)
		}
	}
}

// They are looked at: what is forbidden is found in them.
func TestForbid(t *testing.T) {
	t.Parallel()
	found := findings(t, root, vet("-forbid=errors.Join", "./examples/cancellation")...)
	if len(found) != 2 || !strings.Contains(found[0], "cancellation.go") || !strings.HasSuffix(found[0], "workflow code calls errors.Join: -forbid names it [forbidden]") {
		t.Errorf("%q, want errors.Join in two places", found)
	}
}
