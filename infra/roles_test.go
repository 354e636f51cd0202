package infra_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/infra"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/privilege"
	"github.com/seed-41655fb1/weft/queue"
)

// function is a function of a deployment, with what its permissions depend on.
type function struct {
	privilege.Role
	// variables are its environment.
	variables map[string]string
}

// urlOf returns the URL of a queue from the function's environment, or "" if that has none.
func (f function) urlOf(name string) string {
	taskQueue, is := queue.IsForTasks(name)
	if !is || taskQueue == "" {
		return f.variables["WEFT_QUEUE_"+strings.ToUpper(name)]
	}
	for pair := range strings.SplitSeq(f.variables["WEFT_TASK_QUEUES"], ",") {
		if url, found := strings.CutPrefix(pair, taskQueue+"="); found {
			return url
		}
	}
	return ""
}

// samFunctions returns the functions of the SAM template by their roles, and those of task
// queues by their names. They are deployed as a stack of this name with these parameters.
func samFunctions(t testing.TB, stack string, parameters map[string]string, taskQueues ...string) map[string]function {
	t.Helper()
	text, err := infra.SAMWith(taskQueues...)
	if err != nil {
		t.Fatal(err)
	}
	c := read(t, text, stack, parameters)
	all := map[string]function{}
	for _, id := range c.of("AWS::Serverless::Function") {
		f := function{variables: c.variables(id)}
		f.Name, f.Region = f.variables["WEFT_ROLE"], lambdahost.Region
		if f.Name == "" {
			f.Name = path.Base(c.properties(id)["CodeUri"].(string))
		}
		if name, _ := strings.CutPrefix(c.name(id), stack+"-"); strings.HasPrefix(name, "tasks-") {
			f.Name = name
		}
		c.rights(id, &f.Role)
		c.surroundings(id, &f.Role)
		all[f.Name] = f
	}
	return all
}

// globals are properties that all functions have, unless they have their own.
func (c *template) globals(id, name string) any {
	if own, ok := c.properties(id)[name]; ok {
		return c.value(own)
	}
	return c.value(c.global[name])
}

// variables returns the environment of a function: that of all functions, and its own.
func (c *template) variables(id string) map[string]string {
	c.t.Helper()
	all := map[string]string{}
	for _, from := range []any{c.global["Environment"], c.properties(id)["Environment"]} {
		environment, _ := c.value(from).(map[string]any)
		variables, _ := environment["Variables"].(map[string]any)
		for name, value := range variables {
			all[name] = fmt.Sprint(value)
		}
	}
	return all
}

// rights reads the policies of a function's role.
func (c *template) rights(id string, r *privilege.Role) {
	c.t.Helper()
	properties := c.properties(id)
	role, own := properties["Role"].(map[string]any)
	if !own { // SAM makes a role of the policies, and attaches one of AWS's for logs
		r.Managed = append(r.Managed, "AWSLambdaBasicExecutionRole")
		c.policies(properties["Policies"], r)
		return
	}
	_, attribute, _ := intrinsic(role)
	roleID, _, _ := strings.Cut(attribute.(string), ".")
	properties = c.properties(roleID)
	if managed, ok := properties["ManagedPolicyArns"]; ok {
		r.Managed = append(r.Managed, c.texts(managed)...)
	}
	var err error
	if r.Trusted, err = privilege.ParseTrust(c.value(properties["AssumeRolePolicyDocument"])); err != nil {
		c.t.Fatalf("the role %s: %v", r.Name, err)
	}
	c.policies(properties["Policies"], r)
	for _, id := range c.of("AWS::IAM::Policy") {
		if p := c.properties(id); slices.Contains(c.texts(p["Roles"]), c.name(roleID)) {
			c.policies([]any{p}, r)
		}
	}
}

func (c *template) policies(v any, r *privilege.Role) {
	c.t.Helper()
	list, _ := c.value(v).([]any)
	for _, p := range list {
		document, ok := p.(map[string]any)
		if inner, wrapped := document["PolicyDocument"]; wrapped {
			document, ok = inner.(map[string]any)
		}
		if !ok {
			r.Managed = append(r.Managed, fmt.Sprint(p))
			continue
		}
		statements, err := privilege.Parse(document)
		if err != nil {
			c.t.Fatalf("the role %s: %v", r.Name, err)
		}
		r.Statements = append(r.Statements, statements...)
	}
}

// surroundings reads the statements that AWS's services need in a function's role.
func (c *template) surroundings(id string, r *privilege.Role) {
	c.t.Helper()
	for _, mapping := range c.of("AWS::Lambda::EventSourceMapping") {
		p := c.properties(mapping)
		if f := c.value(p["FunctionName"]); f == c.name(id) || f == c.attribute(id+".Arn") || f == c.attribute(id+".Arn")+":live" {
			r.Receives = append(r.Receives, c.value(p["EventSourceArn"]).(string))
		}
	}
	r.Function = lambdahost.ARN("lambda", "function:"+c.name(id))
	group := "/aws/lambda/" + c.name(id)
	if logging, _ := c.globals(id, "LoggingConfig").(map[string]any); logging["LogGroup"] != nil {
		group = logging["LogGroup"].(string)
	}
	r.LogGroup, r.Traced = lambdahost.ARN("logs", "log-group:"+group), c.globals(id, "Tracing") == "Active"
	_, r.InVPC = c.globals(id, "VpcConfig").(map[string]any)
	for _, table := range c.of("AWS::DynamoDB::Table") {
		encryption, _ := c.value(c.properties(table)["SSESpecification"]).(map[string]any)
		if key, ok := encryption["KMSMasterKeyId"].(string); ok {
			r.Key = key
		}
	}
	r.KeptInS3 = len(c.of("AWS::S3::Bucket")) > 0
}

// roleNames returns the roles of functions, sorted.
func roleNames(functions map[string]function) []string { return slices.Sorted(maps.Keys(functions)) }
