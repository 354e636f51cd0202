package check

import (
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
)

type (
	otherKind  int    // its schema is for strings
	otherEnum  int    // its enum has no integer
	mixed      string // its enum has other values, too
	failing    string
	foreign    string // its pattern is none of Go's
	encoded    string // it encodes itself
	integral   float64
	notDeclare string
)

func (otherKind) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{1}}
}

func (otherEnum) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Enum: []any{"a", 1.5}} }

func (mixed) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Enum: []any{7, nil, "a"}, Minimum: "3", Title: "Mixed"}
}
func (failing) JSONSchema() *jsonschema.Schema { panic("no") }
func (foreign) JSONSchema() *jsonschema.Schema {
	least := uint64(2)
	return &jsonschema.Schema{Pattern: "^(?!a)", MinLength: &least}
}
func (encoded) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Enum: []any{"a"}} }
func (e *encoded) MarshalText() ([]byte, error) {
	return []byte("text " + string(*e)), nil
}

func (integral) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Maximum: "9.5", Enum: []any{1, 2.0, 1e1}}
}
func (notDeclare) JSONSchema() string { return "" }

// A schema limits the values of the Go type's kind, and the rest of it limits nothing.
func TestDeclared(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		typ        reflect.Type
		text, want string
	}{
		{reflect.TypeFor[otherKind](), `7`, ""},
		{reflect.TypeFor[otherEnum](), `7`, ""},
		{reflect.TypeFor[mixed](), `"a"`, ""},
		{reflect.TypeFor[mixed](), `"b"`, `input: want one of "a", got "b"`},
		{reflect.TypeFor[failing](), `"b"`, ""},
		{reflect.TypeFor[foreign](), `"ab"`, ""},
		{reflect.TypeFor[foreign](), `"a"`, `input: want string of at least 2 characters, got "a"`},
		{reflect.TypeFor[encoded](), `"b"`, ""},
		{reflect.TypeFor[integral](), `2.00`, ""},
		{reflect.TypeFor[integral](), `10`, `input: want one of 1, 2, 10, got 10`},
		{reflect.TypeFor[notDeclare](), `"b"`, ""},
		{reflect.TypeFor[*hue](), `null`, ""},
		{reflect.TypeFor[hue](), `null`, "input: want string, got null"},
		{reflect.TypeFor[[]hue](), `["red","\u0062lue"]`, ""},
		{reflect.TypeFor[map[hue]bool](), `{"green":true}`, ""}, // names have no limits
	} {
		c, err := Compile(test.typ)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := c.Check("input", []byte(test.text), false); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s: %q, want %q", test.typ, test.text, got, test.want)
		}
	}
	_, err := Compile(reflect.TypeFor[struct {
		A hue `jsonschema:"enum=green"`
	}]())
	if want := `A: the tag jsonschema: no value of its enum is one of the type's own schema, which wants one of "red", "blue"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a tag without a value of the type: %v", err)
	}
}

// Limits of types cost an accepted text no allocation.
func TestDeclaredAllocations(t *testing.T) {
	c, err := Compile(reflect.TypeFor[declaring]())
	if err != nil {
		t.Fatal(err)
	}
	f, text := new(fast), []byte(`{"hue":"red","red":"red","hues":["blue"],"code":"ab","age":150,"adult":18,"share":0.25,"yes":true,"size":1,"only":5}`)
	if got := testing.AllocsPerRun(100, func() {
		if !f.accepts(c.shape, text, false) {
			t.Fatal("the fast path gives up")
		}
	}); got > 0 {
		t.Errorf("a check allocates %v objects", got)
	}
}
