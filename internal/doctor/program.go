package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/queue"
)

// Program is what a program that is to be deployed needs of the functions that are to run it.
type Program struct {
	// Activities are its activity types, and TaskQueues the task queues that it names.
	Activities []client.ActivityType
	TaskQueues []string
	// Changes are the parameters that the deployment changes with the program.
	Changes Changes
	// Builds are the names of builds that are deployed.
	Builds []string
}

// Changes are values of parameters, by their names in small letters without underscores: those of
// the template and those of the module have the same.
type Changes map[string]string

// The parameters that are checked, besides those of task queues.
const (
	workflowTimeout    = "workflowtimeout"
	workflowVisibility = "workflowvisibility"
	activityTimeout    = "activitytimeout"
	activityVisibility = "activityvisibility"
	namespace          = "namespace"
	build              = "build"
	pinning            = "pinning"
	taskQueues         = "taskqueues"
)

// ofQueue matches the parameters of a task queue.
var ofQueue = regexp.MustCompile(`^tasks[a-z0-9]+(timeout|visibility)$`)

// ReadChanges reads parameters of the template or the module. The error names the ones that are
// checked.
func ReadChanges(set map[string]string) (Changes, error) {
	c := Changes{}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		key, value, err := strings.ToLower(strings.ReplaceAll(name, "_", "")), set[name], error(nil)
		switch {
		case strings.HasSuffix(key, "timeout") && (key == activityTimeout || key == workflowTimeout || ofQueue.MatchString(key)):
			err = seconds(value, 15*time.Minute)
		case strings.HasSuffix(key, "visibility") && (key == activityVisibility || key == workflowVisibility || ofQueue.MatchString(key)):
			err = seconds(value, 12*time.Hour)
		case key == pinning && !slices.Contains([]string{"on", "off", "true", "false"}, value):
			err = fmt.Errorf("%q is neither on nor off", value)
		case !slices.Contains([]string{namespace, build, pinning, taskQueues}, key):
			return nil, fmt.Errorf("the parameter %q is not checked: give ActivityTimeout, ActivityVisibility, WorkflowTimeout, WorkflowVisibility, TasksNAMETimeout, TasksNAMEVisibility, TaskQueues, Namespace, Build or Pinning", name)
		}
		if err != nil {
			return nil, fmt.Errorf("the parameter %s: %w", name, err)
		}
		c[key] = value
	}
	return c, nil
}

// seconds checks a number of seconds.
func seconds(text string, most time.Duration) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > int(most.Seconds()) {
		return fmt.Errorf("%q is no number of seconds from 1 to %.0f", text, most.Seconds())
	}
	return nil
}

// Build returns the name of the build that is deployed; empty if the changes do not say it.
func (c Changes) Build() string { return c[build] }

// number returns a parameter in seconds, or otherwise if it does not change.
func (c Changes) number(name string, otherwise int) int {
	if n, err := strconv.Atoi(c[name]); err == nil {
		return n
	}
	return otherwise
}

// prefix returns what the parameters of a queue's function begin with.
func prefix(name string) string {
	switch task, of := queue.IsForTasks(name); {
	case !of:
		return "workflow"
	case task != "":
		return "tasks" + strings.ToLower(strings.ReplaceAll(task, "-", ""))
	}
	return "activity"
}

// parameter returns a parameter of a queue's function as the template has it.
func parameter(name, what string) string {
	switch task, of := queue.IsForTasks(name); {
	case !of:
		return "Workflow" + what
	case task != "":
		text := "Tasks"
		for word := range strings.SplitSeq(task, "-") {
			if word != "" {
				text += strings.ToUpper(word[:1]) + word[1:]
			}
		}
		return text + what
	}
	return "Activity" + what
}

