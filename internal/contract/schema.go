package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// refPrefix begins a reference to a schema of the document.
const refPrefix = "#/$defs/"

// Schema is a JSON Schema of draft 2020-12. Its fields are the keywords that Weft writes; More
// keeps all others, which a type's own schema may have. The zero value accepts any value.
type Schema struct {
	// Nothing is the schema false, which accepts no value. It has no keywords.
	Nothing     bool   `json:"-"`
	Ref         string `json:"$ref,omitempty"`
	Description string `json:"description,omitempty"`
	// Type lists the types of which a value has one: of null, boolean, object, array, number,
	// string and integer.
	Type                 Types             `json:"type,omitempty"`
	Format               string            `json:"format,omitempty"`
	ContentEncoding      string            `json:"contentEncoding,omitempty"`
	Const                json.RawMessage   `json:"const,omitempty"`
	Enum                 []json.RawMessage `json:"enum,omitempty"`
	Minimum              json.Number       `json:"minimum,omitempty"`
	Maximum              json.Number       `json:"maximum,omitempty"`
	MinLength            *int              `json:"minLength,omitempty"`
	MaxLength            *int              `json:"maxLength,omitempty"`
	Pattern              string            `json:"pattern,omitempty"`
	Properties           Properties        `json:"properties,omitempty"`
	Required             []string          `json:"required,omitempty"`
	AdditionalProperties *Schema           `json:"additionalProperties,omitempty"`
	PropertyNames        *Schema           `json:"propertyNames,omitempty"`
	PrefixItems          []*Schema         `json:"prefixItems,omitempty"`
	Items                *Schema           `json:"items,omitempty"`
	MinItems             *int              `json:"minItems,omitempty"`
	MaxItems             *int              `json:"maxItems,omitempty"`
	AllOf                []*Schema         `json:"allOf,omitempty"`
	AnyOf                []*Schema         `json:"anyOf,omitempty"`
	OneOf                []*Schema         `json:"oneOf,omitempty"`
	// More are the other keywords, which Weft passes on and does not interpret.
	More map[string]json.RawMessage `json:"-"`
}

// Refers returns the name in $defs of the schema that this one refers to.
func (s *Schema) Refers() (name string, ok bool) {
	if s == nil {
		return "", false
	}
	name, ok = strings.CutPrefix(s.Ref, refPrefix)
	return unescape.Replace(name), ok
}

// The escapes of JSON pointers.
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// Reference returns the schema that refers to this name in $defs.
func Reference(name string) *Schema { return &Schema{Ref: refPrefix + escape.Replace(name)} }

// Any reports whether the schema accepts any value.
func (s *Schema) Any() bool {
	if s == nil || s.Nothing {
		return false
	}
	plain := *s
	plain.Description, plain.Format = "", ""
	text, err := json.Marshal(&plain)
	return err == nil && string(text) == "{}"
}

// Property returns the schema of a field, or nil.
func (s *Schema) Property(name string) *Schema {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return s.Properties[i].Schema
		}
	}
	return nil
}

// IsRequired reports whether an object has to have this field.
func (s *Schema) IsRequired(name string) bool { return slices.Contains(s.Required, name) }

// Nullable reports whether null is one of the accepted values, and returns the schema of the
// others. It knows the forms that Weft writes: "null" among the types, and an anyOf of null and one
// more. It does not follow references.
func (s *Schema) Nullable() (rest *Schema, nullable bool) {
	if i := slices.Index(s.Type, "null"); i >= 0 && len(s.Type) > 1 {
		rest := *s
		rest.Type = slices.Delete(slices.Clone(s.Type), i, i+1)
		if j := slices.IndexFunc(rest.Enum, func(v json.RawMessage) bool { return string(v) == "null" }); j >= 0 {
			rest.Enum = slices.Delete(slices.Clone(rest.Enum), j, j+1)
		}
		return &rest, true
	}
	for _, all := range [][]*Schema{s.AnyOf, s.OneOf} {
		if len(all) != 2 {
			continue
		}
		for i := range all {
			if len(all[i].Type) == 1 && all[i].Type[0] == "null" {
				return all[1-i], true
			}
		}
	}
	return s, false
}

