package infra_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/infra"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
)

// accountVariants are inputs of what an account needs once, in the words of the template.
var accountVariants = map[string]map[string]string{
	"plain":   {},
	"bounded": {"RolePath": "/apps/", "PermissionsBoundary": "arn:aws:iam::000000000000:policy/boundary"},
}

const (
	accountModule = "terraform/account/main.tf"
	accountPlans  = "testdata/account.json"
)

// keptAccount are the plans of the variants, with a hash of the module.
type keptAccount struct {
	Of    string          `json:"of"`
	Plans map[string]plan `json:"plans"`
}

// accountPlansOf returns the plans that are kept, or new ones with -replan or -fresh.
func accountPlansOf(t *testing.T) map[string]plan {
	t.Helper()
	module, err := os.ReadFile(accountModule)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(module)
	of := hex.EncodeToString(hash[:8])
	var k keptAccount
	if text, err := os.ReadFile(accountPlans); err == nil {
		if err := json.Unmarshal(text, &k); err != nil {
			t.Fatal(err)
		}
	}
	if *replan || *fresh {
		planned := planAccount(t, module)
		if *fresh {
			if diff := gocmp.Diff(k.Plans, planned); diff != "" {
				t.Errorf("%s is not what terraform plans (- kept, + planned): %s\n%s", accountPlans, howToPlan, diff)
			}
		} else {
			writeJSON(t, accountPlans, keptAccount{of, planned})
		}
		return planned
	}
	if k.Of != of {
		t.Fatalf("%s is of another %s: %s", accountPlans, accountModule, howToPlan)
	}
	return k.Plans
}

// planAccount has terraform plan the module with a mocked provider, and demands that it refuses bad
// values. The role stays: terraform refuses to destroy it.
func planAccount(t *testing.T, module []byte) map[string]plan {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), module)
	runs := map[string]any{}
	for name, given := range accountVariants {
		variables := map[string]any{}
		for parameter, value := range given {
			variables[map[string]string{"RolePath": "role_path", "PermissionsBoundary": "permissions_boundary"}[parameter]] = value
		}
		runs[name] = map[string]any{"command": "plan", "variables": variables}
		runs[name+"_again"] = runs[name]
	}
	for name, value := range map[string]string{"role_path": "apps", "permissions_boundary": "boundary"} {
		runs["bad_"+name] = map[string]any{"command": "plan", "variables": map[string]any{name: value}, "expect_failures": []string{"var." + name}}
	}
	writeJSON(t, filepath.Join(dir, "account.tftest.json"), map[string]any{
		"mock_provider": map[string]any{"aws": map[string]any{"source": "./mocks", "override_during": "plan"}}, "run": runs,
	})
	writeJSON(t, filepath.Join(dir, "mocks", "aws.tfmock.json"), map[string]any{
		"override_data": []any{map[string]any{"target": "data.aws_partition.this", "values": map[string]string{"partition": "aws"}}},
		"override_resource": []any{map[string]any{"target": "aws_iam_role.gateway_logs", "values": map[string]string{
			"name": "weft-GatewayLogsRole", "arn": lambdahost.ARN("iam", "role/weft-GatewayLogsRole"),
		}}},
	})
	initialize := []string{"init", "-input=false"}
	if *plugins != "" {
		initialize = append(initialize, "-plugin-dir="+*plugins)
	}
	terraform(t, dir, initialize...)
	drawn, all := drawnPlans(t, terraform(t, dir, "test", "-json", "-verbose")), map[string]plan{}
	for name := range accountVariants {
		if drawn[name] == nil || drawn[name+"_again"] == nil {
			t.Fatalf("terraform has not planned %s", name)
		}
		all[name] = drawn[name].common(drawn[name+"_again"])
	}
	return all
}

// What an account needs once is the same in both: a role that API Gateway may assume, with the one
// policy of AWS, and the setting that names it. Nobody takes the role away.
func TestPlansOfTheAccount(t *testing.T) {
	t.Parallel()
	planned := accountPlansOf(t)
	for name, given := range accountVariants {
		c := read(t, infra.Account+"\nGlobals: { Function: {} }\n", "weft", given)
		role, _ := c.value(c.properties("GatewayLogsRole")).(map[string]any)
		account, _ := c.value(c.properties("GatewayAccount")).(map[string]any)
		p := planned[name]
		var trust any
		if err := json.Unmarshal([]byte(p["aws_iam_role.gateway_logs"]["assume_role_policy"].(string)), &trust); err != nil {
			t.Fatal(err)
		}
		same := map[string]any{
			"Description": p["aws_iam_role.gateway_logs"]["description"], "Path": p["aws_iam_role.gateway_logs"]["path"], "AssumeRolePolicyDocument": trust,
			"ManagedPolicyArns": []any{p["aws_iam_role_policy_attachment.gateway_logs"]["policy_arn"]},
		}
		if boundary := p["aws_iam_role.gateway_logs"]["permissions_boundary"]; boundary != nil {
			same["PermissionsBoundary"] = boundary
		}
		if diff := gocmp.Diff(role, same); diff != "" {
			t.Errorf("%s: the roles differ (- sam, + terraform):\n%s", name, diff)
		}
		if got, want := p["aws_api_gateway_account.this"]["cloudwatch_role_arn"], account["CloudWatchRoleArn"]; got != want || want != lambdahost.ARN("iam", "role/weft-GatewayLogsRole") {
			t.Errorf("%s: the setting is %v in Terraform, and %v in CloudFormation", name, got, want)
		}
		if kind := c.resources["GatewayLogsRole"]; kind["DeletionPolicy"] != "Retain" || kind["UpdateReplacePolicy"] != "Retain" {
			t.Errorf("%s: deleting the stack takes the role: %v", name, kind)
		}
		if len(c.resources) != 2 || len(p) != 3 {
			t.Errorf("%s: %d resources in CloudFormation, %d in Terraform", name, len(c.resources), len(p))
		}
	}
	module, err := os.ReadFile(accountModule)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(module), "prevent_destroy = true") {
		t.Errorf("terraform destroy takes the role")
	}
}
