//lint:file-ignore SA5008 tags that encoding/json reads by special rules are what is tested
//lint:file-ignore U1000 fields that are no members are what is tested

package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

type item struct {
	SKU      string   `json:"sku" jsonschema:"minLength=1,maxLength=8,pattern=^[a-zé]+$"`
	Quantity int      `json:"quantity" jsonschema:"minimum=1,maximum=99,description=how many\\, at most 99"`
	Size     string   `json:"size,omitempty" jsonschema:"enum=S,enum=M,enum=L"`
	Price    float64  `json:"price" jsonschema:"optional,minimum=0.5"`
	Stars    *int     `json:"stars,omitempty" jsonschema:"enum=1,enum=3"`
	Tags     []string `json:"tags,omitempty" jsonschema:"maxLength=3"`
	Note     string   `json:"note,omitzero" jsonschema:"description=free,format=text"`
}

type numbers struct {
	I8  int8
	I64 int64
	U8  uint8
	U64 uint64
	F32 float32
	F64 float64
	N   json.Number
	D   time.Duration
	Any any
}

type texts struct {
	At    time.Time       `json:"at"`
	Blob  []byte          `json:"blob"`
	Raw   json.RawMessage `json:"raw"`
	Addr  netip.Addr      `json:"addr"`
	Big   *big.Int        `json:"big"`
	Color color           `json:"color,omitempty" jsonschema:"enum=red,enum=blue"`
	Own   own             `json:"own"`
	Out   outward         `json:"out,omitempty"`
}

type quoted struct {
	I int64       `json:"i,string"`
	U *uint16     `json:"u,string"`
	F float32     `json:"f,string"`
	B bool        `json:"b,string"`
	S string      `json:"s,string"`
	N json.Number `json:"n,string,omitempty"`
	C color       `json:"c,string,omitempty"`
	L []int       `json:"l,string"` // no value that the option is for
}

type mapped struct {
	S map[string]int        `json:"s"`
	I map[int8]bool         `json:"i"`
	U map[uint16]any        `json:"u"`
	A map[netip.Addr]string `json:"a"`
	M map[string]map[string]item
}

type lists struct {
	Two   [2]int
	Bytes [3]byte
	Deep  [][]*item
	Named []small
	Own   []letter
}

type base struct {
	ID   string    `json:"id"`
	Made time.Time `json:"made"`
}

type pointed struct {
	Level int `json:"level"`
	Deep  int `json:"deep" jsonschema:"required"`
}

type inner struct{ Inward int }

// Outer has the rules of embedding: a shadowed field, a pointer, an unexported struct, one that has
// a name by its tag, and two that hide each other.
type Outer struct {
	base
	*Pointed
	inner
	Named  inner `json:"named"`
	Tagged `json:"tagged"`
	Left
	Right
	ID     int `json:"id"`
	Hidden int `json:"-"`
	Dash   int `json:"-,"`
	Bad    int `json:"a\"b"`
	secret int
}

// Pointed is embedded by pointer.
type Pointed pointed

// Tagged is embedded with a name.
type Tagged struct{ X int }

// Left and Right have a field that each hides from the other, and one that a tag decides.
type Left struct{ Both, Mine int }

// Right is the other one.
type Right struct {
	Both  int
	Yours int `json:"Mine"`
}

type unset struct {
	*inner
	A int
}

type tree struct {
	Kids []tree           `json:"kids,omitempty"`
	Next *tree            `json:"next"`
	By   map[string]*tree `json:"by,omitempty"`
}

type box[T any] struct {
	Value T `json:"value"`
}

type interfaces struct {
	Err error
	Str fmt.Stringer `json:"str,omitempty"`
}

// declaring has types that declare their limits.
type declaring struct {
	Hue    hue            `json:"hue"`
	Red    *hue           `json:"red,omitempty" jsonschema:"enum=red,enum=green"`
	Hues   []hue          `json:"hues,omitempty"`
	By     map[string]hue `json:"by,omitempty"`
	Code   code           `json:"code,omitempty" jsonschema:"maxLength=2"`
	Age    age            `json:"age,omitempty"`
	Adult  age            `json:"adult,omitempty" jsonschema:"minimum=18"`
	Share  share          `json:"share,omitempty"`
	Yes    yes            `json:"yes,omitempty"`
	Size   size           `json:"size,omitempty"`
	Only   only           `json:"only,omitempty"`
	Quoted age            `json:"quoted,omitempty,string"`
}

type (
	hue   string
	code  string
	age   uint8
	share float64
	yes   bool
	size  int64
	only  int
)

func (hue) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"red", "blue"}}
}

func (*code) JSONSchema() *jsonschema.Schema {
	least, most := uint64(1), uint64(3)
	return &jsonschema.Schema{Type: "string", MinLength: &least, MaxLength: &most, Pattern: "^[a-z]*$"}
}

func (age) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", ExclusiveMinimum: "0", Maximum: "150"}
}

func (share) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "number", ExclusiveMinimum: "0", ExclusiveMaximum: "0.5"}
}

func (yes) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean", Const: true} }

func (size) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Enum: []any{1.0, 2, -3}, ExclusiveMinimum: "-1e19"}
}
func (only) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer", Const: 5} }

// small is a byte that writes itself, so a list of it is no base64.
type small byte

func (s small) MarshalText() ([]byte, error) { return []byte{'a' + byte(s)%26}, nil }

func (s *small) UnmarshalText(text []byte) error {
	if len(text) != 1 {
		return errors.New("want one letter")
	}
	*s = small(text[0] - 'a')
	return nil
}