// Walk calls f with the schema and with each schema in it. It does not follow references.
func (s *Schema) Walk(f func(*Schema)) {
	if s == nil {
		return
	}
	f(s)
	for i := range s.Properties {
		s.Properties[i].Schema.Walk(f)
	}
	for _, one := range []*Schema{s.AdditionalProperties, s.PropertyNames, s.Items} {
		one.Walk(f)
	}
	for _, all := range [][]*Schema{s.PrefixItems, s.AllOf, s.AnyOf, s.OneOf} {
		for _, one := range all {
			one.Walk(f)
		}
	}
}

// keywords is Schema without its methods.
type keywords Schema

// MarshalJSON writes the keywords in a fixed order.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.Nothing {
		return []byte("false"), nil
	}
	text, err := plainJSON((*keywords)(s))
	if err != nil || len(s.More) == 0 {
		return text, err
	}
	more, err := plainJSON(s.More)
	if err != nil {
		return nil, err
	}
	if len(text) == len("{}") {
		return more, nil
	}
	return append(append(text[:len(text)-1], ','), more[1:]...), nil
}

// plainJSON is json.Marshal that leaves the characters of HTML as they are.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// maxDepth is how deeply schemas may be nested.
const maxDepth = 100

// UnmarshalJSON reads a schema, which may be true or false.
func (s *Schema) UnmarshalJSON(text []byte) error {
	if depth(text) > 4*maxDepth {
		return fmt.Errorf("a schema is nested more than %d deep", maxDepth)
	}
	*s = Schema{}
	switch text = bytes.TrimSpace(text); {
	case string(text) == "true":
		return nil
	case string(text) == "false":
		s.Nothing = true
		return nil
	case len(text) == 0 || text[0] != '{':
		return fmt.Errorf("a schema is an object, true or false, and not %.40s", text)
	}
	if err := json.Unmarshal(text, (*keywords)(s)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, name := range known {
		delete(all, name)
	}
	if len(all) > 0 {
		s.More = all
	}
	for _, list := range [][]*Schema{s.PrefixItems, s.AllOf, s.AnyOf, s.OneOf} {
		if slices.Contains(list, nil) {
			return errors.New("a list of schemas has null")
		}
	}
	return nil
}

// known are the keywords of Schema's fields.
var known = []string{
	"$ref", "description", "type", "format", "contentEncoding", "const", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "properties", "required",
	"additionalProperties", "propertyNames", "prefixItems", "items", "minItems", "maxItems", "allOf", "anyOf", "oneOf",
}

// depth returns how deeply a valid JSON text is nested.
func depth(text []byte) (most int) {
	var now int
	var quoted bool
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			now++
			most = max(most, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return most
}

// Types are the types of a schema. One alone is written as a string.
type Types []string

// MarshalJSON writes one type as a string, and several as a list.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// UnmarshalJSON reads a string or a list of strings.
func (t *Types) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*t = make(Types, 1)
		return json.Unmarshal(text, &(*t)[0])
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// Has reports whether a type is among them. A number has the type integer too if it is one.
func (t Types) Has(name string) bool { return slices.Contains(t, name) }

// Properties are the fields of an object, in the order of the Go type's fields.
type Properties []Property

// Property is a field of an object.
type Property struct {
	Name   string
	Schema *Schema
}

// MarshalJSON writes an object with the fields in their order.
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := plainJSON(p[i].Name)
		if err != nil {
			return nil, err
		}
		schema, err := plainJSON(p[i].Schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(schema)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object, and keeps the order of its members.
func (p *Properties) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.New("the properties of a schema are no object")
	}
	*p = Properties{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		var s *Schema
		if err := d.Decode(&s); err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
		if s == nil {
			return fmt.Errorf("property %q is null", name)
		}
		*p = append(*p, Property{name, s})
	}
	return nil
}
