package determinism

import (
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/packages"

	"github.com/seed-41655fb1/weft/cmd/weftvet/internal/shop"
)

// root is where Weft's own module is.
var root = filepath.Join("..", "..", "..")

// In each package of the shop, comments say what is reported, and where.
func TestRules(t *testing.T) {
	for flag, names := range map[string]string{
		"trust":  "example.com/shop/named.region",
		"forbid": "example.com/shop/named.clock.Now, example.com/shop/named.limit",
	} {
		if err := Analyzer.Flags.Set(flag, names); err != nil {
			t.Fatal(err)
		}
	}
	analysistest.Run(t, shop.New(t, root), Analyzer, "./...")
}

// The fixes add names to bindings.
func TestFixes(t *testing.T) {
	t.Parallel()
	analysistest.RunWithSuggestedFixes(t, shop.New(t, root), Analyzer, "./bindings/...")
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a,,b", "(*sql.DB).Exec", "a.*"} {
		if err := (nameList{}).Set(bad); err == nil {
			t.Errorf("%q was taken for names", bad)
		}
	}
	l := nameList{}
	if err := l.Set("net/url.Parse, example.com/b"); err != nil || l.String() != "example.com/b,net/url.Parse" {
		t.Errorf("%q, %v", l.String(), err)
	}
}

// All names of the tables exist: a misspelled one would find nothing.
func TestTables(t *testing.T) {
	t.Parallel()
	all := map[string]bool{}
	for _, table := range []map[string]bool{allowed, changers, sorters} {
		for name := range table {
			all[name] = true
		}
	}
	for name := range table {
		all[name] = true
	}
	paths := map[string]bool{}
	for name := range all {
		path := pathOf(name)
		if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") { // of the standard library
			paths[path] = true
		}
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadTypes}, slices.Sorted(maps.Keys(paths))...)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, p := range loaded {
		for _, name := range p.Types.Scope().Names() {
			addNames(found, p.Types.Scope().Lookup(name))
		}
	}
	for name := range all {
		if path := pathOf(name); paths[path] && !found[name] {
			t.Errorf("the standard library has no %s", name)
		}
	}
}

// pathOf returns the path of the package in a name of the tables.
func pathOf(name string) string {
	slash := strings.LastIndex(name, "/") + 1
	return name[:slash+strings.Index(name[slash:], ".")]
}

// addNames adds the name of an object of a package, and those of its methods.
func addNames(all map[string]bool, o types.Object) {
	all[fullName(o)], all[o.Pkg().Path()+".*"] = true, true
	t, ok := o.(*types.TypeName)
	if !ok {
		return
	}
	all[fullName(o)+".*"] = true
	for _, receiver := range []types.Type{t.Type(), types.NewPointer(t.Type())} {
		methods := types.NewMethodSet(receiver)
		for i := range methods.Len() {
			all[fullName(methods.At(i).Obj())] = true
		}
	}
}
