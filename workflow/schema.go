package workflow

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/where"
)

// Schema declares the JSON Schema (2020-12) of a type that encodes itself, for the program's
// contract. It is for a type of another module. A type of your own has a method instead:
//
//	func (Money) JSONSchema() *jsonschema.Schema // of github.com/invopop/jsonschema
//
// Register it beside the workflows. The schema may refer to its own $defs. Weft decodes a value to
// check it, and does not read the schema.
//
//	weft.Register(workflow.Schema[decimal.Decimal](`{"type": "string"}`), ...)
func Schema[T any](text string) Registration {
	t, place := reflect.TypeFor[T](), where.Caller()
	return bridge.PartOf(func(r *engine.Registry) error {
		if err := json.Unmarshal([]byte(text), &contract.Schema{}); err != nil {
			return fmt.Errorf("the schema of %s is no JSON Schema: %w (registered at %s)", t, err, place)
		}
		if t.Kind() == reflect.Pointer {
			return fmt.Errorf("the schema of %s is one of a pointer: register that of %s (registered at %s)", t, t.Elem(), place)
		}
		return r.AddSchema(t, []byte(text), place)
	})
}
