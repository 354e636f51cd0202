package infra_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// terraformPlans runs terraform to plan all variants of the module, and demands that it refuses
// the refusals. It plans each variant twice: the values that the mocked provider invents differ
// between the two plans, and those of the module do not.
func terraformPlans(t *testing.T) map[string]plan {
	t.Helper()
	dir := t.TempDir()
	for _, file := range moduleFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, filepath.Base(file)), text)
	}
	write(t, filepath.Join(dir, packageFile), []byte("PK\x05\x06"+strings.Repeat("\x00", 18))) // an empty zip
	runs := map[string]any{}
	for name, inputs := range variants {
		run := map[string]any{"command": "plan", "variables": inputs.variables()}
		runs[name], runs[name+"_again"] = run, run
	}
	for name, r := range refusals {
		runs[name] = map[string]any{"command": "plan", "variables": r.variables(), "expect_failures": strings.Fields(r.by)}
	}
	for i, in := range badRuns() {
		var wrong []string
		for name := range in {
			wrong = append(wrong, "var."+name)
		}
		runs[fmt.Sprintf("bad_%d", i)] = map[string]any{"command": "plan", "variables": in.variables(), "expect_failures": wrong}
	}
	writeJSON(t, filepath.Join(dir, "variants.tftest.json"), map[string]any{
		"mock_provider": map[string]any{"aws": map[string]any{"source": "./mocks", "override_during": "plan"}}, "run": runs,
	})
	writeJSON(t, filepath.Join(dir, "mocks", "aws.tfmock.json"), mocks())

	initialize := []string{"init", "-input=false"}
	if *plugins != "" {
		initialize = append(initialize, "-plugin-dir="+*plugins)
	}
	terraform(t, dir, initialize...)
	drawn := drawnPlans(t, terraform(t, dir, "test", "-json", "-verbose"))
	all := map[string]plan{}
	for name := range variants {
		if drawn[name] == nil || drawn[name+"_again"] == nil {
			t.Fatalf("terraform has not planned %s", name)
		}
		all[name] = drawn[name].common(drawn[name+"_again"])
	}
	return all
}

// write replaces a file at once: tests that run at the same time read it before or after.
func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".written")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(0o644), f.Close(), os.Rename(f.Name(), path)); err != nil {
		t.Fatal(err)
	}
}

func writeJSON(t testing.TB, path string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, text)
}

func terraform(t testing.TB, dir string, args ...string) []byte {
	t.Helper()
	command := exec.Command("terraform", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_DATA_DIR=")
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		for _, e := range said(t, out) {
			if e.Type == "diagnostic" {
				fmt.Fprintf(&complaints, "%s: %s: %s\n", e.Run, e.Diagnostic.Summary, e.Diagnostic.Detail)
			}
		}
		t.Fatalf("terraform %s: %v\n%s", args[0], err, complaints.Bytes())
	}
	return out
}

// event is a line of terraform's output with -json.
type event struct {
	Type       string
	Run        string `json:"@testrun"`
	Diagnostic struct{ Summary, Detail string }
	Plan       struct {
		Changes []struct {
			Address, Mode string
			Change        struct{ After map[string]any }
		} `json:"resource_changes"`
	} `json:"test_plan"`
}

// said returns the lines that are JSON.
func said(t testing.TB, output []byte) (all []event) {
	t.Helper()
	for line := range bytes.Lines(output) {
		var e event
		if json.Unmarshal(line, &e) == nil {
			all = append(all, e)
		}
	}
	return all
}

// drawnPlans returns the plans of a test run.
func drawnPlans(t testing.TB, output []byte) map[string]plan {
	t.Helper()
	all := map[string]plan{}
	for _, e := range said(t, output) {
		if e.Type != "test_plan" {
			continue
		}
		p := plan{}
		for _, c := range e.Plan.Changes {
			if c.Mode == "managed" {
				p[c.Address] = c.Change.After
			}
		}
		all[e.Run] = p
	}
	return all
}

// common returns what both plans have in common.
func (p plan) common(other plan) plan {
	all := plan{}
	for address, attributes := range p {
		all[address], _ = common(attributes, any(other[address])).(map[string]any)
	}
	return all
}

// common returns what two values have in common, without what is null, false, zero or empty.
func common(a, b any) any {
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		both := map[string]any{}
		for name, one := range a {
			if one = common(one, b[name]); one != nil {
				both[name] = one
			}
		}
		if len(both) > 0 {
			return both
		}
	case []any:
		b, _ := b.([]any)
		var both []any
		for i, one := range a {
			if i < len(b) {
				if one = common(one, b[i]); one != nil {
					both = append(both, one)
				}
			}
		}
		if len(both) > 0 {
			return both
		}
	default:
		if a == b && a != nil && !reflect.ValueOf(a).IsZero() {
			return a
		}
	}
	return nil
}
