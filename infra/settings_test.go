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
	"time"
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
	holdRegions(t, filepath.Join("sam", "template.yaml"), map[string][]string{"parameters": templateParameters(), "variables": templateVariables(), "presets": templatePresets()},
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
		switch {
		case isSwitch(s):
			value += ` ? "on" : "off"`
		case s.Fallback != "":
			value = fmt.Sprintf("coalesce(%s, %s)", value, fallbacks[s.Fallback].module(s))
		}
		fmt.Fprintf(&out, "    %-*s = %s\n", longest, s.Variable, value)
	}
	out.WriteString("  }\n\n  # What concurrency gives: the maximum concurrency of the queues, and the hold.\n  presets = {\n")
	for _, p := range settings.Presets() {
		fmt.Fprintf(&out, "    %-6s = { workflow = %d, timers = %d, activities = %d, wait_hold = %q }\n", p.Name, p.Workflow, p.Timer, p.Activity, p.WaitHold)
	}
	out.WriteString("  }\n}\n")
	for _, s := range handedOn() {
		out.WriteString("\n" + moduleVariable(s))
	}
	return out.String()
}

func moduleVariable(s settings.Setting) string {
	kind, value, condition := "string", fmt.Sprintf("%q", parameterDefault(s)), ""
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
	text := fmt.Sprintf("variable %q {\n  description = %q\n  type        = %s\n  default     = %s\n", name, parameterDoc(s), kind, value)
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
	switch {
	case s.Type == reflect.TypeFor[limits.Limit]():
		return "^([1-9][0-9]*|none)$"
	case s.Fallback != "":
		return "^$|" + s.Pattern
	}
	return s.Pattern
}

// fallbacks say what a deployment gets if a parameter is empty, in the words of the description,
// of the module and of the template.
var fallbacks = map[string]struct {
	doc              string
	module, template func(settings.Setting) string
}{
	"name": {
		" Empty is the name of the stack, or of the module. Never change that of a deployment that has runs.",
		func(settings.Setting) string { return "var.name" },
		func(s settings.Setting) string {
			return fmt.Sprintf("&%s !If [Has%[2]s, !Ref %[2]s, !Ref AWS::StackName]", snake(s.Parameter), s.Parameter)
		},
	},
	"preset": {
		" Empty is what Concurrency gives.",
		func(s settings.Setting) string { return "local.presets[var.concurrency]." + snake(s.Parameter) },
		func(s settings.Setting) string {
			return fmt.Sprintf("!If [Presets%[1]s, !FindInMap [Presets, !Ref Concurrency, %[1]s], !Ref %[1]s]", s.Parameter)
		},
	},
}

// parameterDefault returns the default of a parameter.
func parameterDefault(s settings.Setting) string {
	if s.Fallback != "" {
		return ""
	}
	return s.Default
}

// parameterDoc returns the description of a parameter.
func parameterDoc(s settings.Setting) string { return s.Doc + fallbacks[s.Fallback].doc }

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
		value := fmt.Sprintf("%q", parameterDefault(s))
		if d := parameterDefault(s); d != "" && !isSwitch(s) && d != "off" && strings.Trim(d, "0123456789") != "" {
			value = d
		}
		kind := "String"
		if s.Type.Kind() == reflect.Int && s.Most != "" {
			kind, value = "Number", s.Default
		}
		doc := parameterDoc(s)
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
		value := "!Ref " + s.Parameter
		if s.Fallback != "" {
			value = fallbacks[s.Fallback].template(s)
		}
		lines = append(lines, fmt.Sprintf("        %s: %s", s.Variable, value))
	}
	return lines
}

func templatePresets() (lines []string) {
	for _, p := range settings.Presets() {
		lines = append(lines, fmt.Sprintf("    %s: { Workflow: \"%d\", Timer: \"%d\", Activity: \"%d\", WaitHold: %s }", p.Name, p.Workflow, p.Timer, p.Activity, p.WaitHold))
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
	for _, f := range samFunctions(t, "weft", map[string]string{"Pinning": "on", "Build": "b1", "Rollout": "canary"}, "reports") {
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

// The default preset leaves callers as much of a quota of 1,000 as the throttle lets in, and small
// leaves something of a quota of 10.
func TestPresets(t *testing.T) {
	t.Parallel()
	parameters := load(t, filepath.Join("sam", "template.yaml"), "weft", nil).parameters
	held := func(hold string) float64 {
		const besides = 15 * time.Millisecond // what a request takes that is not held
		rate, burst := number(t, fmt.Sprint(parameters["ThrottlingRate"])), number(t, fmt.Sprint(parameters["ThrottlingBurst"]))
		return burst + rate*(duration(t, hold)+besides).Seconds()
	}
	for i, quota := range []int{1000, 10} {
		p := settings.Presets()[i]
		left := quota - p.Workflow - p.Timer - p.Activity
		if i == 0 && (float64(left) < held(p.WaitHold) || parameters["Concurrency"] != p.Name) {
			t.Errorf("%s leaves %d of %d, and callers hold %v", p.Name, left, quota, held(p.WaitHold))
		}
		if left < 3 {
			t.Errorf("%s leaves %d of %d", p.Name, left, quota)
		}
	}
}
