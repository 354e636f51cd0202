package infra_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/infra"
	"github.com/seed-41655fb1/weft/proof/privilege"
)

// allRights are the parameters with which the roles have all of their statements.
var allRights = map[string]string{
	"Tracing": "on", "Kms": "create", "Redrive": "on", "Pinning": "on", "Build": "b1", "Rollout": "canary", "PayloadKeys": "create", "Bucket": "create",
	"SubnetIds": "subnet-1", "SecurityGroupIds": "sg-1", "WebhookHosts": "*", "EventBus": "orders",
}

// allowedByRoles returns what any role of a deployment may do, for each service the actions and a
// request for each of their resources.
func allowedByRoles(t *testing.T) (actions map[string][]string, requests []privilege.Request) {
	t.Helper()
	text, err := infra.SAMWith("reports")
	if err != nil {
		t.Fatal(err)
	}
	c, found := read(t, text, "weft", allRights), map[string]map[string]bool{}
	var r privilege.Role
	for _, id := range c.of("AWS::IAM::Role") {
		c.policies(c.properties(id)["Policies"], &r)
	}
	for _, id := range c.of("AWS::IAM::Policy") {
		c.policies([]any{c.properties(id)}, &r)
	}
	for _, s := range r.Statements {
		if s.Effect != privilege.Allow {
			continue
		}
		for _, action := range s.Actions {
			service, _, _ := strings.Cut(action, ":")
			if found[service] == nil {
				found[service] = map[string]bool{}
			}
			found[service][action] = true
			for _, resource := range s.Resources {
				requests = append(requests, privilege.Request{Action: action, Resource: resource})
			}
		}
	}
	actions = map[string][]string{}
	for service, all := range found {
		actions[service] = slices.Sorted(maps.Keys(all))
	}
	return actions, requests
}

// boundaryPolicy returns a policy that allows what any role of a deployment may do, in a document.
func boundaryPolicy(t *testing.T) []string {
	t.Helper()
	actions, _ := allowedByRoles(t)
	lines := []string{"```json", "{", `  "Version": "2012-10-17",`, `  "Statement": [`}
	for i, service := range slices.Sorted(maps.Keys(actions)) {
		sid := strings.ToUpper(service[:1]) + service[1:]
		lines = append(lines, "    {", fmt.Sprintf(`      "Sid": %q, "Effect": "Allow", "Resource": "*",`, sid), `      "Action": [`)
		line := ""
		for j, action := range actions[service] {
			next := fmt.Sprintf("%q", action) + map[bool]string{true: ","}[j < len(actions[service])-1]
			if line != "" && len(line)+len(next) > 100 {
				lines, line = append(lines, "        "+line), ""
			}
			line = strings.TrimSpace(line + " " + next)
		}
		lines = append(lines, "        "+line, "      ]", "    }"+map[bool]string{true: ","}[i < len(actions)-1])
	}
	return append(lines, "  ]", "}", "```")
}

// The policy of docs/security.md suffices as a boundary: it allows what any role may do. Without
// any of its actions, it does not.
func TestBoundary(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- begin boundary -->\n```json\n")
	policy, _, found := strings.Cut(rest, "```\n<!-- end boundary -->\n")
	var document any
	if err := json.Unmarshal([]byte(policy), &document); !found || err != nil {
		t.Fatalf("docs/security.md has no policy for a boundary: %v", err)
	}
	boundary, err := privilege.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	_, requests := allowedByRoles(t)
	refused := func(by []privilege.Statement) (all []string) {
		for _, r := range requests {
			allowed, err := privilege.Allowed(by, r)
			if err != nil {
				t.Fatal(err)
			}
			if !allowed {
				all = append(all, r.Action+" on "+r.Resource)
			}
		}
		return all
	}
	if all := refused(boundary); len(all) > 0 {
		t.Errorf("the boundary does not allow what a role may do: %q", all)
	}
	for i, s := range boundary {
		for j, action := range s.Actions {
			less := slices.Clone(boundary)
			less[i].Actions = slices.Delete(slices.Clone(s.Actions), j, j+1)
			if len(less[i].Actions) > 0 && len(refused(less)) == 0 {
				t.Errorf("no role needs %s, which the boundary allows", action)
			}
		}
		if strings.HasPrefix(s.Actions[0], "iam:") || strings.HasPrefix(s.Actions[0], "sts:") {
			t.Errorf("a role within the boundary may change roles: %v", s.Actions)
		}
	}
}

// Every role of both definitions has the boundary and the path.
func TestRolesAreBounded(t *testing.T) {
	t.Parallel()
	const variant = "tasks"
	in := variants[variant]
	for what, d := range map[string]declared{
		"the template": declaredByTemplate(t, in.parameters(), in.taskQueues()...), "the module": declaredByModule(t, plans(t)[variant]),
	} {
		roles := d.of("AWS::IAM::Role")
		if len(roles) < 7 {
			t.Errorf("%s has the roles %q only", what, roles)
		}
		for _, name := range roles {
			want(t, what+": the boundary of "+name, at(t, d[name], "PermissionsBoundary"), in["permissions_boundary"])
			want(t, what+": the path of "+name, at(t, d[name], "Path"), in["role_path"])
		}
	}
}
