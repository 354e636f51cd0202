// Package payload turns the values of user code into payloads and back. Payloads are JSON, or
// nothing for None.
package payload

import (
	"encoding/json"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// None is the type of an input or result that carries nothing. It encodes to no payload.
type None struct{}

// Encode returns the payload of a value. It fails if JSON cannot express the value.
func Encode(v any) (history.Payload, error) {
	if _, none := v.(None); none {
		return nil, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("a %T cannot be encoded as JSON: %w", v, err)
	}
	return data, nil
}

// MustEncode is Encode for a value of workflow code. It panics if the value cannot be encoded,
// which fails the task: the code is wrong, and the run continues when it is fixed.
func MustEncode(v any) history.Payload {
	p, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return p
}

// EncodeRaw returns the payload of a value that is JSON already; nil is no payload. It fails if the
// value is no JSON.
func EncodeRaw(raw json.RawMessage) (history.Payload, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return Encode(raw)
}

// MustEncodeRaw is EncodeRaw for a value of workflow code, as MustEncode is Encode.
func MustEncodeRaw(raw json.RawMessage) history.Payload {
	p, err := EncodeRaw(raw)
	if err != nil {
		panic(err)
	}
	return p
}

// Decode reads the value of a payload. A missing payload is engine.ErrMissingInput, except for
// None. A panic of the value's own decoder is an error: data from a caller must not end the process
// that reads it.
func Decode[T any](p history.Payload) (v T, err error) {
	if len(p) == 0 {
		if _, none := any(v).(None); none {
			return v, nil
		}
		return v, engine.ErrMissingInput
	}
	if _, none := any(v).(None); none {
		return v, nil // what code of another build has sent does no harm; of callers, the boundary refuses it
	}
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("decoding a %T panicked: %v", v, value)
		}
	}()
	if err := json.Unmarshal(p, &v); err != nil {
		return v, err
	}
	return v, nil
}

// DecodeOrZero is Decode, but returns the zero value for a missing payload.
func DecodeOrZero[T any](p history.Payload) (v T, err error) {
	if len(p) == 0 {
		return v, nil
	}
	return Decode[T](p)
}
