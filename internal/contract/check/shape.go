package check

import (
	"encoding/json"
	"reflect"
	"regexp"
)

// Kind is what a value has to be in JSON.
type Kind uint8

// The kinds of values.
const (
	// Any is any value whose numbers a float64 can hold.
	Any Kind = iota
	// Raw is any value: json.RawMessage.
	Raw
	// Own is any value that the type's own decoder takes. It has UnmarshalJSON or MarshalJSON.
	Own
	// Text is a string that the type's own decoder takes. It has UnmarshalText or MarshalText. A
	// type with AlsoText has the kind of its Go type instead.
	Text
	// Time is a string with an RFC 3339 time.
	Time
	// Bytes is a string in base64.
	Bytes
	// String is a string.
	String
	// Bool is true or false.
	Bool
	// Int is a number without a fraction and an exponent that fits Bits, and has a sign.
	Int
	// Uint is a number without a fraction, an exponent and a sign that fits Bits.
	Uint
	// Float is a number that fits Bits.
	Float
	// Number is any number: json.Number.
	Number
	// List is an array of Elem.
	List
	// Array is an array of exactly Length values of Elem.
	Array
	// Map is an object with values of Elem. Its names are those of Key.
	Map
	// Struct is an object with Fields. Other members are ignored.
	Struct
	// Null is nothing but null: an interface that values can be written from and not read into.
	Null
	// Never is a field that cannot be decoded: encoding/json cannot set an embedded pointer to an
	// unexported struct.
	Never
)

// Shape describes the JSON of a Go type. It is read-only.
type Shape struct {
	Kind Kind
	// Type is the Go type, without pointers.
	Type reflect.Type
	// Nullable accepts null: a pointer, slice, map or interface.
	Nullable bool
	// Quoted is a Bool, Int, Uint, Float, Number or String whose JSON is in a string, by the option
	// "string" of a json tag.
	Quoted bool
	// AlsoText says that Go also writes the value as a string, which it does not read: the pointer
	// has MarshalText and no UnmarshalText.
	AlsoText bool
	// Bits is the size of a number.
	Bits int
	// Elem is the shape of the values of a List, an Array or a Map.
	Elem *Shape
	// Length is the number of values of an Array.
	Length int
	// Key is the shape of a Map's names: String, Int, Uint or Text.
	Key *Shape
	// Fields are the members of a Struct, in the order in which encoding/json writes them.
	Fields []Field
	// Limits are those of the field's tag and those that the type declares; nil if there are none.
	Limits *Limits
	// Tagged says that the field's tag has limits.
	Tagged bool

	// own is the decoder of an Own or a Text. That of a Key gets the name with its quotes.
	own      func(text []byte) error
	custom   bool           // it is a Checker's, and a type in it has a decoder of its own
	bounds   bounds         // of numbers
	byName   map[string]int // of Fields
	byFolded map[string]int // of Fields, by their names without regard to capitals
	longest  int            // bytes of a name that may be that of a field, without regard to capitals
	required []uint64       // bits of Fields
}

// bounds are what a number may be: its size and its limits together.
type bounds struct {
	minInt, maxInt     int64
	minUint, maxUint   uint64
	minFloat, maxFloat float64
}

// Field is a member of a Struct.
type Field struct {
	// Name is the member's name.
	Name string
	// Go is the field of the Go struct, or of one that it embeds.
	Go reflect.StructField
	// Required says that the member must be there, unless the check is lenient.
	Required bool
	// Shape is that of the value.
	Shape *Shape
}

// Field returns the member of a name, or nil.
func (s *Shape) Field(name string) *Field {
	if i, found := s.byName[name]; found {
		return &s.Fields[i]
	}
	return nil
}

// Limits are what the tag `jsonschema` of a field demands of its value, or what a type demands with
// its method JSONSchema. The limits of a List or an Array are those of its values.
type Limits struct {
	// Enum are the values that are accepted, as JSON; all if it is nil.
	Enum []json.RawMessage
	// Minimum and Maximum bound numbers; empty if there is no bound.
	Minimum, Maximum json.Number
	// Above and Below bound numbers too, which may not be equal to them.
	Above, Below json.Number
	// MinLength and MaxLength bound the characters of strings; nil if there is no bound.
	MinLength, MaxLength *int
	// Pattern is found in strings; nil accepts all.
	Pattern *regexp.Regexp
	// TypePattern is that of the type if the field's tag has another one.
	TypePattern *regexp.Regexp

	only    bool      // Enum is that of the keyword const
	texts   []string  // Enum of strings, or of whole numbers
	numbers []float64 // Enum of other numbers
}
