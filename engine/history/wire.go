package history

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"github.com/seed-41655fb1/weft/engine/internal/wire"
)

// typicalBody is the initial capacity for the encoding of a body: a typical commit fits.
const typicalBody = 256

// newBody begins a body with the version.
func newBody() *wire.Writer { return wire.NewWriter(append(make([]byte, 0, typicalBody), version)) }

// EncodeBody returns the stored form of anything that is stored or sent beside the commits: a
// version byte and CBOR.
func EncodeBody(v any) ([]byte, error) {
	w := newBody()
	switch v := v.(type) {
	case interface{ EncodeTo(w *wire.Writer) }:
		v.EncodeTo(w)
	default:
		w.Fail()
	}
	if body, ok := w.Done(); ok {
		return body, nil
	}
	return encodeSlowly(v)
}

// SizeOf returns the length of EncodeBody for attributes, or 0 if they cannot be encoded.
func SizeOf(a Attributes) int {
	w := newBody()
	before, _ := w.Done()
	empty := len(before)
	w.Uint(uint64(a.Type())) // writeAttributes writes it, too
	pair, _ := w.Done()
	typeSize := len(pair) - empty
	writeAttributes(w, a)
	pair, ok := w.Done()
	if !ok {
		body, _ := encodeSlowly(a)
		return len(body)
	}
	return len(pair) - 2*typeSize
}

// encodeSlowly is EncodeBody with the library, for types without a codec. A type with a codec is
// encoded to the same bytes, or with an error that says why it cannot be. It fails on what the
// library would not read, such as a failure with too many causes.
func encodeSlowly(v any) ([]byte, error) {
	body, err := encMode.Marshal(v)
	if err == nil {
		err = decMode.Wellformed(body)
	}
	if err != nil {
		return nil, fmt.Errorf("history: encode: %w", err)
	}
	return append([]byte{version}, body...), nil
}

// DecodeBody decodes the bytes of EncodeBody. The stored fields of v are zero. They stay zero if
// the library refuses the bytes before it reads them, because bytes follow or are missing.
func DecodeBody(data []byte, v any) error {
	if to, ok := v.(interface{ DecodeFrom(r *wire.Reader) }); ok && len(data) > 0 && data[0] <= version {
		r := wire.NewReader(data[1:], nil)
		if to.DecodeFrom(r); r.Done() {
			return nil
		}
		reflect.ValueOf(v).Elem().SetZero() // DecodeFrom leaves what it has read if bytes follow
	}
	return decodeSlowly(data, v)
}

// decodeSlowly is DecodeBody with the library. It reads all that any version may have written, and
// returns what is wrong with the rest.
func decodeSlowly(data []byte, v any) error {
	if len(data) == 0 {
		return fmt.Errorf("%w: nothing there", ErrCorrupt)
	}
	if data[0] == Encoded {
		return ErrEncoded
	}
	if data[0] > version {
		return fmt.Errorf("version %d: %w", data[0], ErrNewer)
	}
	err := decMode.Unmarshal(data[1:], v)
	if err == nil || errors.Is(err, ErrNewer) {
		return err
	}
	return fmt.Errorf("%w: %s", ErrCorrupt, reasonOf(err))
}

// reasonOf returns what is wrong with bytes that the library does not decode, with nothing of the
// bytes: it goes into logs, and to an attribute of the message. The errors of the library may
// contain numbers of any length and keys of maps.
func reasonOf(err error) string {
	wrong, isWrong := errors.AsType[*cbor.UnmarshalTypeError](err)
	_, isLonger := errors.AsType[*cbor.ExtraneousDataError](err)
	switch {
	case isWrong && wrong.StructFieldName != "":
		return fmt.Sprintf("%s in place of %s (%s)", wrong.CBORType, wrong.StructFieldName, wrong.GoType)
	case isWrong:
		return fmt.Sprintf("%s in place of %s", wrong.CBORType, wrong.GoType)
	case isLonger:
		return "bytes follow the end"
	}
	return "cut off, or not of the form that Weft writes"
}
