package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// examineProgram checks a program with recorded answers and these parameters.
func examineProgram(t *testing.T, a answers, p Program, set map[string]string) map[string]Finding {
	t.Helper()
	var err error
	if p.Changes, err = ReadChanges(set); err != nil {
		t.Fatal(err)
	}
	d := onAWS(a)
	found := map[string]Finding{}
	for _, f := range d.CheckProgram(t.Context(), p) {
		if _, there := found[f.Check]; !there {
			found[f.Check] = f
		}
	}
	return found
}

// with sets a variable of a function.
func (a answers) with(function, name, value string) answers {
	a["configuration "+function]["Environment"].(object)["Variables"].(object)[name] = value
	return a
}

// runningWith returns the answers of a deployment whose functions have these time-outs and
// visibilities.
func runningWith(timeout int, visibility string) answers {
	a := deployed().with("weft-workflow", "WEFT_TASK_QUEUES", "reports=http://aws.invalid/1/weft-tasks-reports")
	for _, role := range []string{"activity", "tasks-reports"} {
		a["configuration weft-"+role]["Timeout"] = timeout
	}
	for _, name := range []string{"activities", "tasks-reports"} {
		a["GetQueueAttributes weft-"+name]["Attributes"].(object)["VisibilityTimeout"] = visibility
	}
	return a
}

