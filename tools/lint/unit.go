package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const weft = "github.com/seed-41655fb1/weft"

// unit is a part of go vet's configuration, which describes one package.
type unit struct {
	ID, Dir, ImportPath       string
	ModulePath, ModuleVersion string // the version is empty for the module in which go vet runs
	GoFiles, IgnoredFiles     []string
	VetxOnly                  bool
}

// prepare returns the name of the configuration to use, and what is wanted of the package.
//
// go vet sets VetxOnly for a package that is imported, and not named by the user. Go 1.26 caches
// that empty report, and shows it when the user does name the package, which would then seem clean.
// So a package of Weft's is always reported on. A configuration that cannot be read is returned
// unchanged, so that the checker reports it.
func prepare(config string) (name string, w wanted) {
	text, err := os.ReadFile(config)
	if err != nil {
		return config, everything
	}
	var u unit
	var fields map[string]any
	if json.Unmarshal(text, &u) != nil || json.Unmarshal(text, &fields) != nil || !u.VetxOnly {
		return config, everything
	}
	if !u.ours() {
		return config, u.foreign()
	}
	if !u.named() {
		return config, facts
	}
	fields["VetxOnly"] = false
	changed := filepath.Join(filepath.Dir(config), "lint.cfg")
	if text, err = json.Marshal(fields); err != nil || os.WriteFile(changed, text, 0o600) != nil {
		return config, facts
	}
	return changed, everything
}

// named reports whether go vet reports on this package when the user names it. A package with tests
// in its own files is then reported on together with them, as another unit: what only the tests use
// would seem unused here.
func (u unit) named() bool { return u.ID == u.ImportPath && !u.tested() }

// ours reports whether the package is Weft's, or of the module in which go vet runs.
func (u unit) ours() bool {
	return u.ModulePath == weft || strings.HasPrefix(u.ModulePath, weft+"/") || u.ModulePath != "" && u.ModuleVersion == ""
}

// foreign returns which facts of a package that is not Weft's are wanted. staticcheck has a list of
// pure functions of the standard library, and makes facts of it where it reads their packages.
func (u unit) foreign() wanted {
	if u.ModulePath == "" && slices.Contains(pure, u.ImportPath) {
		return facts
	}
	return factsOfSyntax
}

// pure are the packages whose pure functions staticcheck lists.
var pure = []string{"errors", "fmt", "net/http", "sort", "strings", "time"}

// tested reports whether the package has tests in its own files.
func (u unit) tested() bool {
	tests, _ := filepath.Glob(filepath.Join(u.Dir, "*_test.go"))
	return slices.ContainsFunc(tests, func(test string) bool {
		if slices.Contains(u.IgnoredFiles, test) {
			return false
		}
		f, err := parser.ParseFile(token.NewFileSet(), test, nil, parser.PackageClauseOnly)
		return err != nil || !strings.HasSuffix(f.Name.Name, "_test")
	})
}
