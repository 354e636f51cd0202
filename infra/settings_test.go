package infra_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// The parts of infra/sam, infra/terraform and docs/settings.md about settings are written from
// the declarations of settings:
//
//	go test ./infra -run TestSettings -tables
func TestSettings(t *testing.T) {
	t.Parallel()
	holdFile(t, filepath.Join("terraform", "settings.tf"), moduleSettings())
	holdRegions(t, filepath.Join("sam", "template.yaml"), map[string][]string{"parameters": templateParameters(), "variables": templateVariables()},
		"# begin %s of package settings (go test ./infra -run TestSettings -tables)\n", "# end %s of package settings\n")
	holdTables(t, filepath.Join("..", "docs", "settings.md"), map[string][]string{"functions": functionRows(), "server": serverRows()})
}

// handedOn returns the settings of functions for which the template has a parameter that all
// functions get.
func handedOn() []settings.Setting {
	return slices.DeleteFunc(settings.Of[settings.Function](), func(s settings.Setting) bool { return s.Parameter == "" })
}

// holdFile compares a file with a text, or writes the text.
func holdFile(t *testing.T, path, want string) {
	t.Helper()
	if *tables {
		write(t, path, []byte(want))
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(want, "\n"), strings.Split(string(text), "\n")); diff != "" {
		t.Errorf("%s is not what the code declares; write it with -tables (- code, + file):\n%s", path, diff)
	}
}

// ---- the module ----

func moduleSettings() string {
	var out strings.Builder
	out.WriteString("# Written from package settings (go test ./infra -run TestSettings -tables): the variables that all\n# functions get as they are.\n\nlocals {\n  settings = {\n")
	longest := 0
	for _, s := range handedOn() {
		longest = max(longest, len(s.Variable))
	}
	for _, s := range handedOn() {
		value := "var." + snake(s.Parameter)
		if isSwitch(s) {
			value += ` ? "on" : "off"`
		}
		fmt.Fprintf(&out, "    %-*s = %s\n", longest, s.Variable, value)
	}
	out.WriteString("  }\n}\n")
	for _, s := range handedOn() {
		out.WriteString("\n" + moduleVariable(s))
	}
	return out.String()
}

func moduleVariable(s settings.Setting) string {
	kind, value, condition := "string", fmt.Sprintf("%q", s.Default), ""
	name := snake(s.Parameter)
	switch {
	case isSwitch(s):
		kind, value = "bool", fmt.Sprint(s.Default == "on")
	case s.Type.Kind() == reflect.Int && s.Most != "":
		kind, value = "number", s.Default
		condition = fmt.Sprintf("var.%[1]s >= 1 && var.%[1]s <= %[2]s && floor(var.%[1]s) == var.%[1]s", name, s.Most)
	case s.Values != nil:
		condition = fmt.Sprintf("contains([%s], var.%s)", listOf(s.Values), name)
	case pattern(s) != "":
		condition = fmt.Sprintf("can(regex(%q, var.%s))", pattern(s), name)
	}
	text := fmt.Sprintf("variable %q {\n  description = %q\n  type        = %s\n  default     = %s\n", name, s.Doc, kind, value)
	if condition != "" {
		text += fmt.Sprintf("\n  validation {\n    condition     = %s\n    error_message = %q\n  }\n", condition, s.Wrong)
	}
	return text + "}\n"
}

// isSwitch reports whether a setting is on or off.
func isSwitch(s settings.Setting) bool {
	return len(s.Values) == 2 && slices.Contains(s.Values, "on") && slices.Contains(s.Values, "off")
}

// pattern returns the pattern of a parameter's values, or "" if any value will do.
func pattern(s settings.Setting) string {
	if s.Type == reflect.TypeFor[limits.Limit]() {
		return "^([1-9][0-9]*|none)$"
	}
	return s.Pattern
}

func listOf(values []string) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("%q", v))
	}
	return strings.Join(all, ", ")
}

