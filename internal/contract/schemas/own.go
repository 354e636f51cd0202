package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/check"
)

var durationType = reflect.TypeFor[time.Duration]()

// standard are the schemas of types of the standard library that encode themselves. Like a schema
// that Weft generates, each agrees with the checker, which decodes a value: null leaves a big.Int
// as it is.
var standard = map[reflect.Type]string{
	reflect.TypeFor[big.Int](): `{"type":["integer","null"]}`,
}

// declarer is implemented by a type that declares its own schema.
type declarer interface {
	JSONSchema() *jsonschema.Schema
}

// declared returns the schema that somebody gave for a type: the author with workflow.Schema, the
// type's method JSONSchema, or the table of the standard library.
func (s *Set) declared(shape *check.Shape) (schema *contract.Schema, ok bool, err error) {
	text, err := s.text(shape)
	if standard, found := standard[shape.Type]; found && text == nil {
		schema = &contract.Schema{}
		return schema, true, json.Unmarshal([]byte(standard), schema)
	}
	if err != nil || text == nil {
		if err == nil && shape.Kind == check.Own {
			s.note(shape.Type)
		}
		return nil, false, err
	}
	if shape.Tagged { // the schema of this field alone
		schema, err = s.read(key{t: shape.Type}, text)
		if err == nil {
			limit(schema, shape)
		}
		return schema, true, err
	}
	schema, err = s.own(key{t: shape.Type}, text)
	return schema, true, err
}

// note records a type that encodes itself and has no schema.
func (s *Set) note(t reflect.Type) {
	if s.silent == nil {
		s.silent = map[reflect.Type]bool{}
	}
	s.silent[t] = true
}

// text returns the declared schema of a type as JSON, or nil.
func (s *Set) text(shape *check.Shape) (text []byte, err error) {
	t := shape.Type
	if s.Declared != nil {
		if text := s.Declared(t); text != nil {
			return text, nil
		}
	}
	text, err = ask(t)
	promoted := promotedBy(t)
	switch {
	case promoted == nil || err == nil && !bytes.Equal(promoted, text):
		return text, err
	case shape.Kind == check.Struct: // what is promoted speaks about the embedded type alone
		return nil, nil
	}
	return promoted, nil
}

// promotedBy returns what the method JSONSchema of an embedded type returns; nil if there is none.
func promotedBy(t reflect.Type) []byte {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			if text, _ := ask(indirect(f.Type)); text != nil {
				return text
			}
		}
	}
	return nil
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// ask returns what the method JSONSchema of a type returns; nil if it has none.
func ask(t reflect.Type) (text []byte, err error) {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[declarer]()) {
		return nil, nil
	}
	defer func() {
		if value := recover(); value != nil {
			text, err = nil, fmt.Errorf("the method JSONSchema of %s panicked: %v", t, value)
		}
	}()
	d, _ := reflect.New(t).Interface().(declarer)
	schema := d.JSONSchema()
	if schema == nil {
		return nil, fmt.Errorf("the method JSONSchema of %s returned nil: return &jsonschema.Schema{} for any value", t)
	}
	text, err = json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("what the method JSONSchema of %s returned is no JSON: %w", t, err)
	}
	return text, nil
}

// own returns a schema that was given as text. Its $defs become definitions of the set. That of a
// basic type, such as int, stands where it is used.
func (s *Set) own(k key, text []byte) (*contract.Schema, error) {
	if k.t.PkgPath() == "" { // a basic type, or one without a name
		return s.read(k, text)
	}
	return s.define(k, func() (*contract.Schema, error) { return s.read(k, text) })
}

// read reads a schema that was given as text.
func (s *Set) read(k key, text []byte) (*contract.Schema, error) {
	schema := &contract.Schema{}
	if err := json.Unmarshal(text, schema); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", k.t, err)
	}
	return schema, s.hoist(k, schema)
}

// hoist makes the $defs of a type's own schema definitions of the set.
func (s *Set) hoist(k key, schema *contract.Schema) error {
	t := k.t
	defs := map[string]*contract.Schema{}
	if text := schema.More["$defs"]; text != nil {
		if err := json.Unmarshal(text, &defs); err != nil {
			return fmt.Errorf("the $defs in the schema of %s: %w", t, err)
		}
	}
	for _, word := range []string{"$defs", "$schema", "$id"} { // these have a meaning at the root of a document alone
		delete(schema.More, word)
	}
	refs := map[string]string{}
	for _, name := range contract.Sorted(defs) {
		if defs[name] == nil {
			return fmt.Errorf("the schema of %s has null as %q in its $defs", t, name)
		}
		inner := k
		inner.inner = name
		ref, err := s.define(inner, func() (*contract.Schema, error) { return defs[name], nil })
		if err != nil {
			return err
		}
		refs[contract.Reference(name).Ref] = ref.Ref
	}
	if i, named := s.keys[k]; named {
		refs["#"] = reference(i).Ref
	}
	var wrong string
	for _, part := range append([]*contract.Schema{schema}, values(defs)...) {
		part.Walk(func(part *contract.Schema) {
			for _, word := range contract.Sorted(part.More) {
				if bytes.Contains(part.More[word], []byte(`"$ref"`)) {
					wrong = fmt.Sprintf("has a reference in %q: Weft follows those in properties, items, additionalProperties, allOf, anyOf and oneOf", word)
				}
			}
			if part.Ref == "" {
				return
			}
			ref, found := refs[part.Ref]
			if !found {
				wrong = fmt.Sprintf("refers to %q: it may refer to its own $defs only", part.Ref)
			}
			part.Ref = ref
		})
	}
	if wrong != "" {
		return fmt.Errorf("the schema of %s %s", t, wrong)
	}
	return nil
}

func values(defs map[string]*contract.Schema) []*contract.Schema {
	var all []*contract.Schema
	for _, name := range contract.Sorted(defs) {
		all = append(all, defs[name])
	}
	return slices.Clip(all)
}
