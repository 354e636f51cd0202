package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

const module = "github.com/seed-41655fb1/weft/"

// loader type-checks packages of this module. Imports from elsewhere are empty, except package
// time: the fields have types of this module and of Go.
type loader struct {
	root   string
	files  *token.FileSet
	loaded map[string]*types.Package
}

func newLoader(root string) *loader {
	return &loader{root: root, files: token.NewFileSet(), loaded: map[string]*types.Package{}}
}

// Import implements types.Importer.
func (l *loader) Import(name string) (*types.Package, error) {
	if p := l.loaded[name]; p != nil {
		return p, nil
	}
	var p *types.Package
	var err error
	dir, ours := strings.CutPrefix(name, module)
	switch {
	case ours:
		p, err = l.check(dir)
	case name == "time":
		p, err = l.standard(name)
	default:
		p = types.NewPackage(name, path.Base(name))
		p.MarkComplete()
	}
	l.loaded[name] = p
	return p, err
}

// standard type-checks a package of Go's library.
func (l *loader) standard(name string) (*types.Package, error) {
	if err := findLibrary(); err != nil {
		return nil, err
	}
	return importer.ForCompiler(l.files, "source", nil).Import(name)
}

// findLibrary asks the go command where Go's library is, because a program that is built with
// -trimpath does not know.
var findLibrary = sync.OnceValue(func() error {
	if build.Default.GOROOT != "" {
		return nil
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	build.Default.GOROOT = strings.TrimSpace(string(out))
	return nil
})

// check type-checks the files of a package that the build on this machine includes. It ignores
// errors, because imports that are not loaded cause some. Only a name that is declared twice is an
// error: the codec would be that of one of the two.
func (l *loader) check(dir string) (*types.Package, error) {
	entries, err := os.ReadDir(filepath.Join(l.root, dir))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, e := range entries {
		if name := e.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == fileName {
			continue
		}
		if built, err := build.Default.MatchFile(filepath.Join(l.root, dir), e.Name()); err != nil {
			return nil, err
		} else if !built {
			continue
		}
		f, err := parser.ParseFile(l.files, filepath.Join(l.root, dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	var twice error
	c := types.Config{Importer: l, IgnoreFuncBodies: true, Error: func(err error) {
		if twice == nil && (strings.Contains(err.Error(), "redeclared") || strings.Contains(err.Error(), "already declared")) {
			twice = fmt.Errorf("%w: keep one of the two", err)
		}
	}}
	p, _ := c.Check(module+dir, l.files, files, nil)
	return p, twice
}
