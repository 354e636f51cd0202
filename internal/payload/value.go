package payload

import (
	"reflect"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/contract/check"
)

// ValueOf returns the type of a payload that is a T. None accepts every payload.
func ValueOf[T any]() engine.Value {
	t := reflect.TypeFor[T]()
	v := engine.Value{Type: t}
	if t == reflect.TypeFor[None]() {
		return v
	}
	v.Check = func(at string, p history.Payload, lenient bool) error {
		c, err := check.Of(t)
		if err != nil {
			return err
		}
		return c.Check(at, p, lenient)
	}
	return v
}

// Verify returns an error if JSON cannot hold one of the types. It names the field.
func Verify(values ...engine.Value) error {
	for _, v := range values {
		if v.Type == nil || v.Schema != nil {
			continue // a converter holds it
		}
		if err := check.Verify(v.Type); err != nil {
			return err
		}
	}
	return nil
}