// CheckProgram checks whether the functions and queues suit a program that is to be deployed, with
// the parameters that change. It only reads.
func (a *AWS) CheckProgram(ctx context.Context, p Program) []Finding {
	a.open()
	var f findings
	w := variablesOf(f.configuration(ctx, a, "function workflow", "workflow"))
	if w != nil {
		f.keeps(a, namespaceOf(w), p.Changes)
		f.build(w[settings.Variable("Pinning")] == "on", w[settings.Variable("Build")], p)
	}
	there, timeouts := f.taskQueues(a, w, p), map[string]int{}
	for _, name := range queue.All(there...) {
		role := consumer(name)
		if _, known := timeouts[role]; !known {
			timeouts[role] = f.timeout(ctx, a, name, p)
		}
		f.visible(ctx, a, name, timeouts[role], p.Changes)
	}
	f.unused(there, p.Changes)
	return f
}

// configuration returns the configuration of a function; nil if it cannot be read, which is a
// finding.
func (f *findings) configuration(ctx context.Context, a *AWS, check, role string) *lambda.GetFunctionConfigurationOutput {
	name := a.Name + "-" + role
	return ask(ctx, f, check, "lambda:GetFunctionConfiguration", func(ctx context.Context) (*lambda.GetFunctionConfigurationOutput, error) {
		return a.functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	})
}

// variablesOf returns the environment of a function; nil if it is not known.
func variablesOf(c *lambda.GetFunctionConfigurationOutput) map[string]string {
	switch {
	case c == nil:
		return nil
	case c.Environment == nil:
		return map[string]string{}
	}
	return c.Environment.Variables
}

// keeps checks that a deployment keeps its part of the table. Without a value, its namespace is the
// name of the stack or of the module. SAM keeps the one of a stack, and Terraform does not.
func (f *findings) keeps(a *AWS, deployed string, c Changes) {
	const check = "namespace"
	wanted, changes := c[namespace]
	wanted = cmp.Or(wanted, a.Name)
	switch {
	case changes && wanted != deployed:
		f.bad(check, "keep Namespace="+deployed, "the deployment uses the namespace %s: with %s it would not see any run that there is", deployed, wanted)
	case !changes && a.Stack == "" && deployed == defaultNamespace && deployed != a.Name:
		f.warn(check, `set namespace = "default" in the module, and check with --set namespace=default`, "it is default, as earlier versions had it: it would be %s if the module does not say it", a.Name)
	default:
		f.ok(check, "it is %s, as before", deployed)
	}
}

// build checks that builds with pinned runs have names that differ.
func (f *findings) build(pinned bool, deployed string, p Program) {
	const check = "build"
	if value, changes := p.Changes[pinning]; changes {
		pinned = value == "on" || value == "true"
	}
	name, changes := p.Changes[build]
	if !changes {
		name = deployed
	}
	const do = "give Build a name that no build has had, and check with --set Build=NAME"
	switch {
	case !pinned:
		f.ok(check, "runs are not pinned to builds")
	case name == "":
		f.bad(check, do, "Pinning is on, and Build is empty: the functions would not start")
	case name == deployed || slices.Contains(p.Builds, name):
		f.bad(check, do, "Pinning is on, and %s is the name of a build that is deployed: runs that are pinned to it would get other code", name)
	default:
		f.ok(check, "%s is a new name", name)
	}
}