type letter byte

type color string

func (c color) MarshalText() ([]byte, error) { return []byte(c), nil }

func (c *color) UnmarshalText(text []byte) error {
	if strings.HasPrefix(string(text), "#") {
		return fmt.Errorf("there is no color %s", text)
	}
	*c = color(text)
	return nil
}

// own takes a number above zero, and panics if it gets an object.
type own struct{ n int }

func (o own) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%d", o.n), nil }

func (o *own) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case '{':
		panic("an object")
	case '-':
		return errors.New("the number is below zero")
	}
	return json.Unmarshal(text, &o.n)
}

// outward is written as text and read as a struct.
type outward struct{ A int }

func (outward) MarshalText() ([]byte, error) { return []byte("out"), nil }

// pointers have types whose pointers alone encode themselves. encoding/json does not ask the
// pointer of a value without an address, as in a map.
type pointers struct {
	Level   level            `json:"level" jsonschema:"minimum=-20"`
	Levels  []level          `json:"levels"`
	By      map[string]level `json:"by"`
	Keys    map[level]level  `json:"keys"`
	Quoted  level            `json:"quoted,string"`
	Point   point            `json:"point"`
	Places  map[word]point   `json:"places"`
	Next    *point           `json:"next,omitempty"`
	Two     [2]point         `json:"two"`
	Word    word             `json:"word"`
	Words   map[word][]word  `json:"words"`
	Marked  marked           `json:"marked"`
	Marks   map[int8]marked  `json:"marks"`
	Outside map[string]shut  `json:"outside,omitempty"`
	Any     map[string]any   `json:"any,omitempty"`
	Blob    blob             `json:"blob"`
	Blobs   map[string]blob  `json:"blobs"`
	More    struct{ point }  `json:"more"`
}

// level and point write themselves as text if they have an address, and are read by their kind.
type (
	level int8
	point struct {
		X int    `json:"x"`
		Y *point `json:"y,omitempty"`
	}
	blob []byte
)

func (l *level) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "level %d", *l), nil }
func (p *point) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "at %d", p.X), nil }
func (b *blob) MarshalText() ([]byte, error)  { return fmt.Appendf(nil, "%x", string(*b)), nil }

// word is read as text too.
type word string

func (w *word) MarshalText() ([]byte, error)    { return []byte("w" + *w), nil }
func (w *word) UnmarshalText(text []byte) error { *w = word(text); return nil }

// marked and shut write themselves if they have an address. marked is read by its kind.
type (
	marked struct {
		N int `json:"n"`
	}
	shut []int
)

func (s *marked) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"n":%d,"mark":true}`, s.N), nil
}
func (s *shut) MarshalJSON() ([]byte, error) { return json.Marshal(len(*s)) }
func (s *shut) UnmarshalJSON(text []byte) error {
	var n int
	if json.Unmarshal(text, &n) == nil {
		*s = make(shut, min(max(n, 0), 100))
		return nil
	}
	return json.Unmarshal(text, (*[]int)(s))
}

type folded struct {
	Kelvin int `json:"kelvin"`
	ſ      int
	Lower  int `json:"a"`
	Upper  int `json:"A"`
	Umlaut int `json:"ä,omitempty"`
}

type wide struct {
	A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, B0, B1, B2, B3, B4, B5, B6, B7, B8, B9 int
	C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, D0, D1, D2, D3, D4, D5, D6, D7, D8, D9 int
	E0, E1, E2, E3, E4, E5, E6, E7, E8, E9, F0, F1, F2, F3, F4, F5, F6, F7, F8, F9 int
	G0, G1, G2, G3, G4, G5, G6, G7, G8, G9                                         int
}

type selfList []selfList

// types are the types of cases.json and of the properties.
var types = map[string]reflect.Type{
	"item":       reflect.TypeFor[item](),
	"order":      reflect.TypeFor[order](),
	"numbers":    reflect.TypeFor[numbers](),
	"texts":      reflect.TypeFor[texts](),
	"quoted":     reflect.TypeFor[quoted](),
	"maps":       reflect.TypeFor[mapped](),
	"lists":      reflect.TypeFor[lists](),
	"outer":      reflect.TypeFor[Outer](),
	"unset":      reflect.TypeFor[unset](),
	"tree":       reflect.TypeFor[tree](),
	"box":        reflect.TypeFor[box[[]item]](),
	"interfaces": reflect.TypeFor[interfaces](),
	"pointers":   reflect.TypeFor[pointers](),
	"levels":     reflect.TypeFor[map[string]level](),
	"point":      reflect.TypeFor[point](),
	"folded":     reflect.TypeFor[folded](),
	"wide":       reflect.TypeFor[wide](),
	"selfList":   reflect.TypeFor[selfList](),
	"string":     reflect.TypeFor[string](),
	"int":        reflect.TypeFor[int](),
	"pointer":    reflect.TypeFor[**item](),
	"any":        reflect.TypeFor[any](),
	"raw":        reflect.TypeFor[json.RawMessage](),
	"time":       reflect.TypeFor[struct{ time.Time }](),
	"big":        reflect.TypeFor[big.Int](),
	"list":       reflect.TypeFor[[]item](),
	"map":        reflect.TypeFor[map[string]item](),
	"declaring":  reflect.TypeFor[declaring](),
	"hue":        reflect.TypeFor[hue](),
	"share":      reflect.TypeFor[share](),
	"empty":      reflect.TypeFor[struct{}](),
}