func TestFunctionsOfAProgram(t *testing.T) {
	t.Parallel()
	needs := func(name, queue string, seconds int) client.ActivityType {
		return client.ActivityType{Name: name, TaskQueue: queue, StartToClose: schema.Duration(time.Duration(seconds) * time.Second)}
	}
	long, slow := needs("pay", "", 90), needs("report", "reports", 90)
	local := needs("look", "", 600)
	local.Local = true
	for name, c := range map[string]struct {
		answers answers
		program Program
		set     map[string]string
		check   string
		verdict Verdict
		seen    string
		do      string
	}{
		"in time":                   {runningWith(95, "570"), Program{Activities: []client.ActivityType{long, local}}, nil, "timeout activity", OK, "95 s are enough", ""},
		"too long":                  {runningWith(94, "570"), Program{Activities: []client.ActivityType{long}}, nil, "timeout activity", Bad, "an attempt at pay may take 1m30s, and the function has 94 s", "set ActivityTimeout to 95 or more"},
		"changed":                   {runningWith(60, "720"), Program{Activities: []client.ActivityType{long}}, map[string]string{"ActivityTimeout": "120"}, "timeout activity", OK, "120 s are enough", ""},
		"changed, module":           {runningWith(60, "720"), Program{Activities: []client.ActivityType{long}}, map[string]string{"activity_timeout": "120"}, "timeout activity", OK, "120 s are enough", ""},
		"a task queue, too long":    {runningWith(60, "720"), Program{Activities: []client.ActivityType{slow}}, nil, "timeout tasks-reports", Bad, "an attempt at report may take 1m30s", "set TasksReportsTimeout to 95"},
		"a task queue, changed":     {runningWith(60, "720"), Program{Activities: []client.ActivityType{slow}}, map[string]string{"TasksReportsTimeout": "95"}, "timeout tasks-reports", OK, "95 s", ""},
		"not of this queue":         {runningWith(60, "720"), Program{Activities: []client.ActivityType{slow}}, nil, "timeout activity", OK, "60 s", ""},
		"visibility, six times":     {runningWith(60, "360"), Program{}, nil, "visibility of queue activities", OK, "360 s, with a time-out of 60 s", ""},
		"visibility, less":          {runningWith(60, "359"), Program{}, nil, "visibility of queue activities", Warn, "may become dead letters unread", "set ActivityVisibility to 360 s"},
		"visibility, too short":     {runningWith(60, "360"), Program{}, map[string]string{"ActivityTimeout": "400"}, "visibility of queue activities", Bad, "handled twice", "set ActivityVisibility to 2400 s"},
		"visibility, changed":       {runningWith(60, "360"), Program{}, map[string]string{"ActivityTimeout": "400", "ActivityVisibility": "2400"}, "visibility of queue activities", OK, "2400 s", ""},
		"visibility of timers":      {runningWith(60, "360"), Program{}, map[string]string{"WorkflowTimeout": "60"}, "visibility of queue timers", Warn, "", "set WorkflowVisibility to 360 s"},
		"task queue":                {runningWith(60, "360"), Program{TaskQueues: []string{"reports"}}, nil, "task queue reports", OK, "weft-tasks-reports is deployed", ""},
		"no task queue":             {runningWith(60, "360"), Program{TaskQueues: []string{"mail"}}, nil, "task queue mail", Bad, "does not have it", "--task-queues mail"},
		"an activity's task queue":  {runningWith(60, "360"), Program{Activities: []client.ActivityType{needs("send", "mail", 1)}}, nil, "task queue mail", Bad, "does not have it", "--set TaskQueues=mail"},
		"a new task queue":          {runningWith(60, "360"), Program{TaskQueues: []string{"mail"}}, map[string]string{"TaskQueues": "reports,mail"}, "task queue mail", OK, "comes with the deployment", ""},
		"a new task queue, long":    {runningWith(60, "360"), Program{Activities: []client.ActivityType{needs("send", "mail", 60)}}, map[string]string{"TaskQueues": "reports,mail"}, "timeout tasks-mail", Bad, "an attempt at send", "TasksMailTimeout to 65"},
		"a task queue that goes":    {runningWith(60, "360"), Program{TaskQueues: []string{"reports"}}, map[string]string{"TaskQueues": "mail"}, "task queue reports", Bad, "would not have it", "add it to TaskQueues"},
		"no queue of the name":      {runningWith(60, "360"), Program{}, map[string]string{"TasksReprotsTimeout": "90"}, "parameter tasksreprotstimeout", Bad, "no task queue has it", ""},
		"namespace":                 {runningWith(60, "360"), Program{}, nil, "namespace", OK, "it is default, as before", ""},
		"the same namespace":        {runningWith(60, "360").with("weft-workflow", "WEFT_NAMESPACE", "shop"), Program{}, map[string]string{"Namespace": "shop"}, "namespace", OK, "it is shop", ""},
		"another namespace":         {runningWith(60, "360"), Program{}, map[string]string{"namespace": "shop"}, "namespace", Bad, "with shop it would not see any run", "keep Namespace=default"},
		"the name of the stack":     {runningWith(60, "360"), Program{}, map[string]string{"Namespace": ""}, "namespace", Bad, "with weft it would not see any run", "keep Namespace=default"},
		"no pinning":                {runningWith(60, "360"), Program{}, nil, "build", OK, "not pinned", ""},
		"pinning without a build":   {runningWith(60, "360"), Program{}, map[string]string{"Pinning": "on"}, "build", Bad, "Build is empty", "--set Build=NAME"},
		"pinning, the same build":   {runningWith(60, "360").with("weft-workflow", "WEFT_PINNING", "on").with("weft-workflow", "WEFT_BUILD", "b1"), Program{}, nil, "build", Bad, "b1 is the name of a build that is deployed", ""},
		"pinning, a new build":      {runningWith(60, "360").with("weft-workflow", "WEFT_PINNING", "on").with("weft-workflow", "WEFT_BUILD", "b1"), Program{Builds: []string{"b0", "b1"}}, map[string]string{"Build": "b2"}, "build", OK, "b2 is a new name", ""},
		"pinning, an earlier build": {runningWith(60, "360").with("weft-workflow", "WEFT_PINNING", "on").with("weft-workflow", "WEFT_BUILD", "b1"), Program{Builds: []string{"b0", "b1"}}, map[string]string{"Build": "b0"}, "build", Bad, "b0 is the name", ""},
		"pinning ends":              {runningWith(60, "360").with("weft-workflow", "WEFT_PINNING", "on").with("weft-workflow", "WEFT_BUILD", "b1"), Program{}, map[string]string{"pinning": "false"}, "build", OK, "not pinned", ""},
	} {
		found := examineProgram(t, c.answers, c.program, c.set)
		f, there := found[c.check]
		if !there || f.Verdict != c.verdict || !strings.Contains(f.Seen, c.seen) || !strings.Contains(f.Do, c.do) {
			t.Errorf("%s: %+v, want %s, %q and %q in\n%v", name, f, c.verdict, c.seen, c.do, found)
		}
	}
}

