package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/check"
)

// validator returns the judge of a type's schema.
func validator(t testing.TB, typ reflect.Type, lenient bool) (*contract.Document, *contract.Schema, *jsonschema.Schema) {
	t.Helper()
	s := &Set{}
	root, err := s.Add(typ, lenient)
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	d := &contract.Document{Defs: s.Defs()}
	text, err := json.Marshal(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": []any{root}, "$defs": d.Defs})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	if err := c.AddResource("https://example.com/contract.json", doc); err != nil {
		t.Fatal(err)
	}
	judge, err := c.Compile("https://example.com/contract.json")
	if err != nil {
		t.Fatalf("%s: %v\n%s", typ, err, text)
	}
	return d, root, judge
}

// notWhole is a whole number in a form that encoding/json does not take for an integer: 1.0, 1e2.
var notWhole = regexp.MustCompile(`^-?[0-9]+(\.0+|e[0-9]+)$`)

// closed reports whether a refusal is in the list of those that the schema does not promise: see
// decision 0044, section 2.3.
func closed(err *check.Error) bool {
	switch {
	case strings.HasPrefix(err.Text, "write "):
		return true
	case err.Want == "date-time", err.Want == "base64":
		return true
	case (strings.HasPrefix(err.Want, "integer") || strings.HasPrefix(err.Want, "one of ")) && notWhole.MatchString(err.Got):
		return true
	case strings.Contains(err.Want, "bits hold"), strings.Contains(err.Want, "in a string"), strings.HasSuffix(err.Want, "as the name"):
		return true
	case err.Got == "string" && strings.Contains(err.Path, "Also"): // Go writes it, and does not read it
		return true
	case strings.HasPrefix(err.Want, "integer of at "): // beyond 64 bits
		return len(err.Got) > 18
	}
	return err.Text != "" && err.Text != "is missing" && !strings.HasPrefix(err.Text, "is missing;") // its own decoder
}

// Fixed types have what random ones lack: recursion, embedding, names, and types that encode
// themselves as text.
var fixed = []reflect.Type{
	reflect.TypeFor[Basics](), reflect.TypeFor[Presence](), reflect.TypeFor[*Lists](), reflect.TypeFor[Enums](), reflect.TypeFor[Quoted](), reflect.TypeFor[Shadow](),
	reflect.TypeFor[Standard](), reflect.TypeFor[big.Int](), reflect.TypeFor[[]*big.Int](), reflect.TypeFor[map[string]big.Int](), reflect.TypeFor[Noted](),
	reflect.TypeFor[Declaring](), reflect.TypeFor[Hue](), reflect.TypeFor[*Code](),
	reflect.TypeFor[Tree](), reflect.TypeFor[Forest](), reflect.TypeFor[Maze](), reflect.TypeFor[A](), reflect.TypeFor[Generic](), reflect.TypeFor[map[string]*Named](), reflect.TypeFor[[]Day](),
}

// The schema and the checker accept the same values, except for the closed list.
func TestSchemaAndCheckerAgree(t *testing.T) {
	t.Parallel()
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		typ := rapid.SampledFrom(fixed).Draw(rt, "type")
		if rapid.Bool().Draw(rt, "random type") {
			typ = drawType(rt, 3)
		}
		lenient := rapid.Bool().Draw(rt, "lenient")
		d, root, judge := validator(t, typ, lenient)
		checker, err := check.Compile(typ)
		if err != nil {
			rt.Fatal(err)
		}
		for range 5 {
			w := writer{d: d, t: rt}
			text := w.value(root, 0)
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				rt.Fatalf("%s is no JSON: %v", text, err)
			}
			refused, checked := judge.Validate(value), checker.Check("input", []byte(text), lenient)
			var wrong *check.Error
			switch {
			case refused == nil && checked == nil:
				accepted++
			case refused != nil && checked == nil:
				rt.Fatalf("%s, lenient %v: the checker accepts %s, and the schema does not: %v", typ, lenient, text, refused)
			case refused == nil && (!errors.As(checked, &wrong) || !closed(wrong)):
				rt.Fatalf("%s, lenient %v: the schema accepts %s, and the checker does not: %v", typ, lenient, text, checked)
			}
		}
	})
	t.Log(accepted, "values were accepted")
	if accepted == 0 {
		t.Error("no value was accepted")
	}
}

