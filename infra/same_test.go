package infra_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/infra"
)

// declared has the properties of resources, in CloudFormation's words, by type and by what
// identifies the resource.
type declared map[string]any

// The module and the template declare the same resources, with the same properties.
func TestSame(t *testing.T) {
	t.Parallel()
	all := plans(t)
	for _, variant := range slices.Sorted(maps.Keys(variants)) {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			module, template := declaredByModule(t, all[variant]), declaredByTemplate(t, variants[variant].parameters(), variants[variant].taskQueues()...)
			if diff := gocmp.Diff(template.flat(), module.flat()); diff != "" {
				t.Errorf("infra/sam and infra/terraform differ (- sam, + terraform):\n%s", diff)
			}
		})
	}
}

// add adds a resource.
func (d declared) add(t testing.TB, kind string, properties map[string]any) {
	t.Helper()
	key := strings.TrimSpace(fmt.Sprint(kind, " ", cmp.Or(properties[identities[kind]], any(""))))
	if d[key] != nil {
		t.Fatalf("%s is there twice", key)
	}
	d[key] = properties
}

// ---- the template ----

func declaredByTemplate(t testing.TB, parameters map[string]string, taskQueues ...string) declared {
	t.Helper()
	text, err := infra.SAMWith(taskQueues...)
	if err != nil {
		t.Fatal(err)
	}
	c := read(t, text, "weft", parameters)
	all := declared{}
	var versions []string         // the functions that have one
	var policies []map[string]any // those that are separate from their roles
	for id := range c.resources {
		kind := c.kind(id)
		properties, _ := c.value(c.properties(id)).(map[string]any)
		switch kind {
		case "AWS::Serverless::Function":
			kind, properties = "AWS::Lambda::Function", c.function(id)
		case "AWS::IAM::Role":
			properties["RoleName"] = c.name(id)
		case "AWS::Lambda::Version":
			versions = append(versions, fmt.Sprint(properties["FunctionName"]))
			continue
		case "AWS::IAM::Policy":
			policies = append(policies, properties)
			continue
		}
		for _, name := range jsons {
			decodeJSON(t, properties, name)
		}
		all.add(t, kind, properties)
	}
	for _, name := range versions { // Terraform says so of the function
		all["AWS::Lambda::Function "+name].(map[string]any)["Publish"] = true
	}
	for _, p := range policies { // Terraform has one for each role
		for _, role := range p["Roles"].([]any) {
			r := all[fmt.Sprint("AWS::IAM::Role ", role)].(map[string]any)
			r["Policies"] = append(r["Policies"].([]any), map[string]any{"PolicyName": p["PolicyName"], "PolicyDocument": p["PolicyDocument"]})
		}
	}
	return all
}

// function returns a function in CloudFormation's form, with the properties that all functions
// have, and without its code.
func (c *template) function(id string) map[string]any {
	c.t.Helper()
	properties := map[string]any{}
	for _, from := range []map[string]any{c.global, c.properties(id)} {
		for name, value := range c.value(from).(map[string]any) {
			properties[name] = value
		}
	}
	variables := map[string]any{}
	for name, value := range c.variables(id) {
		variables[name] = value
	}
	properties["Environment"] = map[string]any{"Variables": variables}
	properties["TracingConfig"] = map[string]any{"Mode": properties["Tracing"]}
	delete(properties, "Tracing")
	delete(properties, "CodeUri")
	return properties
}

// ---- the module ----

func declaredByModule(t testing.TB, p plan) declared {
	t.Helper()
	all := declared{}
	parts := map[string]map[string]any{}
	for address, attributes := range p {
		if address == guard {
			continue
		}
		name, _, _ := strings.Cut(address, ".")
		k, known := kinds[name]
		if !known {
			t.Fatalf("say in kinds_test.go what %s is in CloudFormation", address)
		}
		if k.of != "" {
			parts[address] = attributes
			continue
		}
		all.add(t, k.is, k.properties(t, address, attributes))
	}
	for _, address := range slices.Sorted(maps.Keys(parts)) {
		name, _, _ := strings.Cut(address, ".")
		k, attributes := kinds[name], parts[address]
		key := k.is
		if identities[k.is] != "" {
			key = fmt.Sprint(k.is, " ", attributes[k.of])
		}
		owner, ok := all[key].(map[string]any)
		if !ok {
			t.Fatalf("%s is a part of %s, which is not there", address, key)
		}
		part := k.properties(t, address, attributes)
		switch {
		case k.in == "":
			maps.Copy(owner, part)
		case slices.Contains(lists, k.in):
			list, _ := owner[k.in].([]any)
			owner[k.in] = append(list, part)
		default:
			owner[k.in] = part
		}
	}
	return all
}

