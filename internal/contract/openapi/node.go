package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// refPrefix begins a reference to a schema of the document.
const refPrefix = "#/components/schemas/"

func reference(name string) *yaml.Node { return object("$ref", refPrefix+name) }

// otherValue matches texts that readers of YAML 1.1 take for truth values and numbers, as most of
// those in Python do.
var otherValue = regexp.MustCompile(`^(?i:yes|no|on|off|=|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

// scalar returns a text. Readers of YAML differ about other line breaks than \n, about control
// characters, about spaces before the first line, and about some words, so a text with them is
// quoted.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	unusual := func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff')
	}
	switch {
	case strings.ContainsFunc(text, unusual), otherValue.MatchString(text):
		n.Style = yaml.DoubleQuotedStyle
	case !strings.Contains(text, "\n"):
	case strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n"):
		n.Style = yaml.DoubleQuotedStyle
	default:
		n.Style = yaml.LiteralStyle
	}
	return n
}

// key returns the name of a member. One of several lines has to be quoted.
func key(name string) *yaml.Node {
	n := scalar(name)
	if n.Style == yaml.LiteralStyle {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// truth returns a truth value.
func truth(value bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(value)}
}

// list returns a list. Texts and numbers are on one line.
func list(all ...*yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: all}
	if len(all) > 0 && !slices.ContainsFunc(all, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }) {
		n.Style = yaml.FlowStyle
	}
	return n
}

// object returns an object of names and values in turn. A value is a text or a node.
func object(members ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(members); i += 2 {
		name, _ := members[i].(string)
		value, ok := members[i+1].(*yaml.Node)
		if !ok {
			text, _ := members[i+1].(string)
			value = scalar(text)
		}
		n.Content = append(n.Content, key(name), value)
	}
	return n
}

// members yields the members of an object in their order, and nothing for another node.
func members(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// get returns the node below n at these names, or nil.
func get(n *yaml.Node, path ...string) *yaml.Node {
	for _, want := range path {
		var found *yaml.Node
		for name, child := range members(n) {
			if name == want {
				found = child
				break
			}
		}
		n = found
	}
	return n
}

// set sets a member of an object. A new one is the last.
func set(n *yaml.Node, name string, value *yaml.Node) {
	if n.Style&yaml.FlowStyle != 0 && value.Kind != yaml.ScalarNode {
		n.Style &^= yaml.FlowStyle
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, key(name), value)
}

// del removes a member of an object.
func del(n *yaml.Node, name string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return
		}
	}
}

func clone(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Content = nil
	for _, child := range n.Content {
		c.Content = append(c.Content, clone(child))
	}
	return &c
}

// same reports whether two nodes have the same content.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// removeComments removes the comments of a document.
func removeComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, child := range n.Content {
		removeComments(child)
	}
}

// removeExamples removes the examples of requests and answers below a node.
func removeExamples(n *yaml.Node) {
	for name, child := range members(n) {
		if name == "content" {
			for _, typ := range members(child) {
				del(typ, "examples")
			}
			continue
		}
		removeExamples(child)
	}
}

// removeParameter removes a parameter of a path from those of an operation or of a path item.
func removeParameter(n *yaml.Node, name string) {
	all := get(n, "parameters")
	if all == nil {
		return
	}
	var rest []*yaml.Node
	for _, p := range all.Content {
		if in, is := get(p, "in"), get(p, "name"); in == nil || is == nil || in.Value != "path" || is.Value != name {
			rest = append(rest, p)
		}
	}
	if all.Content = rest; len(rest) == 0 {
		del(n, "parameters")
	}
}

// fromJSON returns the node of a value that encodes itself as JSON. The members keep their order.
func fromJSON(v json.Marshaler) *yaml.Node {
	text, err := v.MarshalJSON()
	if err != nil {
		panic(err) // plain data
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return nodeOf(d)
}

// nodeOf returns the node of the next value of a text that was just encoded.
func nodeOf(d *json.Decoder) *yaml.Node {
	token, _ := d.Token() // the text is JSON
	switch token := token.(type) {
	case json.Delim:
		var all []*yaml.Node
		for d.More() { // the names of members are values, too
			all = append(all, nodeOf(d))
		}
		_, _ = d.Token()
		if token == '[' {
			return list(all...)
		}
		n := object()
		for i := 0; i+1 < len(all); i += 2 {
			n.Content = append(n.Content, key(all[i].Value), all[i+1])
		}
		return n
	case string:
		return scalar(token)
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(token.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: token.String()}
	case bool:
		return truth(token)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// camel joins words as CamelCase of ASCII letters and digits. It begins with a letter.
func camel(words ...string) string {
	var b strings.Builder
	for _, word := range words {
		up := true
		for _, r := range word {
			if !letter(r) && (r < '0' || r > '9') {
				up = true
				continue
			}
			if up {
				r = unicode.ToUpper(r)
			}
			up = false
			b.WriteRune(r)
		}
	}
	name := b.String()
	if name == "" || !letter(rune(name[0])) {
		return "X" + name
	}
	return name
}

// lower returns a name with a small first letter.
func lower(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// modelName returns what is the same for all names of which a generator may make the same type or
// the same file: it separates words in its own way. OrderStart and order_start are one.
func modelName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 128 && letter(r):
			return unicode.ToLower(r)
		case r >= '0' && r <= '9':
			return r
		}
		return -1
	}, name)
}

// isObject reports whether a schema is one of objects, of which generators make a type.
func isObject(n *yaml.Node) bool {
	typ := get(n, "type")
	return get(n, "properties") != nil || typ != nil && (typ.Value == "object" || slices.ContainsFunc(typ.Content, func(n *yaml.Node) bool { return n.Value == "object" }))
}

// inline returns the names, by modelName, of the types that generators make of the parts of a
// schema: the name of the schema and the way to the part. Those of the tool openapi-python-client
// are meant.
func inline(n *yaml.Node) (names []string) {
	part := func(step string, n *yaml.Node) {
		if isObject(n) || get(n, "enum") != nil {
			names = append(names, step)
		}
		for _, name := range inline(n) {
			names = append(names, step+name)
		}
	}
	for name, schema := range members(get(n, "properties")) {
		part(modelName(name), schema)
	}
	if items := get(n, "items"); items != nil {
		part("item", items)
	}
	if values := get(n, "additionalProperties"); values != nil {
		part("additionalproperty", values)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		if all := get(n, word); all != nil {
			for i, schema := range all.Content {
				part(fmt.Sprint("type", i), schema)
			}
		}
	}
	return names
}