// taskQueues checks that each task queue of the program is deployed, and returns those that are.
// The variables are nil if they are not known.
func (f *findings) taskQueues(a *AWS, variables map[string]string, p Program) (there []string) {
	names := slices.Clone(p.TaskQueues)
	for _, x := range p.Activities {
		names = append(names, x.TaskQueue)
	}
	slices.Sort(names)
	deployed := map[string]bool{}
	for pair := range strings.SplitSeq(variables[settings.Variable("TaskQueues")], ",") {
		name, _, _ := strings.Cut(pair, "=")
		deployed[name] = true
	}
	wanted, changes := p.Changes[taskQueues]
	for _, name := range slices.Compact(names) {
		check := "task queue " + name
		switch {
		case name == "" || variables == nil:
		case changes && !slices.Contains(strings.Split(wanted, ","), name):
			f.bad(check, "add it to TaskQueues", "the program names it, and the deployment would not have it: activities for it would be held")
		case deployed[name]:
			f.ok(check, "%s-%s is deployed", a.Name, queue.ForTasks(name))
			there = append(there, name)
		case changes:
			f.ok(check, "it comes with the deployment")
			full := queue.ForTasks(name)
			f.longest("timeout "+full, full, name, p.Changes.number(prefix(full)+"timeout", usualTimeout), p)
		default:
			f.bad(check, "deploy it: weft template sam --task-queues "+name+", or task_queues of the module; and check with --set TaskQueues="+name,
				"the program names it, and the deployment does not have it: activities for it would be held")
		}
	}
	return there
}

// reserve is the end of a function's time, which no attempt gets.
const reserve = 5 * time.Second

// usualTimeout is the time-out of an activity function that sets none, in seconds.
const usualTimeout = 60

// timeout returns the time-out of a queue's function in seconds, and checks it with the activities
// of the program. It returns 0 if it is not known, which is a finding.
func (f *findings) timeout(ctx context.Context, a *AWS, name string, p Program) int {
	role := consumer(name)
	timeout := p.Changes.number(prefix(name)+"timeout", 0)
	if timeout == 0 {
		c := f.configuration(ctx, a, "timeout "+role, role)
		if c == nil {
			return 0
		}
		timeout = int(aws.ToInt32(c.Timeout))
	}
	if task, of := queue.IsForTasks(name); of {
		f.longest("timeout "+role, name, task, timeout, p)
	}
	return timeout
}

// longest checks that the attempts of a task queue's activities fit into its function's time.
func (f *findings) longest(check, name, task string, timeout int, p Program) {
	limit, before := time.Duration(timeout)*time.Second-reserve, len(*f)
	for _, x := range p.Activities {
		if needs := time.Duration(x.StartToClose); !x.Local && x.TaskQueue == task && needs > limit {
			f.bad(check, fmt.Sprintf("set %s to %d or more (--set), or give the activity a shorter StartToClose", parameter(name, "Timeout"), int((needs+reserve+time.Second-1)/time.Second)),
				"an attempt at %s may take %s, and the function has %d s, of which it keeps %s: its attempts would be held", x.Name, needs, timeout, reserve)
		}
	}
	if len(*f) == before {
		f.ok(check, "%d s are enough for the activities of the program", timeout)
	}
}

// visible checks the visibility of a queue with the time-out of its function, if that is known.
func (f *findings) visible(ctx context.Context, a *AWS, name string, timeout int, c Changes) {
	if timeout == 0 {
		return
	}
	check := "visibility of queue " + name
	visibility := c.number(prefix(name)+"visibility", 0)
	if visibility == 0 {
		s := f.attributes(ctx, a, check, a.fullName(name))
		if s == nil {
			return
		}
		visibility, _ = strconv.Atoi(s[string(types.QueueAttributeNameVisibilityTimeout)]) // SQS writes it as a number
	}
	if !f.visibility(check, "set "+parameter(name, "Visibility"), visibility, timeout) {
		f.ok(check, "%d s, with a time-out of %d s", visibility, timeout)
	}
}

// unused reports parameters of task queues that the deployment does not have.
func (f *findings) unused(there []string, c Changes) {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		known := slices.ContainsFunc(append(there, strings.Split(c[taskQueues], ",")...), func(name string) bool {
			return name != "" && strings.HasPrefix(key, prefix(queue.ForTasks(name)))
		})
		if ofQueue.MatchString(key) && key != taskQueues && !known {
			f.bad("parameter "+key, "correct the name: TasksReportsTimeout is that of the task queue reports", "no task queue has it")
		}
	}
}
