package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The packages that make race leaves out, because they do nothing concurrently, start no goroutine
// and need neither a channel nor a lock. Nor do their tests.
func TestNotConcurrent(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^NOT_CONCURRENT = (.*)$`).FindSubmatch(makefile)
	if line == nil {
		t.Fatal("the Makefile has no line NOT_CONCURRENT = ...")
	}
	leftOut, err := regexp.Compile("^" + module + "/(" + string(line[1]) + ")$")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range packages(t) {
		if !leftOut.MatchString(p.ImportPath) {
			continue
		}
		found++
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, what := range concurrent(t, file) {
				t.Errorf("%s has %s: take the package out of NOT_CONCURRENT", file, what)
			}
		}
	}
	if want := strings.Count(string(line[1]), "|") + 1; found != want {
		t.Errorf("NOT_CONCURRENT names %d packages, and %d exist", want, found)
	}
}

// concurrent returns what a file has for several goroutines.
func concurrent(t *testing.T, name string) (found []string) {
	t.Helper()
	file := parsedFile(t, name)
	for _, i := range file.Imports {
		if slices.Contains([]string{`"sync"`, `"sync/atomic"`, `"golang.org/x/sync/errgroup"`, `"testing/synctest"`}, i.Path.Value) {
			found = append(found, i.Path.Value)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.GoStmt:
			found = append(found, "a go statement")
		case *ast.ChanType:
			found = append(found, "a channel")
		}
		return true
	})
	return found
}
