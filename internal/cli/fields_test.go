package cli

import (
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// orderShape is the shape of an input that has something of everything.
func orderShape(t *testing.T) *Shape {
	t.Helper()
	d, err := contract.Read([]byte(`{"weftContract": 1, "workflows": {"order": {"input": {"$ref": "#/$defs/Order"}}}, "$defs": {
		"Order": {"type": "object", "properties": {
			"sku": {"type": "string"}, "quantity": {"type": "integer"}, "price": {"type": ["number", "null"]}, "gift": {"type": "boolean"},
			"item": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]}, "lines": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Item"}},
			"labels": {"type": "object", "additionalProperties": {"type": "integer"}}, "how": {"enum": ["fast", "slow"]}, "any": {}, "a.b": {"type": "integer"},
			"wait": {"type": ["integer", "null"], "format": "duration"}
		}, "required": ["sku"]},
		"Item": {"type": "object", "properties": {"sku": {"type": "string"}, "inner": {"$ref": "#/$defs/Item"}, "size": {"type": "integer"}}}
	}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &Shape{What: "order", Contract: d, Schema: d.Workflows["order"].Input}
}

// Fields make an object, whose values have the types of the contract.
func TestFields(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"sku=tea quantity=2":          `{"sku":"tea","quantity":2}`,
		"sku=2 quantity=-2 gift=true": `{"sku":"2","quantity":-2,"gift":true}`,
		"sku=":                        `{"sku":""}`,
		"sku=a=b":                     `{"sku":"a=b"}`,
		"sku=null price=null":         `{"sku":"null","price":null}`,
		"price=1.5e3":                 `{"price":1.5e3}`,
		"item.sku=7 item.size=7 item.inner.size=08": "-f item.inner.size=08: item.inner.size is of type integer, and \"08\" is not",
		"item.sku=7 sku=x item.inner.size=8":        `{"item":{"sku":"7","inner":{"size":8}},"sku":"x"}`,
		"item=null":                                 `{"item":null}`,
		"item:={\"sku\":1}":                         `{"item":{"sku":1}}`,
		"lines:=[{},{}]":                            `{"lines":[{},{}]}`,
		"labels.x=3 labels.y=4":                     `{"labels":{"x":3,"y":4}}`,
		"how=fast any=7 any2.x=7":                   `-f any2.x=7: the input of order has no field "any2"; it has "sku", "quantity", "price", "gift", "item", "lines", "labels", "how", "any", "a.b", "wait": did you mean "any"?`,
		"any.deep.er=7":                             `{"any":{"deep":{"er":"7"}}}`,
		"Quantity:=7":                               `did you mean "quantity"?`,
		"item.sze=7":                                `item has no field "sze"; it has "sku", "inner", "size": did you mean "size"?`,
		"item.inner.color=7":                        `item.inner has no field "color"; it has "sku", "inner", "size"`,
		"a.b=3":                                     `{"a.b":3}`,
		"quantity=two":                              `quantity is of type integer, and "two" is not`,
		"quantity=2.0":                              `quantity is of type integer, and "2.0" is not`,
		"gift=yes":                                  `gift is of type boolean, and "yes" is not`,
		"lines=a":                                   "lines is of type list of Item: give it as lines:=JSON",
		"item=a":                                    "give it as item:=JSON",
		"lines.sku=a":                               "lines has no fields: it is of type list of Item",
		"sku.x=a":                                   "sku has no fields: it is of type string",
		"sku":                                       "-f sku: give NAME=VALUE, or NAME:=JSON",
		"=a":                                        "give NAME=VALUE",
		":=1":                                       "give NAME=VALUE",
		"item..sku=a":                               `"item..sku" is no name of a field`,
		"sku=a sku=b":                               "sku is given twice",
		"item:={} item.sku=b":                       "item has a value already",
		"item.sku=b item:={}":                       "item is given twice",
		"sku:=tea":                                  "the value is no JSON",
		"wait=5s item.size=7":                       `{"wait":5000000000,"item":{"size":7}}`,
		"wait=1h30m":                                `{"wait":5400000000000}`,
		"wait=-1.5ms":                               `{"wait":-1500000}`,
		"wait=7":                                    `{"wait":7}`,
		"wait=null":                                 `{"wait":null}`,
		"wait=3000000h":                             `wait is of type integer of nanoseconds, and "3000000h" is not: give a duration such as 90s or 1h30m, or nanoseconds`,
		"wait=soon":                                 `wait is of type integer of nanoseconds, and "soon" is not: give a duration such as 90s or 1h30m, or nanoseconds`,
		"quantity=5s":                               `quantity is of type integer, and "5s" is not`,
	} {
		got, err := Input{Fields: strings.Fields(given)}.Typed(orderShape(t))
		if strings.HasPrefix(want, "{") {
			if err != nil || string(got) != want {
				t.Errorf("%s: %s, %v; want %s", given, got, err, want)
			}
			continue
		}
		fails(t, given, err, Usage, want)
	}
}

// Without a contract, a value is a text or JSON.
func TestFieldsWithoutAContract(t *testing.T) {
	t.Parallel()
	s, _ := testSession(t, nil)
	got, err := Input{Fields: []string{"sku=2", "a.b=true", "a.n:=2"}}.Read(s)
	if want := `{"sku":"2","a":{"b":"true","n":2}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	_, err = Input{Fields: []string{"sku"}}.Read(s)
	fails(t, "no value", err, Usage, "give NAME=VALUE")
}

// An input without fields takes none.
func TestNoFields(t *testing.T) {
	t.Parallel()
	i := Input{Fields: []string{"a=b"}}
	_, err := i.Typed(&Shape{What: "update checkout", Contract: &contract.Document{}})
	fails(t, "no input", err, Usage, "update checkout takes no input: leave -f out")
	_, err = i.Typed(&Shape{What: "signal note", Contract: &contract.Document{}, Schema: &contract.Schema{Type: contract.Types{"string"}}})
	fails(t, "a text", err, Usage, "the input of signal note has no fields: it is of type string; give it with -d")
}

// What follows a name says how the field is given.
func TestEnding(t *testing.T) {
	t.Parallel()
	shape := orderShape(t)
	for name, want := range map[string]string{"sku": "=", "quantity": "=", "price": "=", "gift": "=", "how": "=", "item": ".", "item.inner": ".", "item.size": "=", "lines": ":=", "labels": ":=", "any": ":="} {
		if got := shape.Ending(strings.Split(name, ".")...); got != want {
			t.Errorf("%s%s; want %s", name, got, want)
		}
	}
}
