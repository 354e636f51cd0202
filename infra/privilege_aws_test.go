//go:build aws

package infra_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/proof/privilege"
)

// namespace is the namespace of these tests' deployment. It is not the default one.
const namespace = "shop"

// Each role allows the requests of its function to AWS, and nothing else: no unused request, no
// request that only another function makes, and nothing in another namespace or another stack.
func TestRightsAreWhatFunctionsUse(t *testing.T) {
	t.Parallel()
	stack := newStack()
	functions := samFunctions(t, stack, map[string]string{"Chain": "off", "Pinning": "on", "Build": "build-2", "Rollout": "canary", "Redrive": "on", "Namespace": namespace, "LongTimer": "2s", "WebhookHosts": "*", "ActivityVisibility": "43200", "ActivityRate": "1000"})
	uses := everything(t, stack, functions)
	kinds := map[string][]privilege.Use{}
	for name, all := range uses {
		kinds[name] = privilege.Kinds(all)
	}
	for _, name := range roleNames(functions) {
		t.Run(name, func(t *testing.T) {
			r := functions[name].Role
			for _, finding := range findings(t, r, uses, stack) {
				t.Error(finding)
			}
			for what, changed := range changes(r) {
				if len(findings(t, changed, kinds, stack)) == 0 {
					t.Errorf("a mistake is not found: %s", what)
				}
			}
		})
	}
}

// everything runs each function through all its work, and returns the requests of each.
func everything(t *testing.T, stack string, functions map[string]function) map[string][]privilege.Use {
	t.Helper()
	d := deploy(t, stack, functions)
	v := &traveller{}
	for _, role := range []adapter.Role{adapter.API, adapter.Workflow, adapter.Activity} {
		d.start(role, nil, v.registrations()...)
	}
	d.start(adapter.Timer, nil)
	d.runSecret(v)
	d.runBefore(v)
	d.runDeadLetters(v)
	d.runGhosts()
	d.deliver()
	d.runWalks(v)
	d.runRequests()
	d.runPinned(v)
	d.runAfterwards()
	d.runSweep()
	d.tidy()
	uses := map[string][]privilege.Use{}
	for name, recorder := range d.recorded {
		uses[name] = recorder.Uses()
		for _, err := range recorder.Errs() {
			t.Errorf("%s: %v", name, err)
		}
		if testing.Verbose() {
			t.Logf("%s: %v", name, uses[name])
		}
	}
	return uses
}

// findings returns all errors in the permissions of a role.
func findings(t *testing.T, r privilege.Role, uses map[string][]privilege.Use, stack string) (all []string) {
	t.Helper()
	missing, err := privilege.Missing(r, uses[r.Name])
	for _, u := range missing {
		all = append(all, "the function makes a request that its role does not allow: "+u.String())
	}
	if err == nil {
		var unused []privilege.Statement
		unused, err = privilege.Unused(r, uses[r.Name])
		for _, part := range unused {
			all = append(all, "the role allows a request that the function never makes: "+privilege.Text(part))
		}
	}
	if err == nil {
		var foreign []privilege.Use
		foreign, err = privilege.Foreign(r, uses)
		for _, u := range foreign {
			all = append(all, "the role allows a request that only other functions make: "+u.String())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return append(all, outside(t, r, uses, stack)...)
}

// outside returns what a role allows in another namespace, or in another stack.
func outside(t *testing.T, r privilege.Role, uses map[string][]privilege.Use, stack string) (all []string) {
	t.Helper()
	for _, used := range uses {
		for _, u := range used {
			for _, elsewhere := range []privilege.Use{inNamespace(u, "other"), inNamespace(u, namespace+"-2"), inStack(u, stack)} {
				allowed, err := privilege.Allowed(r.Statements, elsewhere.Request())
				if err != nil {
					t.Fatal(err)
				}
				same := elsewhere.Resource == u.Resource && slices.Equal(elsewhere.Keys, u.Keys) // a scan has no namespace
				if allowed && !same {
					all = append(all, "the role allows a request outside its own part: "+elsewhere.String())
				}
			}
		}
	}
	return all
}

// inNamespace returns a use of the same items, or of the same object, in another namespace.
func inNamespace(u privilege.Use, other string) privilege.Use {
	if strings.HasPrefix(u.Resource, "arn:aws:s3:") {
		u.Resource = strings.Replace(u.Resource, "/"+namespace+"/", "/"+other+"/", 1)
	}
	u.Keys = slices.Clone(u.Keys)
	for i, key := range u.Keys {
		u.Keys[i] = other + strings.TrimPrefix(key, namespace)
	}
	return u
}

// inStack returns the same use in another stack.
func inStack(u privilege.Use, stack string) privilege.Use {
	u.Resource = strings.Replace(u.Resource, stack, "other", 1)
	return u
}

// changes returns roles that differ from one by a single mistake: the test has to find each.
func changes(r privilege.Role) map[string]privilege.Role {
	all := map[string]privilege.Role{}
	add := func(what string, i int, change func(s *privilege.Statement)) {
		changed := r
		changed.Statements = slices.Clone(r.Statements)
		change(&changed.Statements[i])
		all[r.Statements[i].Sid+what] = changed
	}
	for i, s := range r.Statements {
		if _, byAWS := privilege.ByAWS[s.Sid]; byAWS {
			continue
		}
		for j, action := range s.Actions {
			add(" without "+action, i, func(s *privilege.Statement) { s.Actions = slices.Delete(slices.Clone(s.Actions), j, j+1) })
		}
		for j, resource := range s.Resources {
			add(" without "+resource, i, func(s *privilege.Statement) { s.Resources = slices.Delete(slices.Clone(s.Resources), j, j+1) })
		}
		add(" with an action more", i, func(s *privilege.Statement) { s.Actions = append(slices.Clone(s.Actions), "dynamodb:GetItem") })
		add(" with a resource more", i, func(s *privilege.Statement) {
			s.Resources = append(slices.Clone(s.Resources), "arn:aws:sqs:us-east-1:1:x")
		})
		add(" without conditions", i, func(s *privilege.Statement) { s.Conditions = nil })
		if len(s.Conditions) == 0 {
			delete(all, s.Sid+" without conditions")
		}
		for _, other := range r.Statements {
			if !slices.Equal(other.Resources, s.Resources) {
				add(" with the resources of "+other.Sid, i, func(s *privilege.Statement) { s.Resources = other.Resources })
			}
		}
	}
	return all
}