func (k kind) properties(t testing.TB, address string, attributes map[string]any) map[string]any {
	t.Helper()
	properties := k.named(t, address, attributes)
	if k.adjust != nil {
		k.adjust(properties)
	}
	return properties
}

// named returns a resource, or a block of it, with properties instead of attributes.
func (k kind) named(t testing.TB, address string, attributes map[string]any) map[string]any {
	t.Helper()
	properties := map[string]any{}
	for name, value := range attributes {
		property, known := k.names[name]
		if !known {
			t.Fatalf("say in kinds_test.go what %s of %s is in CloudFormation", name, address)
		}
		if property == "" {
			continue
		}
		list, isList := value.([]any)
		for i, one := range list {
			if block, ok := one.(map[string]any); ok {
				list[i] = k.named(t, address, block)
			}
		}
		if isList && len(list) == 1 && !slices.Contains(lists, property) {
			if block, ok := list[0].(map[string]any); ok {
				value = block
			}
		}
		if object, ok := value.(map[string]any); ok && !isList && !slices.Contains(verbatim, property) {
			value = k.named(t, address, object)
		}
		properties[property] = value
		if slices.Contains(jsons, property) {
			decodeJSON(t, properties, property)
		}
	}
	return properties
}

// ---- both ----

// decodeJSON replaces each text by its decoded value, at any depth.
func decodeJSON(t testing.TB, v any, name string) {
	t.Helper()
	object, _ := v.(map[string]any)
	for key, value := range object {
		text, isText := value.(string)
		if key != name || !isText {
			decodeJSON(t, value, name)
			continue
		}
		var decoded any
		if err := json.Unmarshal([]byte(text), &decoded); err != nil {
			t.Fatalf("%s is not JSON: %v\n%s", name, err, text)
		}
		object[key] = decoded
	}
}

// flat returns all properties, at any depth, by their places, without those that are null,
// false, zero or empty. It ignores the order of a list of texts, and of a list of objects with
// names.
func (d declared) flat() map[string]string {
	all := map[string]string{}
	for resource, properties := range d {
		all[resource] = "declared"
		flatten(all, resource+" ", properties)
	}
	return all
}

func flatten(all map[string]string, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			flatten(all, at+"."+name, one)
		}
	case []any:
		var texts []string
		for i, one := range v {
			switch one.(type) {
			case map[string]any, []any:
				flatten(all, fmt.Sprintf("%s[%v]", at, label(one, i)), one)
			default:
				texts = append(texts, fmt.Sprint(one))
			}
		}
		if len(texts) == len(v) {
			slices.Sort(texts)
		}
		flatten(all, at, strings.Join(texts, ", "))
	case float64:
		flatten(all, at, strconv.FormatFloat(v, 'f', -1, 64))
	default:
		if text := onlySAM.Replace(fmt.Sprint(v)); v != nil && text != "" && text != "false" && text != "0" {
			all[at] = text
		}
	}
}

// onlySAM has names that differ. The module gives the table and the bucket a name; the template
// leaves that to CloudFormation. It has a deployment of the REST API for each kind of
// authorization, with and without the page and the alias, because CloudFormation never replaces
// one.
var onlySAM = strings.NewReplacer("weft-Table", "weft", "weft-payloadbucket", "weft-000000000000-us-east-1-blobs", "weft-RestOpenDeployment", "weft-RestDeployment", "weft-RestSignedDeployment", "weft-RestDeployment",
	"weft-RestOpenLiveDeployment", "weft-RestDeployment", "weft-RestSignedLiveDeployment", "weft-RestDeployment", "weft-RestOpenPageLiveDeployment", "weft-RestDeployment", "weft-RestSignedPageLiveDeployment", "weft-RestDeployment",
	"weft-RestOpenPageDeployment", "weft-RestDeployment", "weft-RestSignedPageDeployment", "weft-RestDeployment")

// label returns what identifies an object in a list: its name, or else its place.
func label(v any, place int) any {
	object, _ := v.(map[string]any)
	for _, name := range []string{"Sid", "PolicyName", "Id", "IndexName", "AttributeName", "Name"} {
		if object[name] != nil {
			return object[name]
		}
	}
	return place
}
