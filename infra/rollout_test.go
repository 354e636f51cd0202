package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/infra"
	"github.com/seed-41655fb1/weft/proof/privilege"
)

// rolled reads the template with this rollout, and with a task queue.
func rolled(t *testing.T, rollout string, more map[string]string) *template {
	t.Helper()
	text, err := infra.SAMWith("reports")
	if err != nil {
		t.Fatal(err)
	}
	parameters := map[string]string{"Pinning": "on", "Build": "b1", "Rollout": rollout}
	maps.Copy(parameters, more)
	return read(t, text, "weft", parameters)
}

// rolledOut has what is rolled out: the functions that run code of workflows and activities.
var rolledOut = []string{"weft-activity", "weft-api", "weft-tasks-reports", "weft-workflow"}

// Whatever calls a function with code of workflows or activities calls it by the alias, which is at
// the function's version. Without a rollout nothing does, and there is no alias.
func TestRolledOutFunctionsAreCalledByTheAlias(t *testing.T) {
	t.Parallel()
	for _, rollout := range []string{"off", "all-at-once", "canary", "linear"} {
		for _, api := range []string{"http", "rest"} {
			c := rolled(t, rollout, map[string]string{"Api": api})
			d := declaredByTemplate(t, map[string]string{"Pinning": "on", "Build": "b1", "Rollout": rollout, "Api": api}, "reports")
			suffix, want := ":live", rolledOut
			if rollout == "off" {
				suffix, want = "", nil
			}
			var aliases, asking []string
			for _, id := range c.of("AWS::Lambda::Alias") {
				p := c.value(c.properties(id)).(map[string]any)
				aliases = append(aliases, fmt.Sprint(p["FunctionName"]))
				version := c.properties(id)["FunctionVersion"].(map[string]any)["Fn::If"].([]any)[1].(map[string]any)["Fn::GetAtt"]
				if of := strings.TrimSuffix(fmt.Sprint(version), ".Version"); p["Name"] != "live" || c.value(c.properties(of)["FunctionName"]) != p["FunctionName"] {
					t.Errorf("%s: the alias of %s is %s, at %s", rollout, p["FunctionName"], p["Name"], version)
				}
			}
			for name, f := range samFunctions(t, "weft", map[string]string{"Pinning": "on", "Build": "b1", "Rollout": rollout}, "reports") {
				if of := f.variables["WEFT_ROLLOUT"]; of != "" {
					asking = append(asking, "weft-"+name)
					if of != "weft-workflow" {
						t.Errorf("%s: %s asks for the alias of %s", rollout, name, of)
					}
				}
				if probed := f.variables["WEFT_PROBE"]; name == "timer" && probed != "weft-api"+suffix {
					t.Errorf("%s: the probe goes to %s", rollout, probed)
				}
			}
			slices.Sort(aliases)
			slices.Sort(asking)
			if !slices.Equal(aliases, want) || !slices.Equal(asking, want) {
				t.Errorf("%s: %q have an alias, and %q know of it; want %q", rollout, aliases, asking, want)
			}
			called := map[string]any{}
			for _, kind := range []string{"AWS::Lambda::EventSourceMapping", "AWS::Lambda::Permission"} {
				for _, name := range d.of(kind) {
					called[name] = at(t, d[name], "FunctionName")
				}
			}
			for _, name := range d.of("AWS::ApiGatewayV2::Integration") {
				called[name] = at(t, d[name], "IntegrationUri")
			}
			for _, name := range d.of("AWS::ApiGateway::Method") {
				called[name] = strings.TrimSuffix(at(t, d[name], "Integration", "Uri").(string), "/invocations")
			}
			found := 0
			for by, name := range called {
				of := fmt.Sprint(name)
				for _, function := range rolledOut {
					if plain := strings.TrimSuffix(of, ":live"); strings.HasSuffix(plain, function) {
						found++
						if of != plain+suffix {
							t.Errorf("%s: %s calls %s", rollout, by, of)
						}
					}
				}
			}
			if methods := map[string]int{"http": 1, "rest": 3}[api]; found != 4+1+methods { // queues, permission, API
				t.Errorf("%s: functions are called by %d of %v", rollout, found, called)
			}
		}
	}
}

