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

const forbidden = `package forbidden

import (
	"strings"

	"github.com/seed-41655fb1/weft/workflow"
)

func run(_ workflow.Context, name string) (string, error) { return strings.ToUpper(name), nil }
`

// go vet hands -forbid on. (make lint runs weftvet over Weft's own workflows.)
func TestForbid(t *testing.T) {
	t.Parallel()
	dir := shop.New(t, root)
	if err := os.Mkdir(filepath.Join(dir, "forbidden"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "forbidden", "forbidden.go"), []byte(forbidden+"\n// "+dir+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	found := findings(t, dir, vet("-forbid=strings.ToUpper", "./forbidden")...)
	if len(found) != 1 || !strings.HasPrefix(found[0], "forbidden/forbidden.go") || !strings.HasSuffix(found[0], "workflow code calls strings.ToUpper: -forbid names it [forbidden]") {
		t.Errorf("%q, want strings.ToUpper in one place", found)
	}
}