// What the credentials do not allow is not checked, and says so. Functions that do not exist are
// bad.
func TestFunctionsOfAProgramWithoutRights(t *testing.T) {
	t.Parallel()
	a := runningWith(60, "360")
	for key := range a {
		if strings.HasPrefix(key, "configuration ") || strings.HasPrefix(key, "GetQueue") {
			a[key] = object{"__type": "AccessDeniedException", "message": "no"}
		}
	}
	found := examineProgram(t, a, Program{TaskQueues: []string{"reports"}}, map[string]string{"ActivityTimeout": "120"})
	for _, check := range []string{"function workflow", "timeout workflow", "visibility of queue activities"} {
		if f := found[check]; f.Verdict != Warn || !strings.HasPrefix(f.Seen, "not checked") {
			t.Errorf("%s: %+v in %v", check, f, found)
		}
	}
	for check, f := range found {
		if f.Verdict == Bad {
			t.Errorf("%s is bad: %+v", check, f)
		}
	}
	a = runningWith(60, "360")
	delete(a, "configuration weft-activity")
	if f := examineProgram(t, a, Program{}, nil)["timeout activity"]; f.Verdict != Bad || !strings.Contains(f.Seen, "does not exist") {
		t.Errorf("%+v", f)
	}
}

// Parameters that are not checked, and values that cannot be, are refused.
func TestReadChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"Memory", "512", `the parameter "Memory" is not checked: give ActivityTimeout`},
		{"ActivityTimeout", "90s", `the parameter ActivityTimeout: "90s" is no number of seconds from 1 to 900`},
		{"activity_timeout", "901", "from 1 to 900"},
		{"ActivityTimeout", "0", "from 1 to 900"},
		{"WorkflowVisibility", "43201", "from 1 to 43200"},
		{"Pinning", "yes", `"yes" is neither on nor off`},
		{"ApiTimeout", "10", "is not checked"},
	} {
		if changes, err := ReadChanges(map[string]string{c.name: c.value}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, %v", c.name, c.value, changes, err)
		}
	}
}

// A module without a namespace takes its name. So the namespace of earlier versions has to be said
// there; SAM keeps that of a stack.
func TestNamespaceOfAModule(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		deployed string
		set      map[string]string
		verdict  Verdict
		seen, do string
	}{
		"an earlier version":      {"default", nil, Warn, "it would be weft", `namespace = "default"`},
		"said":                    {"default", map[string]string{"namespace": "default"}, OK, "it is default, as before", ""},
		"of the module":           {"weft", nil, OK, "it is weft, as before", ""},
		"a name of its own":       {"shop", nil, OK, "it is shop, as before", ""},
		"no longer said":          {"shop", map[string]string{"namespace": ""}, Bad, "with weft it would not see any run", "keep Namespace=shop"},
		"the module's, as before": {"weft", map[string]string{"namespace": ""}, OK, "it is weft, as before", ""},
	} {
		d := onAWS(runningWith(60, "360").with("weft-workflow", "WEFT_NAMESPACE", c.deployed))
		d.Stack = ""
		changes, err := ReadChanges(c.set)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range d.CheckProgram(t.Context(), Program{Changes: changes}) {
			if f.Check == "namespace" && (f.Verdict != c.verdict || !strings.Contains(f.Seen, c.seen) || !strings.Contains(f.Do, c.do)) {
				t.Errorf("%s: %+v", what, f)
			}
		}
	}
}
