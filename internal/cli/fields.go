package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/near"
)

// Shape is what a contract says about an input.
type Shape struct {
	// What names what takes the input, as "update addItem".
	What string
	// Contract has the schemas that Schema refers to.
	Contract *client.Contract
	// Schema is the schema of the input; nil if there is no input.
	Schema *client.Schema
}

// Object returns the schema of the field at a path of names, or that of the input itself, without
// references and null. It returns nil if the contract does not know the field.
func (s *Shape) Object(path ...string) *client.Schema {
	if s == nil {
		return nil
	}
	at := s.plain(s.Schema)
	for _, name := range path {
		at = s.plain(fieldOf(at, name))
	}
	return at
}

// fieldOf returns the schema of a field of an object or of a map, or nil.
func fieldOf(object *client.Schema, name string) *client.Schema {
	if object == nil {
		return nil
	}
	if field := object.Property(name); field != nil {
		return field
	}
	if more := object.AdditionalProperties; more != nil && !more.Nothing {
		return more
	}
	return nil
}

// plain follows references, and leaves null out.
func (s *Shape) plain(schema *client.Schema) *client.Schema {
	for range 100 { // references may go round
		if schema == nil || s.Contract == nil {
			return schema
		}
		_, to := s.Contract.Resolve(schema)
		rest, _ := to.Nullable()
		if rest == schema {
			return rest
		}
		schema = rest
	}
	return schema
}

// nullable reports whether a field may be null.
func (s *Shape) nullable(schema *client.Schema) bool {
	if s == nil || s.Contract == nil || schema == nil {
		return false
	}
	_, to := s.Contract.Resolve(schema)
	_, nullable := to.Nullable()
	return nullable
}

// kinds returns the JSON types that a schema accepts; none if it does not say.
func (s *Shape) kinds(schema *client.Schema, depth int) (all []string) {
	schema = s.plain(schema)
	if schema == nil || depth > 10 {
		return nil
	}
	all = append(all, schema.Type...)
	for _, list := range [][]*client.Schema{schema.AllOf, schema.AnyOf, schema.OneOf} {
		for _, one := range list {
			all = append(all, s.kinds(one, depth+1)...)
		}
	}
	return all
}

// node is a field of an input: a value, or an object with its fields in the order of the command
// line.
type node struct {
	name   string
	value  json.RawMessage
	fields []*node
}

