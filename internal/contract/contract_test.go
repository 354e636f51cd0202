package contract

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const cart = `{
  "weftContract": 1,
  "workflows": {
    "cart": {
      "doc": "Workflow is the cart.",
      "input": {
        "$ref": "#/$defs/Start"
      },
      "updates": {
        "addItem": {
          "input": {
            "$ref": "#/$defs/Item"
          },
          "result": {
            "type": "integer"
          },
          "errors": [
            {
              "type": "unknownSku",
              "message": "there is no such article",
              "details": {
                "$ref": "#/$defs/Sku"
              }
            }
          ]
        }
      },
      "searchAttributes": {
        "Region": "keyword"
      },
      "pinned": true
    },
    "order": {}
  },
  "activities": {
    "charge": {
      "result": {
        "type": [
          "string",
          "null"
        ]
      },
      "local": true
    }
  },
  "$defs": {
    "Item": {
      "description": "a < b",
      "type": "object",
      "properties": {
        "sku": {
          "$ref": "#/$defs/Sku"
        },
        "quantity": {
          "type": "integer",
          "minimum": 1,
          "maximum": 18446744073709551615
        },
        "parts": {
          "items": {
            "$ref": "#/$defs/Item"
          }
        }
      },
      "required": [
        "sku"
      ],
      "additionalProperties": false
    },
    "Sku": {
      "type": "string",
      "x-unit": [
        1
      ]
    },
    "Start": {
      "type": "object"
    }
  }
}
`

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	d, err := Read([]byte(cart))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cart, string(d.Text())); diff != "" {
		t.Errorf("a document that was read and written differs:\n%s", diff)
	}
	if got := d.Types(); !slices.Equal(got, []string{"cart", "charge", "order"}) {
		t.Errorf("the types are %q", got)
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	d, err := Read([]byte(cart))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ types, workflows, activities, defs string }{
		{"cart", "cart", "", "Item Sku Start"},
		{"order", "order", "", ""},
		{"charge order", "order", "charge", ""},
	} {
		part, err := d.Only(strings.Fields(c.types)...)
		if err != nil {
			t.Fatal(err)
		}
		if w, a, f := strings.Join(Sorted(part.Workflows), " "), strings.Join(Sorted(part.Activities), " "), strings.Join(Sorted(part.Defs), " "); w != c.workflows || a != c.activities || f != c.defs {
			t.Errorf("Only(%s) has workflows %q, activities %q, $defs %q", c.types, w, a, f)
		}
		if _, err := Read(part.Text()); err != nil {
			t.Errorf("Only(%s) cannot be read: %v", c.types, err)
		}
	}
	d.AnyWorkflow = &Workflow{Signals: map[string]*Signal{"note": {Input: Reference("Sku")}}}
	if part, err := d.Only("crat"); err != nil || part.Workflows["crat"] != d.AnyWorkflow || part.Defs["Sku"] == nil || part.AnyWorkflow != nil {
		t.Errorf("a type that is not listed: %+v, %v", part, err)
	}
	d.AnyWorkflow = nil
	if _, err := d.Only("crat"); err == nil || err.Error() != `the contract has no type "crat"; it has "cart", "charge", "order"` {
		t.Errorf("Only(crat): %v", err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	d := &Document{Defs: map[string]*Schema{"A": Reference("B"), "B": Reference("C/~"), "C/~": {Type: Types{"string"}}, "X": Reference("Y"), "Y": Reference("X")}}
	if name, s := d.Resolve(Reference("A")); name != "C/~" || !s.Type.Has("string") {
		t.Errorf("A is %s, %v", name, s)
	}
	for _, s := range []*Schema{Reference("X"), Reference("missing"), {}} {
		if _, got := d.Resolve(s); got != s {
			t.Errorf("%v is %v", s, got)
		}
	}
	if _, got := d.Resolve(nil); got != nil {
		t.Errorf("no schema is %v", got)
	}
}

func TestNullable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":["string","null"]}`:                                     `{"type":"string"}`,
		`{"type":["string","null"],"enum":["a",null]}`:                   `{"type":"string","enum":["a"]}`,
		`{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}`:               `{"$ref":"#/$defs/A"}`,
		`{"type":"string"}`:                                              "",
		`{"type":"null"}`:                                                "",
		`{"anyOf":[{"type":"string"},{"type":"null"},{"type":"array"}]}`: "",
	} {
		var s *Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		rest, nullable := s.Nullable()
		if got, _ := json.Marshal(rest); nullable != (want != "") || nullable && string(got) != want {
			t.Errorf("%s: %v, %s; want %s", text, nullable, got, want)
		}
	}
}

