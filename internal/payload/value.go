package payload

import (
	"bytes"
	"reflect"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/contract/check"
)

// ValueOf returns the type of a payload that is a T.
func ValueOf[T any]() engine.Value {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[None]() {
		return engine.Value{Type: t, Check: checkNone}
	}
	v := engine.Value{Type: t, Decodes: decodes[T](nil)}
	v.Check = func(at string, p history.Payload, lenient bool) error {
		c, err := check.Of(t)
		if err != nil {
			return err
		}
		return c.Check(at, p, lenient)
	}
	v.RunsCode = func() bool {
		c, err := check.Of(t)
		return err == nil && c.RunsCode()
	}
	return v
}

// checkNone accepts nothing, null and {}. Clients of languages without undefined values send null,
// and encoding/json writes a None as {}.
func checkNone(at string, p history.Payload, _ bool) error {
	switch text := bytes.TrimSpace(p); {
	case len(text) == 0, string(text) == "null":
		return nil
	case text[0] == '{' && string(bytes.TrimSpace(text[1:])) == "}":
		return nil
	}
	return &check.Error{Path: at, Text: "is a value, and none is taken: leave it out"}
}

// decodes returns a function that returns why a payload does not decode as a T.
func decodes[T any](by Converter) func(history.Payload) error {
	return func(p history.Payload) error {
		_, err := DecodeBy[T](by, p)
		return err
	}
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