// snake returns the module's name for a parameter.
func snake(parameter string) string {
	var out strings.Builder
	for i, r := range parameter {
		if i > 0 && unicode.IsUpper(r) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// ---- the template ----

func templateParameters() (lines []string) {
	for _, s := range handedOn() {
		value := fmt.Sprintf("%q", s.Default)
		if s.Default != "" && !isSwitch(s) && s.Default != "off" && strings.Trim(s.Default, "0123456789") != "" {
			value = s.Default
		}
		kind := "String"
		if s.Type.Kind() == reflect.Int && s.Most != "" {
			kind, value = "Number", s.Default
		}
		doc := s.Doc
		if strings.Contains(doc, ": ") {
			doc = fmt.Sprintf("%q", doc)
		}
		lines = append(lines, "  "+s.Parameter+":", "    Description: "+doc, "    Type: "+kind, "    Default: "+value)
		switch {
		case kind == "Number":
			lines = append(lines, "    MinValue: 1", "    MaxValue: "+s.Most)
		case s.Values != nil:
			lines = append(lines, "    AllowedValues: ["+listOf(s.Values)+"]")
		case pattern(s) != "":
			lines = append(lines, fmt.Sprintf("    AllowedPattern: %q", pattern(s)))
		}
	}
	return lines
}

func templateVariables() (lines []string) {
	for _, s := range handedOn() {
		lines = append(lines, fmt.Sprintf("        %s: !Ref %s", s.Variable, s.Parameter))
	}
	return lines
}

// ---- the document ----

func functionRows() []string {
	rows := []string{"| variable | SAM, Terraform | default | |", "|---|---|---|---|"}
	for _, s := range settings.Of[settings.Function]() {
		by, value := s.Given, coded(s.Default)
		if s.Parameter != "" {
			by = coded(s.Parameter) + ", " + coded(snake(s.Parameter))
		}
		if s.Required {
			value = "required"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", coded(s.Variable), by, value, escaped(s.Doc)))
	}
	return rows
}

func serverRows() []string {
	rows := []string{"| flag | variable | default | |", "|---|---|---|---|"}
	for _, s := range settings.Of[settings.Server]() {
		rows = append(rows, serverRow("`--"+s.Flag+"`", s))
	}
	for _, s := range append(settings.Of[settings.Logging](), settings.Of[settings.ServerLogging]()...) {
		rows = append(rows, serverRow("", s))
	}
	return rows
}

func serverRow(flag string, s settings.Setting) string {
	return fmt.Sprintf("| %s | %s | %s | %s |", flag, coded(s.Variable), coded(s.Default), escaped(s.Doc))
}

func coded(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func escaped(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// ---- both directions ----

// Functions get all variables that they read, and no others.
func TestVariables(t *testing.T) {
	t.Parallel()
	read, given := map[string]bool{}, map[string]bool{}
	for _, s := range settings.Of[settings.Function]() {
		read[s.Variable] = true
	}
	delete(read, settings.Variable("Grace")) // only cost depends on it
	for _, f := range samFunctions(t, "weft", nil, "reports") {
		for name := range f.variables {
			given[name] = true
		}
	}
	if diff := gocmp.Diff(read, given); diff != "" {
		t.Errorf("- functions, + infra:\n%s", diff)
	}
	parameters := load(t, filepath.Join("sam", "template.yaml"), "weft", nil).parameters
	for _, s := range settings.Of[settings.Function]() {
		for name := range strings.FieldsFuncSeq(cmp.Or(s.Parameter, s.Given), func(r rune) bool { return !unicode.IsLetter(r) }) {
			if _, ok := parameters[name]; !ok && strings.ToLower(name) != name && name != "URL" && name != "URLs" {
				t.Errorf("%s is given by %s, which is no parameter: there are %q", s.Variable, name, slices.Sorted(maps.Keys(parameters)))
			}
		}
	}
}