func TestAny(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{}`: true, `true`: true, `{"description":"a"}`: true, `false`: false, `{"type":"string"}`: false, `{"not":{}}`: false} {
		var s *Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if got := s.Any(); got != want {
			t.Errorf("%s accepts any value: %v", text, got)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`]`:                            "no JSON document",
		`{"openapi": "3.1.0"}`:         `no "weftContract"`,
		`{"weftContract": 0}`:          "no such version",
		`{"weftContract": 2, "x": []}`: "weftContract is 2: this program reads versions up to 1 of a contract's format: use the version of Weft that wrote it",
		`{"weftContract": 1, "workflows": {"a": null}}`:                                                                     "null at workflow a itself",
		`{"weftContract": 1, "anyWorkflow": {"signals": {"b": null}}}`:                                                      "null at anyWorkflow: signal b",
		`{"weftContract": 1, "workflows": {"a": {"queries": {"b": null}}}}`:                                                 "null at workflow a: query b",
		`{"weftContract": 1, "workflows": {"a": {"input": {"$ref": "#/$defs/A"}}}}`:                                         `workflow a: input refers to "#/$defs/A", which`,
		`{"weftContract": 1, "$defs": {"A": {"items": {"$ref": "https://example.com"}}}}`:                                   `refers to #/$defs/NAME only`,
		`{"weftContract": 1, "workflows": {"a": {"input": 7}}}`:                                                             "an object, true or false",
		`{"weftContract": 1, "workflows": {"a": {"input": {"anyOf": [null]}}}}`:                                             "null",
		`{"weftContract": 1, "workflows": {"a": {"input": {"properties": {"b": null}}}}}`:                                   `"b" is null`,
		`{"weftContract": 1, "$defs": {"A": ` + strings.Repeat(`{"items":`, 3000) + `{}` + strings.Repeat(`}`, 3000) + `}}`: "nested more than",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v; want %q", text, err, want)
		}
	}
}

// known lists the keywords that Schema has fields for.
func TestKnown(t *testing.T) {
	t.Parallel()
	one := 1
	s := keywords{
		Ref: "a", Description: "a", Type: Types{"a"}, Format: "a", ContentEncoding: "a", Const: json.RawMessage("1"), Enum: []json.RawMessage{[]byte("1")}, Minimum: "1", Maximum: "1",
		MinLength: &one, MaxLength: &one, Pattern: "a", Properties: Properties{{"a", &Schema{}}}, Required: []string{"a"}, AdditionalProperties: &Schema{}, PropertyNames: &Schema{},
		PrefixItems: []*Schema{{}}, Items: &Schema{}, MinItems: &one, MaxItems: &one, AllOf: []*Schema{{}}, AnyOf: []*Schema{{}}, OneOf: []*Schema{{}},
	}
	text, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	sorted := slices.Sorted(slices.Values(known))
	if diff := cmp.Diff(Sorted(all), sorted); diff != "" {
		t.Error(diff)
	}
}

// What is read is written, and then reads as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(cart))
	f.Add([]byte(`{"weftContract":1,"workflows":{"a":{"input":{"anyOf":[true,false,{"type":["null"],"not":{},"properties":{"b":{}}}]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Read(text)
		if err != nil {
			return
		}
		written := d.Text()
		again, err := Read(written)
		if err != nil {
			t.Fatalf("%s cannot be read: %v", written, err)
		}
		if diff := cmp.Diff(string(written), string(again.Text())); diff != "" {
			t.Error(diff)
		}
		for _, s := range d.Schemas() {
			_, s := d.Resolve(s)
			s.Nullable()
			s.Any()
		}
		if _, err := d.Only(d.Types()...); err != nil {
			t.Error(err)
		}
	})
}
