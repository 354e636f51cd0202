package infra_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var (
	fresh   = flag.Bool("fresh", false, "have terraform plan the module, and compare that with testdata, as make deploy-check does")
	replan  = flag.Bool("replan", false, "have terraform plan the module, and keep that in testdata")
	plugins = flag.String("plugins", "", "with -fresh and -replan, the folder from which terraform takes its provider, with registry.terraform.io in it")
)

// plan is what the Terraform module declares: the attributes that it sets, by the addresses of
// resources. It leaves out those that are null, false, zero or empty, and those that only AWS
// knows.
type plan map[string]map[string]any

// kept is a plan as it is stored in testdata.
type kept struct {
	// Of is a hash of the module and of the variant's variables, so that the test fails without
	// terraform when either has changed.
	Of   string `json:"of"`
	Plan plan   `json:"plan"`
}

const howToPlan = "go test ./infra -run TestPlans -replan [-plugins FOLDER]"

// plans returns the plans of the variants that are kept in testdata, so that tests need no
// terraform.
//
// They come from a test run of Terraform with a mocked provider. It needs no account, and resolves
// every reference, including those in policies. Renew them after a change of the module or of a
// variant, as howToPlan says.
func plans(t testing.TB) map[string]plan {
	t.Helper()
	all := map[string]plan{}
	for name := range variants {
		text, err := os.ReadFile(planFile(name))
		if err != nil {
			t.Fatalf("%v; make it: %s", err, howToPlan)
		}
		var k kept
		if err := json.Unmarshal(text, &k); err != nil {
			t.Fatalf("%s: %v", planFile(name), err)
		}
		if k.Of != hashOf(t, variants[name]) {
			t.Fatalf("infra/terraform, or the variant, has changed since %s was made; with terraform 1.11 or newer: %s", planFile(name), howToPlan)
		}
		all[name] = k.Plan
	}
	return all
}

func planFile(variant string) string { return filepath.Join("testdata", "plan-"+variant+".json") }

// hashOf returns a hash of a plan's inputs: the module, without text that is only for people,
// and the variables.
func hashOf(t testing.TB, in inputs) string {
	t.Helper()
	h := sha256.New()
	for line := range strings.Lines(moduleText(t)) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !forPeople.MatchString(line) {
			_, _ = fmt.Fprintln(h, line) // a hash takes everything
		}
	}
	if err := json.NewEncoder(h).Encode(in.variables()); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// forPeople matches comments, and messages. (With -fresh the description of the key is compared
// all the same.)
var forPeople = regexp.MustCompile(`^(#|description =|error_message =)`)

// TestPlans demands that each resource of the module is in a plan. With -replan, terraform plans
// all variants and the test keeps the plans. With -fresh it compares them.
func TestPlans(t *testing.T) {
	t.Parallel()
	if *replan || *fresh {
		now := terraformPlans(t)
		for name, p := range now {
			if *replan {
				write(t, planFile(name), p.text(hashOf(t, variants[name])))
			}
		}
		if diff := gocmp.Diff(plans(t), now); diff != "" {
			t.Errorf("testdata is not what the module declares: %s (- testdata, + module)\n%s", howToPlan, diff)
		}
	}
	planned := map[string]bool{}
	for _, p := range plans(t) {
		for address := range p {
			kind, name, _ := strings.Cut(strings.SplitN(address, "[", 2)[0], ".")
			planned[fmt.Sprintf("resource %q %q {", kind, name)] = true
		}
	}
	for line := range strings.Lines(moduleText(t)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "resource ") && !planned[line] {
			t.Errorf("no variant has what this declares: %s", line)
		}
	}
}

func moduleFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("terraform", "*.tf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the module has no files: %v", err)
	}
	return files
}

func moduleText(t testing.TB) string {
	t.Helper()
	var all strings.Builder
	for _, file := range moduleFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// text returns the stored form: a line for each resource.
func (p plan) text(of string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"of\": %q, \"plan\": {", of)
	for i, address := range slices.Sorted(maps.Keys(p)) {
		name, _ := json.Marshal(address)
		attributes, _ := json.Marshal(p[address]) // strings, numbers, lists and maps: they always encode
		fmt.Fprintf(&b, "%s\n%s: %s", map[bool]string{true: ","}[i > 0], name, attributes)
	}
	b.WriteString("\n}}\n")
	return b.Bytes()
}

// The guard of the module depends on every other resource: so destroy begins with it, and is
// refused while it is protected.
func TestGuard(t *testing.T) {
	t.Parallel()
	text := moduleText(t)
	_, block, found := strings.Cut(text, "resource \"aws_dynamodb_table\" \"guard\" {\n")
	block, _, _ = strings.Cut(block, "\n}\n")
	_, list, listed := strings.Cut(block, "  depends_on = [\n")
	if !found || !listed || !strings.Contains(block, "deletion_protection_enabled = var.deletion_protection\n") {
		t.Fatalf("the guard is not protected, or depends on nothing:\n%s", block)
	}
	var want, got []string
	for _, r := range regexp.MustCompile(`(?m)^resource "([a-z0-9_]+)" "([a-z0-9_]+)" \{$`).FindAllStringSubmatch(text, -1) {
		if address := r[1] + "." + r[2]; address != guard {
			want = append(want, address)
		}
	}
	for _, r := range regexp.MustCompile(`(?m)^    ([a-z0-9_.]+),$`).FindAllStringSubmatch(list, -1) {
		got = append(got, r[1])
	}
	slices.Sort(want)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("depends_on of the guard does not have every other resource, sorted (- module, + guard):\n%s", diff)
	}
	for name, p := range plans(t) {
		if protected := p[guard]["deletion_protection_enabled"] == true; protected != (variants[name]["deletion_protection"] != false) {
			t.Errorf("%s: the guard is protected: %t", name, protected)
		}
	}
}
