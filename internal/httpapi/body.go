package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// maxDepth is how deep the JSON of a request may be nested. Answers nest what is stored more
// deeply, and readers of JSON have limits: ours is 10,000, others have less.
const maxDepth = 1000

// decode reads the body of a request. An empty body is an empty object.
func decode(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		most := int(max(tooLarge.Limit-MaxBody, engine.MaxPayload))
		return refusal.TooLarge.New("the body is larger than %d bytes, and an input may have %d: %s", tooLarge.Limit, most, engine.Advice(most))
	}
	if err == nil {
		err = decodeObject(bytes.TrimSpace(body), v)
	}
	if err != nil {
		return refusal.Invalid.New("the body is not the JSON object that this request takes: %v", err)
	}
	return nil
}

func decodeObject(body []byte, v any) error {
	switch {
	case len(body) == 0:
		return nil
	case !utf8.Valid(body):
		return errors.New("it is not UTF-8")
	case body[0] != '{':
		return errors.New("it does not begin with {")
	case depth(body) > maxDepth:
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	if json.Unmarshal(body, v) != nil {
		return bodyError(body, v)
	}
	return checkMembers(body, reflect.TypeOf(v).Elem())
}

// bodyError returns why a body does not decode.
func bodyError(body []byte, v any) error {
	var wrong *json.UnmarshalTypeError
	err := json.NewDecoder(bytes.NewReader(body)).Decode(v)
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("the field %s has the wrong type: %s", wrong.Field, wrong.Value)
	case err != nil:
		return err
	}
	return errors.New("something follows the JSON object")
}

// depth returns how deep JSON is nested.
func depth(text []byte) (deepest int) {
	level, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// checkMembers refuses an object that has a member twice, or one that the type does not name
// exactly: readers differ in which of two counts, and in whether case matters. In an object of
// values by name, such as a header, the sender chooses the names.
func checkMembers(object []byte, t reflect.Type) error {
	d := json.NewDecoder(bytes.NewReader(object))
	_, err := d.Token() // the brace
	fields, seen := fieldsOf(t), map[string]bool{}
	for err == nil && d.More() {
		var token json.Token
		if token, err = d.Token(); err != nil {
			break
		}
		name, _ := token.(string)
		field, known := fields.named(name)
		switch {
		case !known:
			return fmt.Errorf("there is no field %q; the fields are %s", name, strings.Join(fields.names, ", "))
		case seen[name]:
			return fmt.Errorf("it has the field %q twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err = d.Decode(&value); err == nil && value[0] == '{' {
			if field.Kind() == reflect.Pointer {
				field = field.Elem()
			}
			if field.Kind() == reflect.Struct || byName(field) {
				err = checkMembers(value, field)
			}
		}
	}
	return err
}

// byName reports whether a type is a list of values with names, which is an object in JSON.
func byName(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// fields are the fields of a type, by their names in JSON. any says that every name is one.
type fields struct {
	names []string
	types map[string]reflect.Type
	any   bool
}

// known caches the fields of the types of requests, which are few.
var known sync.Map

func fieldsOf(t reflect.Type) *fields {
	if f, ok := known.Load(t); ok {
		return f.(*fields)
	}
	f := &fields{types: map[string]reflect.Type{}, any: byName(t)}
	for i := 0; !f.any && i < t.NumField(); i++ {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag != "" && tag != "-" {
			f.names = append(f.names, tag)
			f.types[tag] = t.Field(i).Type
		}
	}
	known.Store(t, f)
	return f
}

// named returns the type of the field with this name in JSON.
func (f *fields) named(name string) (reflect.Type, bool) {
	if f.any {
		return reflect.TypeFor[json.RawMessage](), true
	}
	t, ok := f.types[name]
	return t, ok
}
