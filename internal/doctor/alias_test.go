package doctor

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// pinnedRoles are the functions that are called through the alias.
var pinnedRoles = []string{"api", "workflow", "activity", "tasks-reports"}

// rolled are the answers of a deployment that is rolled out: version 3 is called, and $LATEST was
// published as version 4. change changes it.
func rolled(change func(a answers)) answers {
	a := deployed()
	for _, role := range pinnedRoles {
		name := "weft-" + role
		a["configuration "+name]["Environment"].(object)["Variables"].(object)["WEFT_ROLLOUT"] = "weft-workflow"
		a["live "+name] = object{"FunctionVersion": "4"}
		version := func(number, build string) object {
			return object{"Version": number, "CodeSha256": build, "MemorySize": 256, "Timeout": 30, "Environment": object{"Variables": object{"WEFT_BUILD": build}}}
		}
		a["versions "+name] = object{"Versions": []object{version("$LATEST", "b2"), version("3", "b1"), version("4", "b2")}}
		if of, ok := a["mappings "+name]; ok {
			a["mappings "+name+":live"] = of
			delete(a, "mappings "+name)
		}
	}
	change(a)
	return a
}

// weighted gives a tenth of the workflow function's work to version 4.
func weighted(a answers) {
	a["live weft-workflow"] = object{"FunctionVersion": "3", "RoutingConfig": object{"AdditionalVersionWeights": object{"4": 0.1}}}
}

// latest returns $LATEST of a function.
func latest(a answers, name string) object { return a["versions "+name]["Versions"].([]object)[0] }

// Behind an alias it is the version that counts: what was changed without a new build has no
// effect, and neither has what was published if the alias was not moved.
func TestRolledOut(t *testing.T) {
	t.Parallel()
	denied := object{"__type": "AccessDeniedException", "message": "not you"}
	const check = "alias of function workflow"
	for what, c := range map[string]struct {
		change  func(a answers)
		module  bool
		verdict Verdict
		seen    string
		do      string
	}{
		"settled": {func(answers) {}, false, OK, "version 4 (b2) is called, the newest one", ""},
		"moving": {func(a answers) {
			weighted(a)
			a["ListDeployments weft-workflow"] = object{"deployments": []string{"d-1"}}
		}, false, OK, "version 3 (b1), and version 4 (b2) has 10 %; the deployment d-1 runs", ""},
		"weight is left": {func(a answers) {
			weighted(a)
			a["ListDeployments weft-workflow"] = object{"deployments": []string{}}
		}, true, Warn, "version 3 (b1), and version 4 (b2) has 10 %, though no deployment runs", "weft rollout --name weft --build b1"},
		"weight is left, no build": {func(a answers) {
			weighted(a)
			a["versions weft-workflow"]["Versions"].([]object)[1]["Environment"] = object{}
			a["ListDeployments weft-workflow"] = object{"deployments": []string{}}
		}, true, Warn, "version 3, and version 4 (b2) has 10 %, though no deployment runs", "weft rollout --name weft"},
		"weight, no application": {func(a answers) {
			weighted(a)
			a["ListDeployments weft-workflow"] = object{"__type": "ApplicationDoesNotExistException"}
		}, false, Warn, "though no deployment runs", "weft rollout --name weft --build b1"},
		"weight, no right": {func(a answers) {
			weighted(a)
			a["ListDeployments weft-workflow"] = denied
		}, false, Warn, "not checked: AccessDeniedException", "codedeploy:ListDeployments"},
		"not moved, stack":  {func(a answers) { a["live weft-workflow"]["FunctionVersion"] = "3" }, false, Warn, "version 3 (b1) is called, and the newest one is version 4 (b2)", "deploy again"},
		"not moved, module": {func(a answers) { a["live weft-workflow"]["FunctionVersion"] = "3" }, true, Warn, "version 3 (b1) is called", "weft rollout --name weft"},
		"not published": {func(a answers) {
			l := latest(a, "weft-workflow")
			l["MemorySize"], l["Timeout"], l["CodeSha256"] = 512, 60, "b3"
			l["Environment"] = object{"Variables": object{"WEFT_BUILD": "b2", "WEFT_LOG_LEVEL": "debug"}}
		}, false, Warn, "since version 4 was published has no effect: its code, its memory, its time-out, WEFT_LOG_LEVEL", "a new Build"},
		"no alias":           {func(a answers) { delete(a, "live weft-workflow") }, false, Bad, "it does not exist", "deploy"},
		"no right":           {func(a answers) { a["live weft-workflow"] = denied }, false, Warn, "AccessDeniedException", "lambda:GetAlias"},
		"no right, versions": {func(a answers) { a["versions weft-workflow"] = denied }, false, Warn, "AccessDeniedException", "lambda:ListVersionsByFunction"},
		"no versions":        {func(a answers) { a["versions weft-workflow"] = object{} }, false, Warn, "it has no version", ""},
	} {
		d := onAWS(rolled(c.change))
		if c.module {
			d.Stack = ""
		}
		var aliases []string
		for _, f := range d.Check(t.Context()) {
			if strings.HasPrefix(f.Check, "alias ") {
				aliases = append(aliases, strings.TrimPrefix(f.Check, "alias of function "))
			}
			switch {
			case f.Check == check && (f.Verdict != c.verdict || !strings.Contains(f.Seen, c.seen) || !strings.Contains(f.Do, c.do)):
				t.Errorf("%s: %+v", what, f)
			case f.Check != check && f.Verdict != OK:
				t.Errorf("%s: %+v is found, too", what, f)
			}
		}
		slices.Sort(aliases)
		if diff := gocmp.Diff([]string{"activity", "api", "tasks-reports", "workflow"}, aliases); diff != "" {
			t.Errorf("%s: the aliases that were checked (- want, + got):\n%s", what, diff)
		}
	}
}