// field returns a field of the object, or nil.
func (n *node) field(name string) *node {
	for _, f := range n.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

// text returns the JSON of the field.
func (n *node) text() json.RawMessage {
	if n.value != nil {
		return n.value
	}
	var b bytes.Buffer
	for i, f := range n.fields {
		name, _ := json.Marshal(f.name) // a string always encodes
		fmt.Fprintf(&b, "%c%s:%s", "{,"[min(i, 1)], name, f.text())
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Typed returns the input that the fields make. The shape says which values are numbers and truth
// values, and a field that it does not have is an error. If it is nil, there is no contract, and
// all values but those of JSON are texts.
func (i Input) Typed(shape *Shape) (json.RawMessage, error) {
	if shape != nil {
		if shape.Schema == nil {
			return nil, Errorf(Usage, "%s takes no input: leave -f out", shape.What)
		}
		if kinds := shape.kinds(shape.Schema, 0); len(kinds) > 0 && !slices.Contains(kinds, "object") {
			return nil, Errorf(Usage, "the input of %s has no fields: it is of type %s; give it with -d", shape.What, shape.Object())
		}
	}
	root := &node{}
	for _, given := range i.Fields {
		if err := root.set(shape, given); err != nil {
			return nil, With(Usage, fmt.Errorf("-f %s: %w", given, err))
		}
	}
	return root.text(), nil
}

// set adds a field as the command line has it.
func (n *node) set(shape *Shape, given string) error {
	left, text, ok := strings.Cut(given, "=")
	name, isJSON := strings.CutSuffix(left, ":")
	if !ok || name == "" {
		return Errorf(Usage, "give NAME=VALUE, or NAME:=JSON")
	}
	path, schema, err := shape.path(name)
	if err != nil {
		return err
	}
	for _, step := range path[:len(path)-1] {
		next := n.field(step)
		if next == nil {
			next = &node{name: step}
			n.fields = append(n.fields, next)
		}
		if next.value != nil {
			return Errorf(Usage, "%s has a value already", step)
		}
		n = next
	}
	last := path[len(path)-1]
	if n.field(last) != nil {
		return Errorf(Usage, "%s is given twice", name)
	}
	value, err := shape.value(name, schema, text, isJSON)
	if err != nil {
		return err
	}
	n.fields = append(n.fields, &node{name: last, value: value})
	return nil
}

// path splits the name of a field at its dots, and returns the schema of the field; nil if that is
// unknown. A field whose own name has dots is found by the contract.
func (s *Shape) path(name string) (path []string, schema *client.Schema, err error) {
	at := s.Object()
	for rest := name; ; {
		if at != nil && at.Property(rest) != nil {
			return append(path, rest), at.Property(rest), nil
		}
		if kinds := s.kindsOf(at); len(kinds) > 0 && !slices.Contains(kinds, "object") {
			parent := strings.Join(path, ".")
			return nil, nil, Errorf(Usage, "%s has no fields: it is of type %s", parent, at)
		}
		step, more, nested := strings.Cut(rest, ".")
		if step == "" {
			return nil, nil, Errorf(Usage, "%q is no name of a field", name)
		}
		schema = fieldOf(at, step)
		if schema == nil && s != nil && listsFields(at) {
			return nil, nil, s.unknown(path, at, step)
		}
		path = append(path, step)
		if !nested {
			return path, schema, nil
		}
		if s != nil {
			at = s.plain(schema)
		}
		rest = more
	}
}

// listsFields reports whether a schema lists all fields that the program reads. The program ignores
// others, so one that is given is a mistake.
func listsFields(object *client.Schema) bool {
	return object != nil && len(object.Properties) > 0 && len(object.AllOf)+len(object.AnyOf)+len(object.OneOf) == 0
}

// unknown returns the error about a field that an object at a path does not have.
func (s *Shape) unknown(path []string, object *client.Schema, name string) error {
	of := "the input of " + s.What
	if len(path) > 0 {
		of = strings.Join(path, ".")
	}
	names := make([]string, len(object.Properties))
	for i, p := range object.Properties {
		names[i] = p.Name
	}
	return Errorf(Usage, "%s has no field %q; it has %s%s", of, name, contract.List(names), near.Hint(name, names))
}

// kindsOf is kinds for what may have no contract.
func (s *Shape) kindsOf(schema *client.Schema) []string {
	if s == nil {
		return nil
	}
	return s.kinds(schema, 0)
}

// The numbers of JSON.
var (
	number  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
)

// value returns the value of a field: JSON, or what the schema makes of a text.
func (s *Shape) value(name string, schema *client.Schema, text string, isJSON bool) (json.RawMessage, error) {
	if isJSON {
		if err := json.Unmarshal([]byte(text), new(json.RawMessage)); err != nil {
			return nil, Errorf(Usage, "the value is no JSON: %w; %s=VALUE gives a text", err, name)
		}
		return json.RawMessage(text), nil
	}
	kinds := s.kindsOf(schema)
	has := func(kind string) bool { return slices.Contains(kinds, kind) }
	switch {
	case len(kinds) == 0, has("string"):
		quoted, _ := json.Marshal(text) // a string always encodes
		return quoted, nil
	case has("boolean") && (text == "true" || text == "false"),
		has("number") && number.MatchString(text),
		has("integer") && integer.MatchString(text),
		text == "null" && (has("null") || s.nullable(schema)):
		return json.RawMessage(text), nil
	case has("integer") && s.plain(schema).Format == "duration":
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, Errorf(Usage, "%s is of type %s, and %q is not: give a duration such as 90s or 1h30m, or nanoseconds", name, s.plain(schema), text)
		}
		return strconv.AppendInt(nil, int64(d), 10), nil
	case has("object"), has("array"):
		return nil, Errorf(Usage, "%s is of type %s: give it as %s:=JSON", name, s.plain(schema), name)
	}
	return nil, Errorf(Usage, "%s is of type %s, and %q is not", name, s.plain(schema), text)
}

// Values returns the values of a field as the command line takes them behind NAME=, if the contract
// lists them.
func (s *Shape) Values(name string) (all []string) {
	if s == nil {
		return nil
	}
	_, schema, err := s.path(name)
	at := s.plain(schema)
	if err != nil || at == nil {
		return nil
	}
	kinds := s.kindsOf(at)
	switch {
	case len(at.Enum) > 0:
		for _, value := range at.Enum {
			all = append(all, s.given(kinds, value)...)
		}
	case at.Const != nil:
		all = s.given(kinds, at.Const)
	case slices.Contains(kinds, "boolean"):
		all = []string{"true", "false"}
	}
	if len(all) > 0 && s.nullable(schema) && !slices.Contains(kinds, "string") {
		all = append(all, "null")
	}
	return all
}

// given returns how the command line gives a value of these types; nil if it cannot, as it takes
// nothing but texts for a field without a type.
func (s *Shape) given(kinds []string, value json.RawMessage) []string {
	var text string
	switch {
	case json.Unmarshal(value, &text) == nil && string(value) != "null":
		return []string{text}
	case len(kinds) > 0 && !slices.Contains(kinds, "string"):
		return []string{string(value)}
	}
	return nil
}

// Ending returns what follows the name of a field on the command line: a dot if the field has
// fields, := if it takes JSON, and otherwise =.
func (s *Shape) Ending(path ...string) string {
	field := s.Object(path...)
	kinds := s.kindsOf(field)
	switch {
	case field != nil && len(field.Properties) > 0:
		return "."
	case field != nil && len(field.Enum) > 0, slices.Contains(kinds, "string"), slices.Contains(kinds, "number"), slices.Contains(kinds, "integer"), slices.Contains(kinds, "boolean"):
		return "="
	}
	return ":="
}
