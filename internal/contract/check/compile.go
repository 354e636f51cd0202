package check

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode"
)

var (
	timeType   = reflect.TypeFor[time.Time]()
	rawType    = reflect.TypeFor[json.RawMessage]()
	numberType = reflect.TypeFor[json.Number]()

	jsonTypes = []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()}
	textTypes = []reflect.Type{reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}
)

// implements reports whether a type or a pointer to it implements one of the interfaces.
func implements(t reflect.Type, interfaces []reflect.Type) bool {
	for _, i := range interfaces {
		if t.Implements(i) || reflect.PointerTo(t).Implements(i) {
			return true
		}
	}
	return false
}

// compiler compiles the shapes of a type and of all that it contains.
type compiler struct {
	shapes map[reflect.Type]*Shape
	done   map[*Shape]bool
	// pointers are the shapes of pointers to what is not done yet. They are copied at the end.
	pointers map[*Shape]*Shape
	// custom says that a type has a decoder of its own.
	custom bool
}

// compile returns the shape of a type.
func compile(t reflect.Type) (*Shape, error) {
	c := compiler{shapes: map[reflect.Type]*Shape{}, done: map[*Shape]bool{}, pointers: map[*Shape]*Shape{}}
	s, err := c.of(t, t.String())
	if err != nil {
		return nil, err
	}
	for pointer, to := range c.pointers {
		*pointer = *to
		pointer.Nullable = true
	}
	if s.Kind == Own || s.Kind == Text {
		s.own = decoderOf(s.Type, false, false)
	}
	s.custom = c.custom
	return s, nil
}

// of returns the shape of a type. path is its place, for errors.
func (c *compiler) of(t reflect.Type, path string) (*Shape, error) {
	if t.Kind() != reflect.Pointer {
		return c.value(t, path)
	}
	named := map[reflect.Type]bool{}
	for ; t.Kind() == reflect.Pointer; t = t.Elem() {
		if named[t] {
			return nil, fmt.Errorf("%s: JSON cannot hold a pointer to itself (%s)", path, t)
		}
		named[t] = true
	}
	to, err := c.value(t, path)
	if err != nil {
		return nil, err
	}
	s := new(*to)
	s.Nullable = true
	if !c.done[to] {
		c.pointers[s] = to
	}
	return s, nil
}

// value returns the shape of a type that is no pointer.
func (c *compiler) value(t reflect.Type, path string) (*Shape, error) {
	if s, found := c.shapes[t]; found {
		return s, nil
	}
	s := &Shape{Type: t}
	c.shapes[t] = s
	err := c.fill(s, path)
	c.done[s] = true
	return s, err
}

// fill fills in the shape of a type.
func (c *compiler) fill(s *Shape, path string) error {
	t := s.Type
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Interface:
		s.Nullable = true
	}
	switch {
	case t.Kind() == reflect.Interface && t.NumMethod() > 0:
		s.Kind = Null
	case t == timeType:
		s.Kind = Time
	case t == rawType:
		s.Kind = Raw
	case t == numberType:
		s.Kind = Number
		s.bounds.minFloat, s.bounds.maxFloat = math.Inf(-1), math.Inf(1)
	case implements(t, jsonTypes):
		c.custom = true
		s.Kind, s.Nullable = Own, false
		s.own = decoderOf(t, t.Name() == "", false)
	case implements(t, textTypes) && !s.setAlsoText():
		c.custom = true
		s.Kind = Text
		s.own = decoderOf(t, t.Name() == "", false)
	default:
		if err := c.fillKind(s, path); err != nil {
			return err
		}
		s.declare()
	}
	return nil
}

// setAlsoText sets AlsoText, and returns it. encoding/json ignores MarshalText of the pointer for a
// value that has no address, as in a map or in an argument that is passed by value.
func (s *Shape) setAlsoText() bool {
	t := s.Type
	s.AlsoText = !t.Implements(textTypes[0]) && !reflect.PointerTo(t).Implements(textTypes[1])
	return s.AlsoText
}

// fillKind fills in the shape of a type without a decoder of its own.
func (c *compiler) fillKind(s *Shape, path string) (err error) {
	switch t := s.Type; t.Kind() {
	case reflect.Interface:
		s.Kind = Any
	case reflect.String:
		s.Kind = String
	case reflect.Bool:
		s.Kind = Bool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.Kind, s.Bits = Int, t.Bits()
		s.bounds.minInt, s.bounds.maxInt = -1<<(s.Bits-1), 1<<(s.Bits-1)-1
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		s.Kind, s.Bits = Uint, t.Bits()
		s.bounds.minUint, s.bounds.maxUint = 0, math.MaxUint64>>(64-s.Bits)
	case reflect.Float32, reflect.Float64:
		s.Kind, s.Bits = Float, t.Bits()
		s.bounds.minFloat, s.bounds.maxFloat = math.Inf(-1), math.Inf(1)
	case reflect.Slice:
		if e := t.Elem(); e.Kind() == reflect.Uint8 && !implements(e, jsonTypes) && !implements(e, textTypes) {
			s.Kind = Bytes
			return nil
		}
		s.Kind = List
		s.Elem, err = c.of(t.Elem(), path+"[]")
	case reflect.Array:
		s.Kind, s.Length = Array, t.Len()
		s.Elem, err = c.of(t.Elem(), path+"[]")
	case reflect.Map:
		s.Kind = Map
		if s.Key, err = c.key(t, path); err == nil {
			s.Elem, err = c.of(t.Elem(), path+"{}")
		}
	case reflect.Struct:
		s.Kind = Struct
		err = c.fields(s, path)
	default:
		err = fmt.Errorf("%s: JSON cannot hold a %s", path, t)
	}
	return err
}

