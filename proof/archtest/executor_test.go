package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// checked is a package whose types were checked from its source.
type checked struct {
	name  string // without the module
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// checkedExecutor returns the packages of the executor, with their types.
func checkedExecutor(t *testing.T) []checked {
	t.Helper()
	all, err := loadExecutor(t)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var executorOnce struct {
	sync.Once
	all []checked
	err error
}

func loadExecutor(t *testing.T) ([]checked, error) {
	t.Helper()
	executorOnce.Do(func() {
		files := token.NewFileSet()
		of := importer(t, files)
		for _, p := range packages(t) {
			name, _ := ours(p.ImportPath)
			if !under(name, "internal/executor") || executorOnce.err != nil {
				continue
			}
			c := checked{name: name, info: &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{}}}
			for _, file := range p.GoFiles {
				parsed, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.SkipObjectResolution)
				if err != nil {
					executorOnce.err = err
					return
				}
				c.files = append(c.files, parsed)
			}
			c.types, executorOnce.err = (&types.Config{Importer: of}).Check(p.ImportPath, files, c.files, c.info)
			executorOnce.all = append(executorOnce.all, c)
		}
	})
	return executorOnce.all, executorOnce.err
}

// mostMethods is how many methods a type of the executor may have.
const mostMethods = 20

// TestExecutorTypesAreSmall counts all methods that can be called on a type of the executor, those
// of embedded fields included.
func TestExecutorTypesAreSmall(t *testing.T) {
	t.Parallel()
	found := 0
	for _, p := range checkedExecutor(t) {
		for _, name := range p.types.Scope().Names() {
			named, ok := p.types.Scope().Lookup(name).(*types.TypeName)
			if !ok || named.IsAlias() {
				continue
			}
			found++
			methods := types.NewMethodSet(types.NewPointer(named.Type())).Len()
			if types.IsInterface(named.Type()) {
				methods = types.NewMethodSet(named.Type()).Len()
			}
			if methods > mostMethods {
				t.Errorf("%s.%s has %d methods, more than %d: split it, turn the methods that need only exported ones into functions, or name its embedded fields", p.name, name, methods, mostMethods)
			}
		}
	}
	if found < 50 {
		t.Fatalf("only %d types were found", found)
	}
}

// docLines is how many lines a doc.go may have: a page.
const docLines = 70

// TestLayersAreDescribed compares what a package of the executor calls in the layers below it with
// the list in its doc.go. So a review shows when the interface between two layers grows.
func TestLayersAreDescribed(t *testing.T) {
	t.Parallel()
	for _, p := range checkedExecutor(t) {
		doc, err := os.ReadFile(filepath.Join("..", "..", p.name, "doc.go"))
		if err != nil {
			t.Error(err)
		}
		if n := strings.Count(string(doc), "\n"); n > docLines {
			t.Errorf("%s/doc.go has %d lines, more than %d", p.name, n, docLines)
		}
		listed, used := listedMethods(p), usedMethods(p)
		for _, line := range used {
			if !slices.Contains(listed, line) {
				t.Errorf("%s/doc.go does not list what the package uses: add the line\n//\t%s", p.name, line)
			}
		}
		for _, line := range listed {
			if !slices.Contains(used, line) {
				t.Errorf("%s/doc.go lists what the package does not use: remove the line\n//\t%s", p.name, line)
			}
		}
	}
}

// usesHeading begins the list in a doc.go. Each line of the list has a type or a package of a lower
// layer, and the names of its methods or functions. A line that is indented continues the one
// before.
const usesHeading = "# What it uses of the layers below\n\n"

// listedMethods returns the lines of the list in a package's doc.go.
func listedMethods(p checked) (lines []string) {
	for _, f := range p.files {
		_, list, found := strings.Cut(f.Doc.Text(), usesHeading)
		if !found {
			continue
		}
		for line := range strings.Lines(list) {
			text, indented := strings.CutPrefix(line, "\t")
			if !indented {
				break
			}
			if names := strings.Join(strings.Fields(text), " "); text[0] == ' ' && len(lines) > 0 {
				lines[len(lines)-1] += " " + names
			} else {
				lines = append(lines, names)
			}
		}
	}
	return lines
}

// usedMethods returns the list that a package's doc.go should have: the methods and functions of
// other packages of the executor that the package calls.
func usedMethods(p checked) (lines []string) {
	used := map[string]map[string]bool{}
	for _, o := range p.info.Uses {
		f, ok := o.(*types.Func)
		if !ok || f.Pkg() == nil || f.Pkg() == p.types {
			continue
		}
		if name, ok := ours(f.Pkg().Path()); !ok || !under(name, "internal/executor") {
			continue
		}
		of := f.Pkg().Name()
		if recv := f.Signature().Recv(); recv != nil {
			of = types.TypeString(recv.Type(), (*types.Package).Name)
			of, _, _ = strings.Cut(strings.TrimPrefix(of, "*"), "[")
		}
		if used[of] == nil {
			used[of] = map[string]bool{}
		}
		used[of][f.Name()] = true
	}
	for _, of := range slices.Sorted(maps.Keys(used)) {
		lines = append(lines, of+" "+strings.Join(slices.Sorted(maps.Keys(used[of])), " "))
	}
	return lines
}

// TestBusyHasACause finds a layer of the executor that returns outcome.ErrBusy or
// outcome.ErrUnknown itself: they are only compared with. What is returned is an outcome.Busy or an
// outcome.Unknown, which has the cause.
func TestBusyHasACause(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, p := range checkedExecutor(t) {
		if p.name == "internal/executor/outcome" {
			continue
		}
		for _, file := range p.files {
			targets := map[ast.Expr]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 2 {
					if fn, ok := call.Fun.(*ast.SelectorExpr); ok && p.info.Uses[fn.Sel] != nil && p.info.Uses[fn.Sel].Pkg().Path() == "errors" && fn.Sel.Name == "Is" {
						targets[call.Args[1]] = true
					}
				}
				used, ok := n.(*ast.SelectorExpr)
				if !ok || used.Sel.Name != "ErrBusy" && used.Sel.Name != "ErrUnknown" || !strings.HasSuffix(p.info.Uses[used.Sel].Pkg().Path(), "internal/executor/outcome") {
					return true
				}
				if compared++; !targets[used] {
					t.Errorf("%s uses outcome.%s for something else than errors.Is: return an outcome.Busy or an outcome.Unknown", p.name, used.Sel.Name)
				}
				return true
			})
		}
	}
	if compared < 5 {
		t.Fatalf("only %d comparisons were found", compared)
	}
}