// The schema accepts what Go writes of a value that keeps the limits of its tags.
func TestSchemaAcceptsWhatGoWrites(t *testing.T) {
	t.Parallel()
	item := Item{SKU: "tea", Quantity: 1}
	for _, v := range []any{
		Basics{Number: "0"},
		Presence{Demanded: "a"},
		Presence{Required: "a", OmitEmpty: "a", OmitZero: time.Unix(1, 0), Pointer: new(string), Absent: &item, Demanded: "a"},
		Lists{Pair: [2]Item{item, item}},
		Lists{Items: []Item{item}, Pointers: []*Item{nil, &item}, Named: Items{item}, Pair: [2]Item{item, item}, ByNumber: map[int]string{-7: "a"}, ByTime: map[time.Time]*Item{{}: nil}, Ratings: Ratings{1}},
		Enums{Color: "red", Rate: 1, Format: "a"},
		Quoted{Float: 1e-9, String: "a\nb"},
		Shadow{},
		Shadow{Extra: &Extra{}},
		Tree{},
		Tree{Children: []Tree{{}}, Parent: &Tree{}},
		Forest(nil),
		Forest{{}},
		Maze{"a": nil},
		A{B: &B{}},
		&Standard{}, &Standard{IntP: big.NewInt(7), Rat: big.NewRat(1, 2), URL: &url.URL{Host: "example.com"}},
		Money{},
		[]*Money{{7}, nil},
		big.NewInt(7),
		map[string]*big.Int{"a": nil},
		Noted{SomeAlso: []Note{1}},
		&Noted{OneAlso: 1, DeepAlso: &Spot{}, ByAlso: map[string]Note{"a": 1}},
		map[Note]*Note{1: nil},
		Spot{},
		&Spot{},
		Secret{},
		&Day{},
		Declaring{Hue: "red", Hues: Hues{"a"}, By: map[string]Hue{"a": "red"}, Share: new(Share), Step: 2, Steps: []Step{10}, Code: "aba", Quoted: 200, ByHue: map[Hue]Consent{"b": true}},
	} {
		typ := reflect.TypeOf(v)
		_, _, judge := validator(t, typ, false)
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := judge.Validate(value); err != nil {
			t.Errorf("%s: %s: %v", typ, text, err)
		}
	}
}

// drawType draws a type.
func drawType(t *rapid.T, depth int) reflect.Type {
	basic := []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](),
		reflect.TypeFor[float64](), reflect.TypeFor[json.Number](), reflect.TypeFor[[]byte](), reflect.TypeFor[any](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[time.Time](), reflect.TypeFor[Item](), reflect.TypeFor[Items](),
		reflect.TypeFor[Hue](), reflect.TypeFor[Share](), reflect.TypeFor[Step](), reflect.TypeFor[Consent](), reflect.TypeFor[Code](),
	}
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 7).Draw(t, "kind")
	}
	switch kind {
	case 1:
		return reflect.PointerTo(drawType(t, depth-1))
	case 2:
		return reflect.SliceOf(drawType(t, depth-1))
	case 3:
		return reflect.MapOf(rapid.SampledFrom([]reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int16](), reflect.TypeFor[uint64]()}).Draw(t, "key"), drawType(t, depth-1))
	case 4:
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "length"), drawType(t, depth-1))
	case 5, 6, 7:
		var fields []reflect.StructField
		for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
			tag := rapid.SampledFrom([]string{
				``, `json:"Name%d"`, `json:"b%d,omitempty"`, `json:"c%d,omitzero"`, `json:"d%d,string"`, `json:"-"`, `jsonschema:"optional"`, `json:",omitempty" jsonschema:"required"`,
				`jsonschema:"minimum=1,maximum=10"`, `jsonschema:"minLength=2,maxLength=3"`, `jsonschema:"pattern=^a"`, `jsonschema:"enum=1,enum=10"`,
			}).Draw(t, "tag")
			if strings.Contains(tag, "%d") {
				tag = fmt.Sprintf(tag, i)
			}
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: drawType(t, depth-1), Tag: reflect.StructTag(tag)})
		}
		return reflect.StructOf(fields)
	}
	return rapid.SampledFrom(basic).Draw(t, "basic")
}

