package archtest

import (
	"errors"
	"flag"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var rewriteAPI = flag.Bool("rewrite-api", false, "rewrite the golden files of TestAPI")

// apiDir has one golden file for each public package.
const apiDir = "testdata/api"

// notPublic are the folders of programs, tests and tools of this repository. No other module
// imports their packages.
var notPublic = []string{"cmd", "examples", "infra", "localstack", "proof", "tools"}

// publicPackages returns the packages that other modules may import, named without the module.
func publicPackages(t *testing.T) (names []string) {
	t.Helper()
	for _, p := range packages(t) {
		name, _ := ours(p.ImportPath)
		if p.Name != "main" && !under(name, notPublic...) && !slices.Contains(strings.Split(name, "/"), "internal") {
			names = append(names, name)
		}
	}
	return names
}

// goldenName returns the golden file of a package.
func goldenName(name string) string {
	if name == "." {
		name = "weft"
	}
	return strings.ReplaceAll(name, "/", "-") + ".txt"
}

// TestAPI compares the output of `go doc -all` for each public package, and the types that it does
// not print, with a golden file, so that a review shows each change of the API.
func TestAPI(t *testing.T) {
	t.Parallel()
	files := map[string]bool{}
	for _, name := range publicPackages(t) {
		file := goldenName(name)
		files[file] = true
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			checkGolden(t, filepath.Join(apiDir, file), documentation(t, name)+hiddenTypes(t, name))
		})
	}
	kept, err := os.ReadDir(apiDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, f := range kept {
		if !files[f.Name()] {
			t.Errorf("%s/%s does not belong to a public package: delete it", apiDir, f.Name())
		}
	}
}

// documentation returns the output of `go doc -all` for a package.
func documentation(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.Command("go", "doc", "-all", "./"+name)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go doc -all ./%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// checkGolden compares text with a golden file, or rewrites the file with -rewrite-api.
func checkGolden(t *testing.T, file, got string) {
	t.Helper()
	if *rewriteAPI {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the API of this package has changed. If that is intended, run\n"+
			"go test ./proof/archtest -run TestAPI -rewrite-api\nand commit %s. First difference:\n%s", file, firstDifference(got, string(want)))
	}
}

// firstDifference returns the first line in which two texts differ, from both.
func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		g, w := lineAt(gotLines, i), lineAt(wantLines, i)
		if g != w {
			return "  got:  " + g + "\n  want: " + w
		}
	}
	return "  none"
}

// lineAt returns a line, or "(no line)" after the last one.
func lineAt(lines []string, i int) string {
	if i >= len(lines) {
		return "(no line)"
	}
	return lines[i]
}

