package infra_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variable is a variable of the module.
type variable struct {
	description, kind string
	// fallback is the default, as the template writes it; required means that there is none.
	fallback string
	required bool
	// validated means that some values are refused.
	validated bool
	// literal is the default as the module writes it.
	literal string
}

// onlyTerraform has the variables for which the template has no parameters: a stack has a name,
// SAM builds one package for all functions, and parameters cannot be maps. (The template has
// parameters for each task queue: infra.SAMWith.)
var onlyTerraform = []string{"name", "package", "packages", "environment", "task_queues"}

// These match the form of terraform fmt.
var (
	block       = regexp.MustCompile(`(?ms)^variable "([a-z0-9_]+)" \{\n(.*?)^\}`)
	description = regexp.MustCompile(`(?m)^  description = "(.*)"$`)
	typeOf      = regexp.MustCompile(`(?m)^  type        = (.*)$`)
	fallback    = regexp.MustCompile(`(?m)^  default     = (.*)$`)
)

func moduleVariables(t testing.TB) map[string]variable {
	t.Helper()
	var text []byte
	for _, file := range []string{"variables.tf", "settings.tf"} {
		more, err := os.ReadFile(filepath.Join("terraform", file))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, more...)
	}
	all := map[string]variable{}
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		name, body := found[1], found[2]
		d, f := description.FindStringSubmatch(body), fallback.FindStringSubmatch(body)
		if d == nil {
			t.Fatalf("the variable %s has no description", name)
		}
		v := variable{description: unquoted(d[1]), kind: typeOf.FindStringSubmatch(body)[1], required: f == nil, validated: strings.Contains(body, "  validation {")}
		if f != nil {
			v.literal = f[1]
			v.fallback = map[string]string{"true": "on", "false": "off", "[]": "", "{}": ""}[f[1]]
			if v.fallback == "" {
				v.fallback = strings.Trim(f[1], `"[]{}`)
			}
		}
		all[name] = v
	}
	if len(all) != strings.Count(string(text), "\nvariable ") {
		t.Fatalf("variables.tf is not in the form of terraform fmt: %d variables found", len(all))
	}
	return all
}

func unquoted(text string) string { return strings.ReplaceAll(text, `\"`, `"`) }

var output = regexp.MustCompile(`(?m)^output "([a-z0-9_]+)" \{\n  description = "(.*)"$`)

// The tables of the module's README list its variables and its outputs: go test ./infra -run
// TestReadme -tables
func TestReadme(t *testing.T) {
	t.Parallel()
	if *tables {
		holdFile(t, filepath.Join("terraform", "settings.tf"), moduleSettings()) // the table has its variables
	}
	variables := moduleVariables(t)
	rows := []string{"| input | type | default | |", "|---|---|---|---|"}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		v := variables[name]
		value := "required"
		if !v.required {
			value = "`" + cmp.Or(v.literal, `""`) + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", name, v.kind, value, v.description))
	}
	text, err := os.ReadFile(filepath.Join("terraform", "outputs.tf"))
	if err != nil {
		t.Fatal(err)
	}
	outputs := []string{"| output | |", "|---|---|"}
	for _, found := range output.FindAllStringSubmatch(string(text), -1) {
		outputs = append(outputs, fmt.Sprintf("| `%s` | %s |", found[1], unquoted(found[2])))
	}
	if want := strings.Count(string(text), "output \""); len(outputs)-2 != want {
		t.Errorf("%d outputs have a description, of %d", len(outputs)-2, want)
	}
	holdTables(t, filepath.Join("terraform", "README.md"), map[string][]string{"inputs": rows, "outputs": outputs})
}

// The template has a parameter for each variable, with the same default.
func TestInputsAreTheSame(t *testing.T) {
	t.Parallel()
	parameters := load(t, filepath.Join("sam", "template.yaml"), "weft", nil).parameters
	for name, v := range moduleVariables(t) {
		value, ok := parameters[pascal(name)]
		switch {
		case slices.Contains(onlyTerraform, name):
			if ok {
				t.Errorf("%s is said to be no parameter", name)
			}
			continue
		case !ok:
			t.Errorf("the template has no parameter %s, for the variable %s", pascal(name), name)
		case value != v.fallback:
			t.Errorf("%s is %q in the template by default, and %s is %q in the module", pascal(name), value, name, v.fallback)
		}
		delete(parameters, pascal(name))
	}
	for name := range parameters {
		t.Errorf("the module has no variable for the parameter %s", name)
	}
}
