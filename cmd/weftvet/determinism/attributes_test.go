package determinism

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// The rule attribute has the names of the filters, without those that the engine refuses as names
// of search attributes.
func TestNamesThatEveryRunHas(t *testing.T) {
	t.Parallel()
	filters := texts(t, filepath.Join(root, "internal", "filter", "meets.go"), "builtins")
	refused := texts(t, filepath.Join(root, "engine", "visibility.go"), "reserved")
	want := slices.DeleteFunc(filters, func(name string) bool { return slices.Contains(refused, name) })
	got := slices.Clone(everyRunHas)
	slices.Sort(got)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the rule has %q, and filters have %q", got, want)
	}
}

// texts returns the texts in the declaration of a variable: the keys of a map, or the elements of a
// slice.
func texts(t *testing.T, path, variable string) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != variable {
			return true
		}
		ast.Inspect(spec, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, text)
			}
			return true
		})
		return false
	})
	if len(all) == 0 {
		t.Fatalf("%s has no %s", path, variable)
	}
	return all
}
