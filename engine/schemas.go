package engine

import (
	"fmt"
	"reflect"
)

// declaredSchema is the JSON Schema that an author gave for a Go type.
type declaredSchema struct {
	text  []byte
	where string
}

// AddSchema adds the JSON Schema of a Go type that encodes itself and does not declare its schema.
// It returns an error that names both places if there is one for the type.
func (r *Registry) AddSchema(t reflect.Type, text []byte, where string) error {
	if before, found := r.schemas[t]; found {
		return fmt.Errorf("the schema of %s is registered twice: at %s and at %s", t, before.where, where)
	}
	if r.schemas == nil {
		r.schemas = map[reflect.Type]declaredSchema{}
	}
	r.schemas[t] = declaredSchema{text, where}
	return nil
}

// Schema returns the JSON Schema that was added for a Go type, or nil.
func (r *Registry) Schema(t reflect.Type) []byte { return r.schemas[t].text }