// Options are structs. Their zero value works, and several of them are merged. There are no
// functional options.
func TestOptionsAreStructs(t *testing.T) {
	t.Parallel()
	option := regexp.MustCompile(`(?m)^type \w*Options?(\[.*\])? func.*|^func \w+(\[.*\])?\(.*\) \w*Option(\[.*\])?$`)
	for _, name := range publicPackages(t) {
		golden, err := os.ReadFile(filepath.Join(apiDir, goldenName(name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range option.FindAllString(string(golden), -1) {
			t.Errorf("%s has a functional option: %s", name, line)
		}
	}
}

// notConditions are exported errors of the authors' packages that only those packages' own
// functions return, each with the reason why it is not a condition of package failure.
var notConditions = map[string]string{
	"activity.ErrPending": "an activity returns it; nobody meets it",
	"workflow.ErrClosed":  "of a channel of workflow code, which does not leave it",
}

// A condition has one value. Packages client, workflow and activity each export all errors of
// package failure, under the same names and with the same values, and no others.
func TestOneErrorForEachCondition(t *testing.T) {
	t.Parallel()
	conditions := errorsOf(t, "engine/failure")
	for _, name := range []string{"client", "workflow", "activity"} {
		exported := errorsOf(t, name)
		for e, value := range exported {
			if _, ok := conditions[e]; notConditions[name+"."+e] == "" && (!ok || value != "failure."+e) {
				t.Errorf("%s.%s is %s: make it failure.%s", name, e, value, e)
			}
		}
		for e := range conditions {
			if _, ok := exported[e]; !ok {
				t.Errorf("%s does not export failure.%s", name, e)
			}
		}
	}
	if len(conditions) < 10 {
		t.Errorf("package failure has only %d conditions", len(conditions))
	}
}

// errorsOf returns the exported variables of a package whose names begin with Err, each with its
// value as an expression.
func errorsOf(t *testing.T, name string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range packages(t) {
		if in, _ := ours(p.ImportPath); in != name {
			continue
		}
		for _, file := range p.GoFiles {
			parsed := parsedFile(t, filepath.Join(p.Dir, file))
			for _, d := range parsed.Decls {
				if group, ok := d.(*ast.GenDecl); ok && group.Tok == token.VAR {
					addErrors(found, group)
				}
			}
		}
	}
	return found
}

// addErrors adds the exported errors of a declaration of variables.
func addErrors(found map[string]string, group *ast.GenDecl) {
	for _, spec := range group.Specs {
		v, _ := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			if name.IsExported() && strings.HasPrefix(name.Name, "Err") && i < len(v.Values) {
				found[name.Name] = types.ExprString(v.Values[i])
			}
		}
	}
}

// ownedByWeft are public packages, and names as "package.Name", that mention types of internal
// packages without an alias. Each has the reason.
var ownedByWeft = map[string]string{
	"engine":                "what calls the engine is Weft's own",
	"engine/failure":        "its codec is the engine's",
	"engine/history":        "its codec is the engine's",
	"weft.Flags":            "it embeds the flags of several packages, whose fields are its own then",
	"workflow.Registration": "only Weft's packages make one: its method has no name outside of internal/bridge",
}

// A type of an internal package that a program meets has an alias, because a program cannot name it
// otherwise.
func TestInternalTypesHaveAliases(t *testing.T) {
	t.Parallel()
	public := publicPackages(t)
	for _, p := range packages(t) {
		name, _ := ours(p.ImportPath)
		if !slices.Contains(public, name) || ownedByWeft[name] != "" {
			continue
		}
		for _, file := range p.GoFiles {
			parsed := parsedFile(t, filepath.Join(p.Dir, file))
			internal := internalImports(parsed)
			for _, d := range parsed.Decls {
				for exported, signature := range signatures(d) {
					full := p.Name + "." + exported
					if met := mentioned(signature, internal); met != "" && ownedByWeft[full] == "" {
						t.Errorf("%s mentions %s: give that an alias, or make the name one of an internal package", full, met)
					}
				}
			}
		}
	}
}

// internalImports returns the names under which a file imports internal packages.
func internalImports(f *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		if in, ok := ours(path); !ok || !slices.Contains(strings.Split(in, "/"), "internal") {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = true
	}
	return names
}

// signatures returns the exported signatures of a declaration, by name: types of parameters and
// results, and of exported fields and methods. It skips aliases.
func signatures(d ast.Decl) map[string][]ast.Node {
	found := map[string][]ast.Node{}
	if f, ok := d.(*ast.FuncDecl); ok {
		if f.Name.IsExported() && (f.Recv == nil || ast.IsExported(receiverName(f.Recv.List[0].Type))) {
			found[f.Name.Name] = []ast.Node{f.Type}
		}
		return found
	}
	group, _ := d.(*ast.GenDecl)
	for _, spec := range group.Specs {
		s, ok := spec.(*ast.TypeSpec)
		if !ok || !s.Name.IsExported() || s.Assign.IsValid() {
			continue
		}
		fields, ok := s.Type.(*ast.StructType)
		if !ok {
			found[s.Name.Name] = []ast.Node{s.Type}
			continue
		}
		for _, field := range fields.Fields.List {
			if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
				found[s.Name.Name] = append(found[s.Name.Name], field.Type)
			}
		}
	}
	return found
}

// receiverName returns the name of the type of a receiver.
func receiverName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// mentioned returns the first name from one of these packages in a signature, or "" if there is
// none.
func mentioned(signature []ast.Node, packages map[string]bool) (name string) {
	for _, n := range signature {
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && name == "" {
				if p, ok := s.X.(*ast.Ident); ok && packages[p.Name] {
					name = p.Name + "." + s.Sel.Name
				}
			}
			return true
		})
	}
	return name
}
