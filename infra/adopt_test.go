package infra_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/seed-41655fb1/weft/infra"
)

const (
	anyKey        = "arn:aws:kms:eu-central-1:000000000000:key/1111"
	anyPayloadKey = "arn:aws:kms:eu-central-1:000000000000:key/2222"
)

// adoptions are what stacks take over, with the parameters besides with which the template declares
// the same.
var adoptions = map[string]struct {
	of    infra.Adoption
	given map[string]string
}{
	"a table":       {infra.Adoption{Table: "shop-Table-1", Namespace: "default", Protected: true}, nil},
	"unprotected":   {infra.Adoption{Table: "shop-Table-1", Namespace: "shop"}, map[string]string{"DeletionProtection": "off"}},
	"its key":       {infra.Adoption{Table: "shop-Table-1", Namespace: "shop", Protected: true, Key: anyKey}, nil},
	"a foreign key": {infra.Adoption{Table: "shop-Table-1", Namespace: "shop", Protected: true, Kms: anyKey, Bucket: "shop-bucket"}, nil},
	"all":           {infra.Adoption{Table: "shop-Table-1", Namespace: "shop", Protected: true, Key: anyKey, PayloadKey: anyPayloadKey, Bucket: "shop-bucket"}, nil},
}

// The template of an adoption is a part of the template: each resource has its logical id, its type
// and its properties, but for the functions and the logs in the policies of keys. So an update to
// the template changes nothing else. What is imported has to stay, and there may be no outputs.
func TestAdoption(t *testing.T) {
	t.Parallel()
	for name, c := range adoptions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := c.of.Template()
			if err != nil {
				t.Fatal(err)
			}
			var sections map[string]any
			if err := yaml.Unmarshal([]byte(text), &sections); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if got := slices.Sorted(maps.Keys(sections)); !slices.Equal(got, []string{"AWSTemplateFormatVersion", "Description", "Metadata", "Parameters", "Resources"}) {
				t.Errorf("the template has the sections %q", got)
			}
			given := maps.Clone(c.given)
			if given == nil {
				given = map[string]string{}
			}
			for _, p := range c.of.Parameters() {
				name, value, _ := strings.Cut(p, "=")
				given[name] = value
			}
			whole := load(t, filepath.Join("sam", "template.yaml"), "shop", given)
			part := read(t, text+"\nGlobals: { Function: {} }\n", "shop", nil)
			for name, value := range part.parameters {
				if whole.parameters[name] != value {
					t.Errorf("the parameter %s is %q, and the deployment is to have %q", name, value, whole.parameters[name])
				}
			}
			if len(part.parameters) != len(c.of.Parameters()) {
				t.Errorf("the parameters are %v", part.parameters)
			}
			for id, r := range part.resources {
				declared := whole.resources[id]
				if declared == nil || declared["Type"] != r["Type"] || r["Condition"] != nil || r["DeletionPolicy"] != "Retain" || r["UpdateReplacePolicy"] != "Retain" {
					t.Errorf("%s is %v, and the template has %v", id, r, declared)
					continue
				}
				want := whole.value(whole.properties(id))
				if r["Type"] == "AWS::KMS::Key" {
					policy := want.(map[string]any)["KeyPolicy"].(map[string]any)
					policy["Statement"] = policy["Statement"].([]any)[:1]
				}
				if diff := gocmp.Diff(want, part.value(part.properties(id))); diff != "" {
					t.Errorf("%s differs (- the template, + what is adopted):\n%s", id, diff)
				}
			}
			testImported(t, c.of, part)
		})
	}
}

// testImported checks that each resource of the template is imported, and by what.
func testImported(t *testing.T, of infra.Adoption, part *template) {
	t.Helper()
	listed, err := of.Resources()
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		ResourceType       string
		LogicalResourceID  string `json:"LogicalResourceId"`
		ResourceIdentifier map[string]string
	}
	if err := json.Unmarshal([]byte(listed), &all); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{"Table": {"TableName": "shop-Table-1"}}
	if of.Key != "" {
		want["Key"] = map[string]string{"KeyId": "1111"}
	}
	if of.PayloadKey != "" {
		want["PayloadKey"] = map[string]string{"KeyId": "2222"}
	}
	if of.Bucket != "" {
		want["PayloadBucket"], want["PayloadBucketPolicy"] = map[string]string{"BucketName": "shop-bucket"}, map[string]string{"Bucket": "shop-bucket"}
	}
	got := map[string]map[string]string{}
	for _, one := range all {
		got[one.LogicalResourceID] = one.ResourceIdentifier
		if part.resources[one.LogicalResourceID]["Type"] != one.ResourceType {
			t.Errorf("%s is imported as %s", one.LogicalResourceID, one.ResourceType)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" || len(got) != len(part.resources) {
		t.Errorf("of %d resources these are imported (- want, + got):\n%s", len(part.resources), diff)
	}
}

// What an adoption takes over is everything in the template that stays when a stack is deleted.
func TestAdoptionIsWhole(t *testing.T) {
	t.Parallel()
	all := adoptions["all"]
	text, err := all.of.Template()
	if err != nil {
		t.Fatal(err)
	}
	part := read(t, text+"\nGlobals: { Function: {} }\n", "shop", nil)
	for id, r := range load(t, filepath.Join("sam", "template.yaml"), "shop", map[string]string{"Kms": "create", "PayloadKeys": "create", "Bucket": "create"}).resources {
		if stays := r["DeletionPolicy"] != nil; stays != (part.resources[id] != nil) {
			t.Errorf("%s stays: %t, and is adopted: %t", id, stays, part.resources[id] != nil)
		}
	}
}
