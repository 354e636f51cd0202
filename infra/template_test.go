package infra_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/seed-41655fb1/weft/proof/lambdahost"
)

// template is a CloudFormation template with the values of its parameters. It resolves what
// tests ask for, and fails the test if it cannot.
type template struct {
	t          testing.TB
	stack      string
	parameters map[string]any
	declared   map[string]map[string]any // the parameters, as they are declared
	mappings   map[string]any
	conditions map[string]any
	rules      map[string]any
	resources  map[string]map[string]any
	global     map[string]any // properties of all functions
}

// load reads a template, and gives its parameters these values, or their defaults.
func load(t testing.TB, path, stack string, given map[string]string) *template {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, string(text), stack, given)
}

// read does what load does, for the text of a template.
func read(t testing.TB, text, stack string, given map[string]string) *template {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	document, ok := plain(t, &n).(map[string]any)
	if !ok {
		t.Fatal("the text is not a template")
	}
	c := &template{t: t, stack: stack, parameters: map[string]any{}, declared: map[string]map[string]any{}, resources: map[string]map[string]any{}}
	for name, p := range document["Parameters"].(map[string]any) {
		c.declared[name] = p.(map[string]any)
		c.parameters[name] = c.declared[name]["Default"]
		if value, ok := given[name]; ok {
			c.parameters[name] = value
		}
	}
	c.mappings, _ = document["Mappings"].(map[string]any)
	c.conditions, _ = document["Conditions"].(map[string]any)
	c.rules, _ = document["Rules"].(map[string]any)
	c.global, _ = document["Globals"].(map[string]any)["Function"].(map[string]any)
	for id, r := range document["Resources"].(map[string]any) {
		if r := r.(map[string]any); r["Condition"] == nil || c.holds(map[string]any{"Condition": r["Condition"]}) {
			c.resources[id] = r
		}
	}
	return c
}

// plain returns a node without YAML's short forms: !Ref x is {"Ref": "x"}, and !Sub x is
// {"Fn::Sub": "x"}.
func plain(t testing.TB, n *yaml.Node) any {
	t.Helper()
	var v any
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(t, n.Content[0])
	case yaml.AliasNode:
		return plain(t, n.Alias)
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, plain(t, c))
		}
		v = list
	case yaml.MappingNode:
		object := map[string]any{}
		for pair := range slices.Chunk(n.Content, 2) {
			object[pair[0].Value] = plain(t, pair[1])
		}
		v = object
	default:
		v = n.Value
	}
	name, short := strings.CutPrefix(n.Tag, "!")
	if !short || strings.HasPrefix(name, "!") {
		return v
	}
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	return map[string]any{name: v}
}

// none is the value of AWS::NoValue: the property is missing.
type none struct{}

// value resolves a value.
func (c *template) value(v any) any {
	c.t.Helper()
	switch v := v.(type) {
	case []any:
		list := []any{}
		for _, one := range v {
			if one = c.value(one); one != (none{}) {
				list = append(list, one)
			}
		}
		return list
	case map[string]any:
		if name, arg, ok := intrinsic(v); ok {
			return c.call(name, arg)
		}
		object := map[string]any{}
		for name, one := range v {
			if one = c.value(one); one != (none{}) {
				object[name] = one
			}
		}
		return object
	}
	return v
}

func intrinsic(v map[string]any) (name string, arg any, ok bool) {
	for name, arg := range v {
		if len(v) == 1 && (name == "Ref" || strings.HasPrefix(name, "Fn::")) {
			return name, arg, true
		}
	}
	return "", nil, false
}

var placeholder = regexp.MustCompile(`\$\{([A-Za-z0-9:.]+)\}`)

func (c *template) call(name string, arg any) any {
	c.t.Helper()
	list, _ := arg.([]any)
	switch name {
	case "Ref":
		return c.ref(arg.(string))
	case "Fn::GetAtt":
		return c.attribute(arg.(string))
	case "Fn::Sub":
		return placeholder.ReplaceAllStringFunc(arg.(string), func(found string) string {
			inner := found[2 : len(found)-1]
			if strings.Contains(inner, ".") {
				return c.attribute(inner)
			}
			return fmt.Sprint(c.ref(inner))
		})
	case "Fn::Join":
		return strings.Join(c.texts(list[1]), list[0].(string))
	case "Fn::Select":
		all := c.texts(list[1])
		if i := int(number(c.t, list[0].(string))); i < len(all) {
			return all[i]
		}
		c.t.Fatalf("%v has no part %v", all, list[0])
	case "Fn::Split":
		var parts []any
		for part := range strings.SplitSeq(fmt.Sprint(c.value(list[1])), list[0].(string)) {
			parts = append(parts, part)
		}
		return parts
	case "Fn::FindInMap":
		keys := c.texts(list)
		second, _ := c.mappings[keys[0]].(map[string]any)[keys[1]].(map[string]any)
		if value, ok := second[keys[2]]; ok {
			return value
		}
		c.t.Fatalf("there is no %q", keys)
	case "Fn::If":
		if c.holds(map[string]any{"Condition": list[0]}) {
			return c.value(list[1])
		}
		return c.value(list[2])
	}
	c.t.Fatalf("the test does not know %s", name)
	return nil
}

