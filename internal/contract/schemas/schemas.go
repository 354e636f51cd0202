// Package schemas generates JSON Schemas from Go types.
//
// Package jsonschema of invopop generates the schema of each type. A [Set] repairs what it gets
// wrong or leaves open. What is required, what may be null, and which bounds a value has comes from
// the compiled checker (package check), so a schema promises what the checker checks. See decision
// 0044.
package schemas

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/check"
)

// Set is the schemas of a program's types. The zero value is empty. It is not safe for concurrent
// use.
type Set struct {
	// Declared returns the schema that the author gave for a type of others, or nil.
	Declared func(reflect.Type) []byte

	keys   map[key]int
	defs   []*definition
	roots  []*contract.Schema // whose references Defs gives their names
	silent map[reflect.Type]bool
	types  map[string]reflect.Type // by their names in $defs
}

// key is what a definition is for.
type key struct {
	t reflect.Type
	// lenient is the variant that requires no field.
	lenient bool
	// inner is the name of a definition in the schema that the author gave for the type.
	inner string
	// converted is the schema that a converter gave for the type, as JSON.
	converted string
}

type definition struct {
	key
	schema *contract.Schema
}

// Add returns the schema of a type. If it is lenient, no field is required. The schema refers to
// named types; Defs gives these references their names. The error names a field that JSON cannot
// hold.
func (s *Set) Add(t reflect.Type, lenient bool) (*contract.Schema, error) {
	checker, err := check.Of(t)
	if err != nil {
		return nil, err
	}
	schema, err := s.schema(checker.Shape(), nil, lenient)
	if err != nil {
		return nil, err
	}
	s.roots = append(s.roots, schema)
	return schema, nil
}

// AddText returns the schema that a converter gave for a type.
func (s *Set) AddText(t reflect.Type, text []byte) (*contract.Schema, error) {
	schema, err := s.own(key{t: indirect(t), converted: string(text)}, text)
	if err != nil {
		return nil, err
	}
	s.roots = append(s.roots, schema)
	return schema, nil
}

// Silent returns the types whose schema accepts any value because they encode themselves and
// declare no schema. They are sorted by name.
func (s *Set) Silent() (names []string) {
	for t := range s.silent {
		names = append(names, t.String())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Defs returns the schemas of the named types, by the names that they have in $defs. The schemas
// that Add has returned refer to them from now on. Call it last, once.
func (s *Set) Defs() map[string]*contract.Schema {
	names := s.names()
	s.types = make(map[string]reflect.Type, len(names))
	for i, d := range s.defs {
		if d.inner == "" {
			s.types[names[i]] = d.t
		}
	}
	rename := func(schema *contract.Schema) {
		schema.Walk(func(schema *contract.Schema) {
			if i, ok := pending(schema); ok {
				schema.Ref = contract.Reference(names[i]).Ref
			}
		})
	}
	all := make(map[string]*contract.Schema, len(s.defs))
	for i, d := range s.defs {
		rename(d.schema)
		all[names[i]] = d.schema
	}
	for _, schema := range s.roots {
		rename(schema)
	}
	return all
}

// Types returns the Go types of the named schemas that Defs has returned.
func (s *Set) Types() map[string]reflect.Type { return s.types }

// pendingPrefix begins a reference to a definition that has no name yet.
const pendingPrefix = "#pending"

func reference(i int) *contract.Schema {
	return &contract.Schema{Ref: pendingPrefix + strconv.Itoa(i)}
}

func pending(s *contract.Schema) (i int, ok bool) {
	number, ok := strings.CutPrefix(s.Ref, pendingPrefix)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(number)
	return i, err == nil
}

// define returns a reference to the definition of this key, which make creates if there is none.
func (s *Set) define(k key, create func() (*contract.Schema, error)) (*contract.Schema, error) {
	if i, found := s.keys[k]; found {
		return reference(i), nil
	}
	if s.keys == nil {
		s.keys = map[key]int{}
	}
	i := len(s.defs)
	s.keys[k] = i // before create, for recursive types
	s.defs = append(s.defs, &definition{key: k})
	schema, err := create()
	if err != nil {
		return nil, err
	}
	s.defs[i].schema = schema
	return reference(i), nil
}

// schema returns the schema of a shape. base is what the library generated, or nil.
func (s *Set) schema(shape *check.Shape, base *contract.Schema, lenient bool) (*contract.Schema, error) {
	t := shape.Type
	var schema *contract.Schema
	var declared bool
	var err error
	if !shape.Quoted { // what a type declares is not for the string that holds a value
		schema, declared, err = s.declared(shape)
	}
	switch {
	case err != nil:
		return nil, err
	case declared:
	case t.Name() != "" && composite(shape) && !limited(shape):
		schema, err = s.define(key{t: t, lenient: lenient && requires(shape, map[*check.Shape]bool{})}, func() (*contract.Schema, error) {
			generated, err := generate(t)
			if err != nil {
				return nil, err
			}
			schema, err := s.repair(shape, generated, lenient)
			if err == nil && alwaysNullable(t) {
				schema = nullable(schema)
			}
			return schema, err
		})
		if alwaysNullable(t) {
			return schema, err
		}
	default:
		if base == nil {
			if base, err = generate(t); err != nil {
				return nil, err
			}
		}
		schema, err = s.repair(shape, base, lenient)
	}
	if err != nil {
		return nil, err
	}
	if shape.AlsoText && !declared && shape.Kind != check.String {
		schema = &contract.Schema{AnyOf: []*contract.Schema{schema, {Type: contract.Types{"string"}}}}
	}
	if shape.Nullable {
		schema = nullable(schema)
	}
	return schema, nil
}

// composite reports whether a shape contains others.
func composite(shape *check.Shape) bool {
	return slices.Contains([]check.Kind{check.Struct, check.List, check.Array, check.Map}, shape.Kind)
}

// alwaysNullable reports whether nil is a value of a type.
func alwaysNullable(t reflect.Type) bool {
	return t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

// limited reports whether a field's tag limits a shape, which is not that of its type then.
func limited(shape *check.Shape) bool {
	return shape.Tagged || shape.Elem != nil && shape.Elem.Tagged
}

// requires reports whether a shape, or one in it, has a required field.
func requires(shape *check.Shape, seen map[*check.Shape]bool) bool {
	if shape == nil || seen[shape] {
		return false
	}
	seen[shape] = true
	return requires(shape.Elem, seen) || slices.ContainsFunc(shape.Fields, func(f check.Field) bool { return f.Required || requires(f.Shape, seen) })
}

// nullable returns the schema that accepts null too.
func nullable(s *contract.Schema) *contract.Schema {
	switch {
	case s.Any() || slices.Contains(s.Type, "null"):
		return s
	case len(s.Type) > 0 && s.Const == nil && s.Ref == "" && len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.More) == 0:
		s.Type = append(s.Type, "null")
		if s.Enum != nil {
			s.Enum = append(s.Enum, json.RawMessage("null"))
		}
		return s
	}
	if _, already := s.Nullable(); already {
		return s
	}
	either := &contract.Schema{Description: s.Description, AnyOf: []*contract.Schema{s, {Type: contract.Types{"null"}}}}
	s.Description = ""
	return either
}
