package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/contract/check"
)

// Converter turns values into JSON and back in place of encoding/json: it belongs to a declaration.
// Its methods do no I/O and are safe for concurrent use.
type Converter interface {
	// Encode returns the JSON of a value.
	Encode(v any) (json.RawMessage, error)
	// Decode reads the JSON of a value. v points to it: a value of a pointer type points to itself,
	// and is never nil.
	Decode(text json.RawMessage, v any) error
	// Schema returns the JSON Schema of a type, for the program's contract. An empty one accepts
	// every value.
	Schema(t reflect.Type) (json.RawMessage, error)
}

// ConverterChecker is what a Converter implements too if it says more about the values that callers
// send than Decode, which also reads stored values of other builds.
type ConverterChecker interface {
	// Check returns an error if a caller may not send this JSON as a value of a type. An error
	// with a method At() string names the place in the value, as in ".items[3].sku".
	Check(text json.RawMessage, t reflect.Type) error
}

// EncodeBy is Encode by a converter; nil is encoding/json.
func EncodeBy(by Converter, v any) (history.Payload, error) {
	if _, none := v.(None); by == nil || none {
		return Encode(v)
	}
	text, err := by.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("the converter %T cannot encode a %T: %w", by, v, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("the converter %T has encoded a %T as what is no JSON: %w", by, v, err)
	}
	return compact.Bytes(), nil
}

// MustEncodeBy is EncodeBy for a value of workflow code, as MustEncode is Encode.
func MustEncodeBy(by Converter, v any) history.Payload {
	p, err := EncodeBy(by, v)
	if err != nil {
		panic(err)
	}
	return p
}

// DecodeBy is Decode by a converter; nil is encoding/json.
func DecodeBy[T any](by Converter, p history.Payload) (T, error) {
	if by == nil || len(p) == 0 || reflect.TypeFor[T]() == reflect.TypeFor[None]() {
		return Decode[T](p)
	}
	return convert[T](by, p)
}

// convert reads the value of a payload by a converter. It is separate from DecodeBy, so that only
// values with a converter escape to the heap.
func convert[T any](by Converter, p history.Payload) (v T, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("decoding a %T panicked: %v", v, value)
		}
	}()
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		return v, by.Decode(json.RawMessage(p), &v)
	}
	made := reflect.New(t.Elem()).Interface()
	if err := by.Decode(json.RawMessage(p), made); err != nil {
		return v, err
	}
	return made.(T), nil
}

// DecodeOrZeroBy is DecodeBy, but returns the zero value for a missing payload.
func DecodeOrZeroBy[T any](by Converter, p history.Payload) (v T, err error) {
	if len(p) == 0 {
		return v, nil
	}
	return DecodeBy[T](by, p)
}

// maxReason is how much of a converter's error a refusal has, in bytes.
const maxReason = 200

// cut returns a text of a converter's, which has at most maxReason bytes.
func cut(text string) string { return text[:min(len(text), maxReason)] }

// checkBy returns the error of a converter that checks what callers send.
func checkBy(by Converter, t reflect.Type, p history.Payload) (err error) {
	c, ok := by.(ConverterChecker)
	if !ok || len(p) == 0 {
		return nil
	}
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("checking a %s panicked: %v", t, value)
		}
	}()
	return c.Check(json.RawMessage(p), t)
}

// ValueBy returns the type of a payload that a converter encodes from a T; nil is encoding/json.
func ValueBy[T any](by Converter) engine.Value {
	t := reflect.TypeFor[T]()
	if by == nil || t == reflect.TypeFor[None]() {
		return ValueOf[T]()
	}
	decodes := decodes[T](by)
	return engine.Value{
		Type: t, Converter: by, Decodes: decodes, RunsCode: func() bool { return true },
		Check: func(at string, p history.Payload, _ bool) error {
			err := checkBy(by, t, p)
			if err == nil {
				err = decodes(p)
			}
			if err == nil {
				return nil
			}
			if place, ok := errors.AsType[interface {
				error
				At() string
			}](err); ok {
				at += cut(place.At())
			}
			return &check.Error{Path: at, Text: cut(err.Error())}
		},
		Schema: func() ([]byte, error) {
			text, err := by.Schema(t)
			if err == nil && len(text) == 0 {
				text = json.RawMessage("{}")
			}
			return text, err
		},
	}
}