// texts resolves a list of texts, or a text.
func (c *template) texts(v any) (all []string) {
	c.t.Helper()
	list, ok := c.value(v).([]any)
	if !ok {
		list = []any{c.value(v)}
	}
	for _, one := range list {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

// holds evaluates a condition.
func (c *template) holds(v any) bool {
	c.t.Helper()
	for name, arg := range v.(map[string]any) {
		list, _ := arg.([]any)
		switch name {
		case "Condition":
			return c.holds(c.conditions[arg.(string)])
		case "Fn::Equals":
			return fmt.Sprint(c.value(list[0])) == fmt.Sprint(c.value(list[1]))
		case "Fn::Not":
			return !c.holds(list[0])
		case "Fn::And":
			return !slices.ContainsFunc(list, func(one any) bool { return !c.holds(one) })
		case "Fn::Or":
			return slices.ContainsFunc(list, c.holds)
		}
	}
	c.t.Fatalf("the test does not know the condition %v", v)
	return false
}

// ref returns what Ref returns: a parameter, a pseudo parameter, the URL of a queue, the ARN of an
// alias, or the name of something else.
func (c *template) ref(name string) any {
	c.t.Helper()
	if value, ok := c.parameters[name]; ok {
		return value
	}
	pseudo := map[string]any{
		"AWS::StackName": c.stack, "AWS::Region": lambdahost.Region, "AWS::AccountId": lambdahost.Account,
		"AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com", "AWS::NoValue": none{},
	}
	if value, ok := pseudo[name]; ok {
		return value
	}
	if c.kind(name) == "AWS::SQS::Queue" {
		return "https://sqs." + lambdahost.Region + ".amazonaws.com/" + lambdahost.Account + "/" + c.name(name)
	}
	if c.kind(name) == "AWS::Lambda::Alias" {
		p := c.properties(name)
		return lambdahost.ARN("lambda", fmt.Sprint("function:", c.value(p["FunctionName"]), ":", p["Name"]))
	}
	return c.name(name)
}

func (c *template) kind(id string) string {
	c.t.Helper()
	r, ok := c.resources[id]
	if !ok {
		c.t.Fatalf("the template has no resource %s", id)
	}
	return r["Type"].(string)
}

func (c *template) properties(id string) map[string]any {
	c.t.Helper()
	c.kind(id)
	p, _ := c.resources[id]["Properties"].(map[string]any)
	return p
}

// name returns the name of a resource: its own, or one as CloudFormation makes it.
func (c *template) name(id string) string {
	c.t.Helper()
	given := map[string]string{
		"AWS::SQS::Queue": "QueueName", "AWS::DynamoDB::Table": "TableName", "AWS::Serverless::Function": "FunctionName",
		"AWS::Logs::LogGroup": "LogGroupName", "AWS::IAM::Role": "RoleName", "AWS::Events::Rule": "Name", "AWS::CloudWatch::Alarm": "AlarmName",
		"AWS::CodeDeploy::Application": "ApplicationName", "AWS::CodeDeploy::DeploymentGroup": "DeploymentGroupName",
	}[c.kind(id)]
	if name, ok := c.properties(id)[given]; ok {
		if name := c.value(name); name != (none{}) {
			return name.(string)
		}
	}
	if c.kind(id) == "AWS::S3::Bucket" {
		return strings.ToLower(c.stack + "-" + id)
	}
	return c.stack + "-" + id
}

// attribute returns what GetAtt returns.
func (c *template) attribute(path string) string {
	c.t.Helper()
	id, attribute, _ := strings.Cut(path, ".")
	arn := map[string]string{
		"AWS::SQS::Queue Arn":                     lambdahost.ARN("sqs", c.name(id)),
		"AWS::DynamoDB::Table Arn":                lambdahost.ARN("dynamodb", "table/"+c.name(id)),
		"AWS::Serverless::Function Arn":           lambdahost.ARN("lambda", "function:"+c.name(id)),
		"AWS::Logs::LogGroup Arn":                 lambdahost.ARN("logs", "log-group:"+c.name(id)+":*"),
		"AWS::KMS::Key Arn":                       lambdahost.ARN("kms", "key/"+c.name(id)),
		"AWS::IAM::Role Arn":                      lambdahost.ARN("iam", "role/"+c.name(id)),
		"AWS::Events::Rule Arn":                   lambdahost.ARN("events", "rule/"+c.name(id)),
		"AWS::SQS::Queue QueueName":               c.name(id),
		"AWS::Lambda::Version Version":            "1",
		"AWS::ApiGateway::RestApi RootResourceId": c.stack + "-" + path,
	}[c.kind(id)+" "+attribute]
	if arn == "" {
		c.t.Fatalf("the test does not know the attribute %s of a %s", path, c.kind(id))
	}
	return arn
}

// of returns the ids of the resources of a type, sorted.
func (c *template) of(kind string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.resources)), func(id string) bool { return c.kind(id) != kind })
}
