package adapter

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/function"
)

// documentation returns the package comment of a file, and the comment of a function in it.
func documentation(t *testing.T, file, name string) (pkg, fn string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name && f.Recv == nil {
			fn = f.Doc.Text()
		}
	}
	return parsed.Doc.Text(), fn
}

// reads returns the variables, sorted, that a function reads at its start if it needs all of them.
func reads(t *testing.T) []string {
	t.Helper()
	asked := map[string]bool{"WEFT_ROLE": true, "WEFT_CHECK": true} // by FromEnvironment, and by Main
	values := required()
	values["WEFT_PINNING"], values["AWS_LAMBDA_FUNCTION_NAME"] = "on", "weft-api"
	get := func(name string) string {
		asked[name] = true
		return values[name]
	}
	if _, err := newLogger(io.Discard, get); err != nil {
		t.Fatal(err)
	}
	if _, err := readEnvironment(get); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range asked {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The comment of Main lists exactly the variables that a function reads.
func TestMainListsItsVariables(t *testing.T) {
	t.Parallel()
	_, comment := documentation(t, "main.go", "Main")
	listed := regexp.MustCompile(`\b(WEFT|AWS_LAMBDA)_[A-Z_]+\b`).FindAllString(comment, -1)
	slices.Sort(listed)
	if diff := cmp.Diff(reads(t), slices.Compact(listed)); diff != "" {
		t.Errorf("the comment of Main does not list the variables that are read (- read, + listed):\n%s", diff)
	}
	heads := regexp.MustCompile(`(?m)^\tWEFT_[A-Z_]+`).FindAllString(comment, -1)
	for _, name := range reads(t) {
		if strings.HasPrefix(name, "WEFT_") && !slices.Contains(heads, "\t"+name) {
			t.Errorf("%s has no entry of its own", name)
		}
	}
}

// The table of the package comment and the entry of WEFT_ROLE list exactly the roles.
func TestRolesAreDocumented(t *testing.T) {
	t.Parallel()
	table, _ := documentation(t, "doc.go", "")
	_, comment := documentation(t, "main.go", "Main")
	entry := regexp.MustCompile(`(?m)^\tWEFT_ROLE +(.*)$`).FindStringSubmatch(comment)
	if entry == nil {
		t.Fatal("WEFT_ROLE has no entry")
	}
	var named []string
	for _, role := range []Role{API, Workflow, Activity, Timer, Dead} {
		named = append(named, string(role))
		if !regexp.MustCompile(`(?m)^\t.*  ` + string(role) + `  `).MatchString(table) {
			t.Errorf("the table of roles has no %s", role)
		}
	}
	if got := regexp.MustCompile(`\w+`).FindAllString(strings.ReplaceAll(entry[1], " or ", " "), -1); !slices.Equal(got, named) {
		t.Errorf("WEFT_ROLE may be %q, and there are %q", got, named)
	}
	for _, role := range named {
		if err := function.CheckRole(Role(role)); err != nil {
			t.Error(err)
		}
	}
	if err := function.CheckRole("another"); err == nil || !strings.Contains(err.Error(), strings.Join(named, `" "`)) {
		t.Errorf("%v does not name the roles %q", err, named)
	}
}
