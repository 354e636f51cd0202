//go:build deploycheck

package infra_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/iam"
	"github.com/seed-41655fb1/weft/internal/privilege"
)

// Terraform gives each function the rights that the SAM template gives it, and so those that it uses. The key is one that is
// there already: the ARN of one that is to be made is not known in a plan.
func TestTerraformGivesTheSameRights(t *testing.T) {
	t.Parallel()
	const key = "arn:aws:kms:us-east-1:000000000000:key/another"
	const withOlderProviders = 262144 // bytes: more are refused before 6.8
	resources := plan(t, map[string]any{
		"name": "weft", "namespace": "shop", "tracing": true, "kms": key, "max_message_size": withOlderProviders,
	})
	functions := samFunctions(t, "weft", map[string]string{"Namespace": "shop", "Tracing": "on", "Kms": key})
	for _, name := range roleNames(functions) {
		r := privilege.Role{Name: name}
		readPlanned(t, resources, &r)
		want, got := lines(functions[name].Role), lines(r)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (- SAM, + Terraform):\n%s", name, diff)
		}
	}
}

// readPlanned reads the policies that are planned for the role of a function.
func readPlanned(t *testing.T, resources []planned, r *privilege.Role) {
	t.Helper()
	for _, p := range resources {
		switch {
		case p.Type == "aws_iam_role" && p.Index == r.Name:
			var err error
			if r.Trusted, err = iam.ParseTrust(decoded(t, p.Values["assume_role_policy"])); err != nil {
				t.Fatal(err)
			}
			if managed, _ := p.Values["managed_policy_arns"].([]any); len(managed) > 0 {
				r.Managed = append(r.Managed, fmt.Sprint(managed...))
			}
		case p.Type == "aws_iam_role_policy_attachment" || p.Type == "aws_iam_policy_attachment":
			r.Managed = append(r.Managed, fmt.Sprint(p.Values["policy_arn"]))
		case p.Type == "aws_iam_role_policy" && p.Index == r.Name:
			statements, err := iam.Parse(decoded(t, p.Values["policy"]))
			if err != nil {
				t.Fatal(err)
			}
			r.Statements = append(r.Statements, statements...)
		}
	}
}

func decoded(t *testing.T, text any) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(fmt.Sprint(text)), &v); err != nil {
		t.Fatalf("a policy is %v, which is not known in the plan: %v", text, err)
	}
	return v
}

// lines are the rights of a role, one in a line. CloudFormation makes a name for the table, and Terraform is given one.
func lines(r privilege.Role) []string {
	all := []string{fmt.Sprintf("trusts %q, has %q", r.Trusted, r.Managed)}
	for _, s := range r.Statements {
		all = append(all, s.Effect+" "+strings.ReplaceAll(privilege.Text(s), "table/weft-Table", "table/weft"))
	}
	slices.Sort(all[1:])
	return all
}
