package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
)

// program is the linter, built once.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "lint")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "lint")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// seeded returns a new copy of a module with violations, of which go vet has cached nothing: each
// file ends with a comment that no other copy has. With -trimpath, go vet would otherwise print
// what it has found in another copy.
func seeded(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "weft"))); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, append(text, "\n// "+dir+"\n"...), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	conf, err := os.ReadFile(filepath.Join("..", "..", "staticcheck.conf"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "staticcheck.conf"), conf, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// findings returns what the linter finds, sorted, as file:line: message. It must fail if that is
// anything.
func findings(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + program}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var found []string
	column := regexp.MustCompile(`(:\d+):\d+:`)
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			found = append(found, column.ReplaceAllString(strings.TrimPrefix(line, "./"), "$1:"))
		}
	}
	if (err != nil) != (found != nil) {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	slices.Sort(found)
	return strings.Join(found, "\n") + "\n"
}

const wantLib = "lib/lib.go:17: func unused is unused (U1000)\n"

const want = wantLib + `seeds/seeds.go:14: comment on exported function Vet should be of the form "Vet ..." (ST1020)
seeds/seeds.go:16: Printf format %d has arg #1 of wrong type string (SA5009)
seeds/seeds.go:16: fmt.Printf format %d has arg "one" of wrong type string
seeds/seeds.go:17: github.com/seed-41655fb1/weft/lib.Logf format %d has arg "two" of wrong type string
seeds/seeds.go:22: should omit comparison to bool constant, can be simplified to on (S1002)
seeds/seeds.go:23: Twice doesn't have side effects and its return value is ignored (SA4017)
seeds/seeds.go:23: github.com/seed-41655fb1/weft/lib.Old is deprecated: use Twice.  (SA1019)
seeds/seeds.go:25: error strings should not end with punctuation or newlines (ST1005)
seeds/seeds.go:34: this linter directive didn't match anything; should it be removed? (staticcheck)
seeds/seeds.go:36: malformed linter directive; missing the required reason field? (staticcheck)
seeds/seeds.go:37: should omit comparison to bool constant, can be simplified to !on (S1002)
seeds/seeds.go:41: workflow code calls time.Now: use workflow.Now, which is the same on replay [time]
seeds/seeds.go:45: missing cases in expression switch: engine.FireTimer
seeds/tagged.go:10: ToUpper doesn't have side effects and its return value is ignored (SA4017)
seeds/tagged.go:7: func tagged is unused (U1000)
`

// Each linter reports what breaks its rules, also by what it knows of an imported package. A
// function that only a test uses is used.
func TestLint(t *testing.T) {
	t.Parallel()
	if found := findings(t, seeded(t), "-tags", "aws", "./..."); found != want {
		t.Errorf("found\n%s\nwant\n%s", found, want)
	}
}

// A package that was looked at because another one imports it is not taken for clean, and not
// without its tests.
func TestImportedFirst(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	if found := findings(t, dir, "./seeds"); strings.Contains(found, "lib/lib.go") {
		t.Errorf("a package without its tests: %s", found)
	}
	if found := findings(t, dir, "./lib"); found != wantLib {
		t.Errorf("found\n%s\nwant\n%s", found, wantLib)
	}
}

// One linter can run alone.
func TestOneLinter(t *testing.T) {
	t.Parallel()
	found := findings(t, seeded(t), "-switches", "./...")
	if !strings.HasPrefix(found, "seeds/seeds.go:45: missing cases") || strings.Count(found, "\n") != 1 {
		t.Errorf("found %q", found)
	}
}

// The linter runs what the go vet of this Go runs.
func TestVetSuite(t *testing.T) {
	t.Parallel()
	help, err := exec.Command("go", "tool", "vet", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^    ([a-z]+) `).FindAllStringSubmatch(string(help), -1)
	if len(names) < 20 {
		t.Fatalf("go vet has only %d analyzers:\n%s", len(names), help)
	}
	for _, name := range names {
		if !slices.ContainsFunc(all(), func(a *analysis.Analyzer) bool { return a.Name == name[1] }) {
			t.Errorf("%s is missing", name[1])
		}
	}
}

// The command staticcheck, which tools/go.mod pins for use by hand, is of the same version.
func TestVersions(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`honnef\.co/go/tools v\S+`)
	var versions []string
	for _, name := range []string{"go.mod", filepath.Join("..", "go.mod")} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, pinned.FindString(string(text)))
	}
	if versions[0] == "" || versions[0] != versions[1] {
		t.Errorf("%q", versions)
	}
}

func TestEnabled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list, check string
		on          bool
	}{
		{"all", "SA4000", true},
		{"all -ST1003", "ST1003", false},
		{"all -SA* SA4*", "SA1000", false},
		{"all -SA* SA4*", "SA4000", true},
		{"all -S*", "SA4000", true},
		{"all -S*", "S1002", false},
		{"", "S1002", false},
	} {
		if on := enabled(strings.Fields(c.list), c.check); on != c.on {
			t.Errorf("%q turns %s on: %t", c.list, c.check, on)
		}
	}
}