// writer writes values that a schema accepts, or nearly.
type writer struct {
	d *contract.Document
	t *rapid.T
}

func (w writer) flip(most int) bool { return rapid.IntRange(0, most).Draw(w.t, "flip") == most }

func (w writer) value(s *contract.Schema, depth int) string {
	if w.flip(25) || s == nil || s.Nothing {
		return rapid.SampledFrom([]string{`null`, `true`, `0`, `-1`, `1.0`, `1e2`, `0.5`, `1e400`, `99999999999999999999`, `""`, `"a"`, `[]`, `[null]`, `{}`, `{"a":1}`, `"2026-11-21T17:45:00Z"`, `"AAE="`, `"1"`}).Draw(w.t, "odd")
	}
	if _, s = w.d.Resolve(s); len(s.AnyOf) > 0 {
		if depth > 4 {
			return "null"
		}
		return w.value(rapid.SampledFrom(s.AnyOf).Draw(w.t, "any of"), depth)
	}
	if len(s.Enum) > 0 && !w.flip(10) {
		return string(rapid.SampledFrom(s.Enum).Draw(w.t, "enum"))
	}
	types := s.Type
	if depth > 4 && types.Has("null") {
		return "null"
	}
	if len(types) == 0 {
		types = contract.Types{"null", "number", "string", "object"}
	}
	switch rapid.SampledFrom(types).Draw(w.t, "type") {
	case "null":
		return "null"
	case "boolean":
		return rapid.SampledFrom([]string{"true", "false"}).Draw(w.t, "boolean")
	case "integer":
		return rapid.SampledFrom([]string{"0", "1", "2", "-1", "10", "11", "127", "128", "65535", "65536", "9223372036854775807", "9223372036854775808"}).Draw(w.t, "integer")
	case "number":
		return rapid.SampledFrom([]string{"0", "-1", "1.5", "1e2", "10.0", "3e38", "4e38"}).Draw(w.t, "number")
	case "array":
		return w.array(s, depth)
	case "object":
		return w.object(s, depth)
	}
	return w.text(s)
}

func (w writer) text(s *contract.Schema) string {
	texts := []string{`""`, `"a"`, `"aa"`, `"aaa"`, `"é"`, `"1"`, `"10"`, `"true"`, `"\"a\""`, `"-5"`, `"1.5"`, `"2026-1-2"`}
	switch {
	case s.Format == "date-time":
		texts = append(texts[:1], `"2026-11-21T17:45:00Z"`, `"2026-11-21T17:45:00.123+01:00"`, `"2026-02-30T17:45:00Z"`, `"2026-11-21"`)
	case s.ContentEncoding != "":
		texts = []string{`""`, `"AAE="`, `"AAE"`, `"-"`}
	}
	return rapid.SampledFrom(texts).Draw(w.t, "string")
}

func (w writer) array(s *contract.Schema, depth int) string {
	n := rapid.IntRange(0, 2).Draw(w.t, "items")
	if s.MinItems != nil && !w.flip(10) {
		n = *s.MinItems
	}
	if depth > 6 && s.MinItems == nil {
		n = 0
	}
	items := make([]string, n)
	for i := range items {
		items[i] = w.value(s.Items, depth+1)
	}
	return "[" + strings.Join(items, ",") + "]"
}

func (w writer) object(s *contract.Schema, depth int) string {
	var members []string
	add := func(name string, s *contract.Schema) {
		quoted, _ := json.Marshal(name)
		members = append(members, string(quoted)+":"+w.value(s, depth+1))
	}
	for _, p := range s.Properties {
		switch {
		case w.flip(30) || depth > 4 && !s.IsRequired(p.Name):
		case w.flip(60):
			add(strings.ToUpper(p.Name), p.Schema)
		default:
			add(p.Name, p.Schema)
		}
	}
	if s.Properties == nil && depth <= 4 || w.flip(20) {
		of := s.AdditionalProperties
		if of == nil {
			of = &contract.Schema{}
		}
		name := rapid.SampledFrom([]string{"1", "-1", "07", "70000", "2026-11-21T17:45:00Z", "other"}).Draw(w.t, "name")
		add(name, of)
	}
	return "{" + strings.Join(members, ",") + "}"
}
