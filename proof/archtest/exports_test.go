package archtest

import (
	gcimporter "go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// exports are the files of export data, by import path: of the public packages, of the executor,
// and of what both import. They are listed once for all tests.
var exports struct {
	sync.Mutex
	files map[string]string
}

// importer returns an importer of the packages in exports. It is for one goroutine.
func importer(t *testing.T, positions *token.FileSet) types.Importer {
	t.Helper()
	exports.Lock()
	defer exports.Unlock()
	if exports.files == nil {
		exports.files = exportFiles(t)
	}
	files := exports.files
	return gcimporter.ForCompiler(positions, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}

// exportFiles compiles without cgo, as make test does, which has compiled most of it by then.
func exportFiles(t *testing.T) map[string]string {
	t.Helper()
	args := []string{"-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./internal/executor/..."}
	for _, name := range publicPackages(t) {
		args = append(args, "./"+name)
	}
	out, err := goList("CGO_ENABLED=0", args...)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = export
	}
	return files
}
