package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// assembled are the parts of a process that only package assembly creates.
var assembled = map[string]string{"internal/executor": "New", "internal/httpapi": "New", "internal/worker": "Worker"}

// A process is assembled in one place, even in tests and proofs. So the proofs test what runs.
func TestOneAssembly(t *testing.T) {
	t.Parallel()
	root, found := filepath.Join("..", ".."), map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && file != root) {
			return filepath.SkipDir // not Weft's, and perhaps being installed
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		for part, at := range partsMade(t, file) {
			if folder = filepath.ToSlash(folder); folder == "internal/assembly" {
				found[part] = true
			} else {
				t.Errorf("%s creates a part of a process, a %s: use assembly.NewProcess", at, part)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, name := range assembled {
		if part := path.Base(folder) + "." + name; !found[part] {
			t.Errorf("package assembly creates no %s: was it renamed?", part)
		}
	}
}

// partsMade returns the parts of a process that a file creates, each with a position.
func partsMade(t *testing.T, file string) map[string]token.Position {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names, made := map[string]string{}, map[string]token.Position{}
	for _, i := range f.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if folder, ok := ours(imported); ok && assembled[folder] != "" {
			name := path.Base(folder)
			if i.Name != nil {
				name = i.Name.Name
			}
			names[name] = folder
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var of ast.Expr
		switch n := n.(type) {
		case *ast.CallExpr:
			of = n.Fun
		case *ast.CompositeLit:
			of = n.Type
		}
		if s, ok := of.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && names[x.Name] != "" && assembled[names[x.Name]] == s.Sel.Name {
				made[path.Base(names[x.Name])+"."+s.Sel.Name] = files.Position(n.Pos())
			}
		}
		return true
	})
	return made
}
