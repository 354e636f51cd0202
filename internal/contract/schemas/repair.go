package schemas

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/check"
)

// generate returns what the library generates for a type alone: the schemas of the types in it are
// empty, unless they are basic types or lists of those.
func generate(t reflect.Type) (schema *contract.Schema, err error) {
	defer func() {
		if value := recover(); value != nil { // from a method of the type
			schema, err = nil, fmt.Errorf("the schema of %s cannot be generated: %v", t, value)
		}
	}()
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, AllowAdditionalProperties: true}
	r.Mapper = func(inner reflect.Type) *jsonschema.Schema {
		if inner != t && !basic(inner) {
			return &jsonschema.Schema{}
		}
		return nil
	}
	text, err := json.Marshal(r.ReflectFromType(t))
	if err != nil {
		return nil, fmt.Errorf("the schema of %s cannot be written: %w", t, err)
	}
	schema = &contract.Schema{}
	return schema, json.Unmarshal(text, schema)
}

// basic reports whether the library's schema of a type has no parts of other types.
func basic(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Slice, reflect.Array:
		return t.Name() == "" && basic(t.Elem())
	default:
		return false
	}
}

// repair returns the schema of a shape, from what the library generated for its type. It has no
// keyword that the checker does not check.
func (s *Set) repair(shape *check.Shape, base *contract.Schema, lenient bool) (*contract.Schema, error) {
	r := &contract.Schema{Description: base.Description}
	var err error
	switch shape.Kind {
	case check.Any, check.Raw, check.Own:
		return r, nil
	case check.Never:
		return &contract.Schema{Nothing: true}, nil
	case check.Null:
		r.Type = contract.Types{"null"}
	case check.Bool:
		r.Type = contract.Types{"boolean"}
	case check.String:
		r.Type = contract.Types{"string"}
	case check.Text:
		r.Type, r.Format = contract.Types{"string"}, textFormat(shape.Type)
	case check.Time:
		r.Type, r.Format = contract.Types{"string"}, "date-time"
	case check.Bytes:
		r.Type, r.ContentEncoding = contract.Types{"string"}, "base64"
	case check.Int, check.Uint:
		r.Type = contract.Types{"integer"}
		bound(r, shape)
	case check.Float, check.Number:
		r.Type = contract.Types{"number"}
		if shape.Kind == check.Float && shape.Bits == 32 {
			r.Format = "float"
		}
	case check.List, check.Array:
		r.Type = contract.Types{"array"}
		if shape.Kind == check.Array {
			r.MinItems, r.MaxItems = &shape.Length, &shape.Length
		}
		r.Items, err = s.schema(shape.Elem, orEmpty(base.Items), lenient)
	case check.Map:
		r.Type, r.PropertyNames = contract.Types{"object"}, names(shape.Key)
		r.AdditionalProperties, err = s.schema(shape.Elem, nil, lenient) // also that of any value: an object without it is an empty struct
	case check.Struct:
		r.Type = contract.Types{"object"}
		err = s.fields(r, shape, base, lenient)
	}
	if err != nil {
		return nil, err
	}
	if shape.Quoted {
		quote(r, shape)
	}
	limit(r, shape)
	return r, nil
}

// textFormat returns the format of the strings that a type's own decoder takes: the name of the
// type. Without it, a string that becomes a type which refuses most strings would be no change of
// the contract.
func textFormat(t reflect.Type) string {
	name, _, named := strings.Cut(t.String(), ".") // of the package, which its path may not end with
	if t.Name() == "" || !named {
		return ""
	}
	return safe(name) + "." + short(t)
}

// orEmpty is the base for a part of which the library says nothing.
func orEmpty(base *contract.Schema) *contract.Schema {
	if base == nil {
		return &contract.Schema{}
	}
	return base
}

// fields sets the fields of an object.
func (s *Set) fields(r *contract.Schema, shape *check.Shape, base *contract.Schema, lenient bool) error {
	for i := range shape.Fields {
		f := &shape.Fields[i]
		generated := orEmpty(base.Property(f.Name))
		if not, ok := generated.Nullable(); ok { // the tag "nullable", which changes nothing that Go accepts
			generated = not
		}
		schema, err := s.schema(f.Shape, generated, lenient)
		if err != nil {
			return err
		}
		if generated.Description != "" && schema.Description != generated.Description {
			of := *schema
			of.Description = generated.Description
			schema = &of
		}
		r.Properties = append(r.Properties, contract.Property{Name: f.Name, Schema: schema})
		if f.Required && !lenient {
			r.Required = append(r.Required, f.Name)
		}
	}
	return nil
}

// bound gives an integer its format and, if a float64 has them exactly, the bounds of its Go type.
func bound(r *contract.Schema, shape *check.Shape) {
	unsigned := shape.Kind == check.Uint
	if unsigned {
		r.Minimum = "0"
	}
	switch bits := shape.Bits; {
	case shape.Type == durationType:
		r.Format = "duration"
	case bits == 64 && unsigned:
		r.Format = "uint64"
	case bits == 64:
		r.Format = "int64"
	case unsigned:
		r.Maximum = json.Number(strconv.FormatUint(uint64(math.MaxUint64)>>(64-bits), 10))
	default:
		r.Minimum = json.Number(strconv.FormatInt(-1<<(bits-1), 10))
		r.Maximum = json.Number(strconv.FormatInt(1<<(bits-1)-1, 10))
	}
}

// The patterns of whole numbers in strings.
const (
	whole         = "^(0|-?[1-9][0-9]*)$"
	wholeUnsigned = "^(0|[1-9][0-9]*)$"
)

// names returns the schema of a map's keys; nil accepts all.
func names(k *check.Shape) *contract.Schema {
	switch k.Kind {
	case check.Int:
		return &contract.Schema{Pattern: whole}
	case check.Uint:
		return &contract.Schema{Pattern: wholeUnsigned}
	case check.Text:
		if format := textFormat(k.Type); format != "" {
			return &contract.Schema{Format: format}
		}
	}
	return nil
}

// quote makes the schema that of a string which holds the value, by the option "string" of a json
// tag.
func quote(r *contract.Schema, shape *check.Shape) {
	*r = contract.Schema{Description: r.Description, Type: contract.Types{"string"}}
	switch shape.Kind {
	case check.Bool:
		r.Pattern = "^(true|false)$"
	case check.Int:
		r.Pattern = whole
	case check.Uint:
		r.Pattern = wholeUnsigned
	case check.Float, check.Number:
		r.Pattern = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
	case check.String:
		r.Pattern = `^"[\s\S]*"$`
	}
}

// limit sets what the field's tag demands, and what the type demands beside it.
func limit(r *contract.Schema, shape *check.Shape) {
	l := shape.Limits
	if l == nil {
		return
	}
	if l.Enum != nil {
		r.Enum = slices.Clone(l.Enum) // null may be added to the list
	}
	if l.MinLength != nil {
		r.MinLength = l.MinLength
	}
	if l.MaxLength != nil {
		r.MaxLength = l.MaxLength
	}
	if l.Minimum != "" {
		r.Minimum = l.Minimum
	}
	if l.Maximum != "" {
		r.Maximum = l.Maximum
	}
	if l.Pattern != nil {
		r.Pattern = l.Pattern.String()
	}
	if l.TypePattern != nil {
		r.AllOf = append(r.AllOf, &contract.Schema{Pattern: l.TypePattern.String()})
	}
}
