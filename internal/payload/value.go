package payload

import (
	"reflect"

	"github.com/seed-41655fb1/weft/engine"
)

// ValueOf returns the type of a payload that is a T.
func ValueOf[T any]() engine.Value { return engine.Value{Type: reflect.TypeFor[T]()} }