// key returns the shape of a map's names.
func (c *compiler) key(t reflect.Type, path string) (*Shape, error) {
	k := t.Key()
	if reflect.PointerTo(k).Implements(textTypes[1]) {
		c.custom = true
		return &Shape{Kind: Text, Type: k, own: keyDecoderOf(k)}, nil
	}
	switch k.Kind() {
	case reflect.String:
		return &Shape{Kind: String, Type: k}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		s := &Shape{Type: k}
		return s, c.fillKind(s, path)
	}
	if k.Implements(textTypes[0]) {
		return &Shape{Kind: Text, Type: k, own: keyDecoderOf(k)}, nil
	}
	return nil, fmt.Errorf("%s: JSON cannot hold a map with keys of type %s", path, k)
}

// fields fills in the fields of a struct's shape.
func (c *compiler) fields(s *Shape, path string) error {
	s.byName, s.byFolded = map[string]int{}, map[string]int{}
	for i, f := range fieldsOf(s.Type) {
		at := path + "." + f.name
		value, err := c.field(f, at)
		if err != nil {
			return err
		}
		tags := tagsOf(f.field)
		if value, err = value.limited(tags); err != nil {
			return fmt.Errorf("%s: the tag jsonschema: %w", at, err)
		}
		required := !f.omitted && !f.embedded && !tags.has("optional") || tags.has("required")
		s.Fields = append(s.Fields, Field{Name: f.name, Go: f.field, Required: required, Shape: value})
		s.byName[f.name] = i
		folded := fold(f.name)
		if _, taken := s.byFolded[folded]; !taken { // the first one wins, as in encoding/json
			s.byFolded[folded] = i
		}
		s.longest = max(s.longest, maxGrowth*len(f.name))
		if i%64 == 0 {
			s.required = append(s.required, 0)
		}
		if required {
			s.required[i/64] |= 1 << (i % 64)
		}
	}
	return nil
}

// field returns the shape of a field's value.
func (c *compiler) field(f field, path string) (*Shape, error) {
	if f.unset {
		return &Shape{Kind: Never, Type: f.field.Type}, nil
	}
	s, err := c.of(f.field.Type, path)
	if err != nil || !f.quoted {
		return s, err
	}
	s = new(*s)
	switch s.Kind {
	case Own, Text:
		s.Kind, s.own = Own, decoderOf(f.field.Type, true, true)
	default:
		s.Quoted = true
		if s.Limits != nil { // they are those of a value that is in no string
			s.Limits = nil
			err = c.fillKind(s, path)
		}
	}
	return s, err
}

// decoderOf returns a function that decodes a value of a type. A value in a struct is decoded by
// other rules than one alone if its type has no name, or is in a string.
func decoderOf(t reflect.Type, inStruct, quoted bool) func([]byte) error {
	if !inStruct {
		return func(text []byte) error { return decode(text, t) }
	}
	tag := `json:"f"`
	if quoted {
		tag = `json:"f,string"`
	}
	t = reflect.StructOf([]reflect.StructField{{Name: "F", Type: t, Tag: reflect.StructTag(tag)}})
	return func(text []byte) error {
		return decode([]byte(`{"f":`+string(text)+`}`), t)
	}
}

// keyDecoderOf returns a function that decodes a name to the key of a map. The name has its quotes.
func keyDecoderOf(k reflect.Type) func([]byte) error {
	t := reflect.MapOf(k, reflect.TypeFor[struct{}]())
	return func(name []byte) error {
		return decode([]byte(`{`+string(name)+`:null}`), t)
	}
}

// decode decodes a value of a type. A panic of its decoder is an error.
func decode(text []byte, t reflect.Type) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("decoding a %s panicked: %v", t, value)
		}
	}()
	return json.Unmarshal(text, reflect.New(t).Interface())
}

// fold returns what is the same for all names that encoding/json takes for each other: those that
// differ in capitals.
func fold(name string) string {
	return strings.Map(func(c rune) rune {
		least := c
		for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// maxGrowth is how many times as long as another a name may be that folds to the same: a k has one
// byte, and the sign of Kelvin three.
const maxGrowth = 3
