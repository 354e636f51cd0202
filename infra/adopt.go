package infra

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Adoption is what a new stack takes over from a deployment that is gone.
type Adoption struct {
	// Table is the name of the table, and Protected says whether it is protected from deletion.
	Table     string
	Protected bool
	// Namespace is that of the runs in the table.
	Namespace string
	// Key is the ARN of the key of the table, if the stack takes it over, too.
	Key string
	// Kms is the ARN of the key of the table, if it is nobody's; empty is AWS's own key.
	Kms string
	// PayloadKey is the ARN of the key of payloads that the deployment created; empty is none.
	PayloadKey string
	// Bucket is the name of the bucket of large payloads that the deployment created; empty is
	// none.
	Bucket string
}

// Template returns the template with which CloudFormation imports the resources. They are those of
// SAM, with the same logical ids and properties, but the policies of keys have the account's
// statement only. Each resource stays if its stack is deleted, as an import demands. The template
// has the parameters of SAM that must not change, because sam deploy keeps a parameter that it is
// not given. An import may not add outputs, so there are none.
func (a Adoption) Template() (string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(SAM), &document); err != nil {
		return "", err
	}
	declared := member(document.Content[0], "Resources")
	resources := &yaml.Node{Kind: yaml.MappingNode}
	for _, r := range a.resources() {
		resource := member(declared, r.LogicalResourceID)
		if resource == nil {
			return "", fmt.Errorf("the template has no resource %s", r.LogicalResourceID)
		}
		properties, err := a.resolve(member(resource, "Properties"))
		if err != nil {
			return "", fmt.Errorf("%s: %w", r.LogicalResourceID, err)
		}
		resources.Content = append(resources.Content, text(r.LogicalResourceID), mapping(
			text("Type"), text(r.ResourceType), text("DeletionPolicy"), text("Retain"), text("UpdateReplacePolicy"), text("Retain"), text("Properties"), properties,
		))
	}
	parameters := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range a.parameters() {
		parameters.Content = append(parameters.Content, text(p.name), mapping(text("Type"), text("String"), text("Default"), quoted(p.value)))
	}
	out := mapping(
		text("AWSTemplateFormatVersion"), quoted("2010-09-09"),
		text("Description"), text("What Weft left when its deployment was deleted - a new stack takes it over."),
		text("Metadata"), mapping(text("cfn-lint"), mapping(text("config"), mapping(text("ignore_checks"), &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{text("W2001")}}))),
		text("Parameters"), parameters,
		text("Resources"), resources,
	)
	out.Content[6].HeadComment = "# sam deploy keeps the value of a parameter that it is not given: these must not change."
	const wide = 500
	body, err := yaml.Dump(out, yaml.WithIndent(2), yaml.WithLineWidth(wide))
	return adoptHead + string(body), err
}

const adoptHead = `# Printed by "weft template adopt". Import it as a new stack, which sam deploy then updates.
`

// Resources returns which resource each logical id of the template stands for, as JSON for
// --resources-to-import.
func (a Adoption) Resources() (string, error) {
	all, err := json.MarshalIndent(a.resources(), "", "  ")
	return string(all) + "\n", err
}

// Parameters returns the parameters that the deployment after the import needs, as NAME=VALUE.
func (a Adoption) Parameters() (all []string) {
	for _, p := range a.parameters() {
		all = append(all, p.name+"="+p.value)
	}
	return all
}

type parameter struct{ name, value string }

func (a Adoption) parameters() []parameter {
	all := []parameter{{"Namespace", a.Namespace}, {"Kms", a.kms()}}
	if a.PayloadKey != "" {
		all = append(all, parameter{"PayloadKeys", "create"})
	}
	if a.Bucket != "" {
		all = append(all, parameter{"Bucket", "create"})
	}
	return all
}

// kms returns the value of the parameter Kms.
func (a Adoption) kms() string {
	switch {
	case a.Key != "":
		return "create"
	case a.Kms != "":
		return a.Kms
	}
	return "none"
}

// imported is a resource that exists.
type imported struct {
	ResourceType       string            `json:"ResourceType"`
	LogicalResourceID  string            `json:"LogicalResourceId"`
	ResourceIdentifier map[string]string `json:"ResourceIdentifier"`
}

// resources returns what there is to import.
func (a Adoption) resources() []imported {
	all := []imported{{"AWS::DynamoDB::Table", "Table", map[string]string{"TableName": a.Table}}}
	for _, key := range []parameter{{"Key", a.Key}, {"PayloadKey", a.PayloadKey}} {
		if _, id, ok := strings.Cut(key.value, "/"); ok {
			all = append(all, imported{"AWS::KMS::Key", key.name, map[string]string{"KeyId": id}})
		}
	}
	if a.Bucket != "" {
		all = append(all, imported{"AWS::S3::Bucket", "PayloadBucket", map[string]string{"BucketName": a.Bucket}},
			imported{"AWS::S3::BucketPolicy", "PayloadBucketPolicy", map[string]string{"Bucket": a.Bucket}})
	}
	return all
}

// later has the statements of keys that the next deployment adds. The policies of the keys that
// exist name the functions and the logs of the deployment that is gone, and an update changes only
// what differs from the template of the import.
var later = []string{"Functions", "Logs"}

// resolve returns a value of the template without conditions, parameters and anchors; nil for a
// property that is left out.
func (a Adoption) resolve(n *yaml.Node) (*yaml.Node, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return a.resolve(n.Alias)
	case n.Tag == "!If":
		holds, known := map[string]bool{"IsProtected": a.Protected, "IsEncrypted": a.kms() != "none", "MakesKey": a.Key != ""}[n.Content[0].Value]
		switch {
		case !known:
			return nil, fmt.Errorf("the condition %s is not known", n.Content[0].Value)
		case holds:
			return a.resolve(n.Content[1])
		}
		return a.resolve(n.Content[2])
	case n.Tag == "!Ref" && n.Value == "AWS::NoValue":
		return nil, nil
	case n.Tag == "!Ref" && n.Value == "Kms":
		return text(a.Kms), nil
	}
	out := *n
	out.Anchor, out.Content = "", nil
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for part := range slices.Chunk(n.Content, step) {
		if sid := member(part[0], "Sid"); sid != nil && slices.Contains(later, sid.Value) {
			continue
		}
		value, err := a.resolve(part[step-1])
		if err != nil {
			return nil, err
		}
		if value != nil {
			out.Content = append(append(out.Content, part[:step-1]...), value)
		}
	}
	return &out, nil
}

// member returns a value of a mapping; nil if it has none, or is no mapping.
func member(n *yaml.Node, name string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for pair := range slices.Chunk(n.Content, 2) {
		if pair[0].Value == name {
			return pair[1]
		}
	}
	return nil
}

func mapping(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: content}
}

func text(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

// quoted returns a text that might be read as something else without its quotes.
func quoted(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: value, Style: yaml.DoubleQuotedStyle}
}