// CodeDeploy moves the alias of each function in a group with the function's name, with alarms that
// exist, at most ten of them, and none on load.
func TestDeploymentGroups(t *testing.T) {
	t.Parallel()
	for rollout, config := range map[string]string{
		"off": "", "all-at-once": "LambdaAllAtOnce", "canary": "LambdaCanary10Percent15Minutes", "linear": "LambdaLinear10PercentEvery2Minutes",
	} {
		for _, probe := range []string{"on", "off"} {
			c := rolled(t, rollout, map[string]string{"Probe": probe})
			alarms := map[string]bool{}
			for _, id := range c.of("AWS::CloudWatch::Alarm") {
				alarms[c.name(id)] = true
			}
			var groups []string
			for _, id := range c.of("AWS::CodeDeploy::DeploymentGroup") {
				p := c.value(c.properties(id)).(map[string]any)
				name := p["DeploymentGroupName"].(string)
				groups = append(groups, name)
				want(t, rollout+": the configuration of "+name, p["DeploymentConfigName"], "CodeDeployDefault."+config)
				want(t, rollout+": the application of "+name, p["ApplicationName"], "weft")
				var watched []string
				if of, ok := p["AlarmConfiguration"].(map[string]any); ok {
					for _, one := range of["Alarms"].([]any) {
						watched = append(watched, strings.TrimPrefix(at(t, one, "Name").(string), "weft-"))
					}
				}
				slices.Sort(watched)
				var expected []string
				if rollout != "all-at-once" {
					own := "errors-activity"
					if name == "weft-tasks-reports" {
						own = "errors-tasks-reports"
					}
					expected = []string{"api-failures", "errors-api", "errors-workflow", own, "no-progress", "stuck-runs"}
					if probe == "on" {
						expected = append(expected, "probe")
					}
					slices.Sort(expected)
				}
				if diff := gocmp.Diff(expected, watched); diff != "" {
					t.Errorf("%s: the alarms of %s (- want, + got):\n%s", rollout, name, diff)
				}
				for _, alarm := range watched {
					if !alarms["weft-"+alarm] {
						t.Errorf("%s: there is no alarm %s, which %s watches", rollout, alarm, name)
					}
				}
				const most = 10
				if len(watched) > most {
					t.Errorf("%s: %s watches %d alarms, and CodeDeploy allows %d", rollout, name, len(watched), most)
				}
			}
			slices.Sort(groups)
			if rollout != "off" && !slices.Equal(groups, rolledOut) || rollout == "off" && len(groups) > 0 {
				t.Errorf("%s: the groups are %q", rollout, groups)
			}
			for _, id := range c.of("AWS::Lambda::Alias") {
				policy, moved := c.value(c.resources[id]["UpdatePolicy"]).(map[string]any)
				if moved != (rollout != "all-at-once") {
					t.Errorf("%s: CodeDeploy moves the alias %s: %t", rollout, id, moved)
				}
				if moved {
					want(t, rollout+": the group that moves "+id, at(t, policy, "CodeDeployLambdaAliasUpdate", "DeploymentGroupName"), c.value(c.properties(id)["FunctionName"]))
					want(t, rollout+": its application", at(t, policy, "CodeDeployLambdaAliasUpdate", "ApplicationName"), "weft")
				}
			}
		}
	}
}

// CodeDeploy's role may move the aliases of the functions that are rolled out, read alarms, and
// nothing else. Only CodeDeploy may act with it.
func TestRolloutRole(t *testing.T) {
	t.Parallel()
	c := rolled(t, "canary", nil)
	p := c.properties("RolloutRole")
	trusted, err := privilege.ParseTrust(c.value(p["AssumeRolePolicyDocument"]))
	if err != nil || !slices.Equal(trusted, []string{"codedeploy.amazonaws.com"}) {
		t.Errorf("%q may act with the role: %v", trusted, err)
	}
	var r privilege.Role
	c.policies(p["Policies"], &r)
	var got, expected []string
	for _, s := range r.Statements {
		for _, action := range s.Actions {
			for _, resource := range s.Resources {
				got = append(got, action+" "+resource)
			}
		}
	}
	for _, action := range []string{"GetAlias", "GetProvisionedConcurrencyConfig", "UpdateAlias"} {
		for _, name := range rolledOut {
			function := "lambda:" + action + " arn:aws:lambda:us-east-1:000000000000:function:" + name
			expected = append(expected, function, function+":live")
		}
	}
	expected = append(expected, "cloudwatch:DescribeAlarms *")
	slices.Sort(got)
	slices.Sort(expected)
	if diff := gocmp.Diff(expected, got); diff != "" {
		t.Errorf("CodeDeploy may (- want, + got):\n%s", diff)
	}
}

// Terraform makes the alias and never moves it: weft rollout does.
func TestTerraformLeavesTheAlias(t *testing.T) {
	t.Parallel()
	_, block, _ := strings.Cut(moduleText(t), "resource \"aws_lambda_alias\" \"live\" {\n")
	block, _, found := strings.Cut(block, "\n}\n")
	if !found || !strings.Contains(block, "ignore_changes = [function_version, routing_config]\n") {
		t.Errorf("an apply would move the alias, or end what moves it:\n%s", block)
	}
}
