package schemas

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/invopop/jsonschema"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/check"
	"github.com/seed-41655fb1/weft/internal/contract/schemas/testdata/other"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

type (
	// Basics has the basic types.
	Basics struct {
		Text     string
		Yes      bool            `json:"yes"`
		Int      int             `json:"int"`
		Int8     int8            `json:"int8"`
		Int16    int16           `json:"int16"`
		Int32    int32           `json:"int32"`
		Int64    int64           `json:"int64"`
		Uint     uint            `json:"uint"`
		Uint8    uint8           `json:"uint8"`
		Uint32   uint32          `json:"uint32"`
		Uint64   uint64          `json:"uint64"`
		Float32  float32         `json:"float32"`
		Float64  float64         `json:"float64"`
		Number   json.Number     `json:"number"`
		Time     time.Time       `json:"time"`
		Duration time.Duration   `json:"duration"`
		Bytes    []byte          `json:"bytes"`
		Raw      json.RawMessage `json:"raw"`
		Any      any             `json:"any"`
		Reader   io.Reader       `json:"reader"`
		Skipped  int             `json:"-"`
		//lint:ignore SA5008 encoding/json takes this for the name "-"
		Dash int `json:"-,"`
		//lint:ignore U1000 JSON does not have it
		private int
	}
	Presence struct {
		Required  string    `json:"required"`
		OmitEmpty string    `json:"omitEmpty,omitempty"`
		OmitZero  time.Time `json:"omitZero,omitzero"`
		Pointer   *string   `json:"pointer"`
		Absent    *Item     `json:"absent,omitempty"`
		Optional  string    `json:"optional" jsonschema:"optional"`
		Demanded  string    `json:"demanded,omitempty" jsonschema:"required"`
	}
	Item struct {
		SKU      SKU `json:"sku" jsonschema:"minLength=1,maxLength=20,pattern=^[a-z]{1\\,20}$,description=The article."`
		Quantity int `json:"quantity" jsonschema:"minimum=1,maximum=99"`
	}
	SKU   string
	Lists struct {
		Items    []Item           `json:"items"`
		Pointers []*Item          `json:"pointers"`
		Named    Items            `json:"named"`
		Pair     [2]Item          `json:"pair"`
		Sums     map[string]Item  `json:"sums"`
		ByNumber map[int]string   `json:"byNumber"`
		ByCount  map[uint8]string `json:"byCount"`
		ByTime   map[time.Time]*Item
		ByAny    map[string]any
		Matrix   [][]float64
		Bytes    [][]byte
		Letters  []Letter
		Colors   []string `jsonschema:"enum=red,enum=blue"`
		Ratings  Ratings  `jsonschema:"minimum=1,maximum=5"`
	}
	Items   []Item
	Ratings []int
	Letter  byte
	Enums   struct {
		Color  string  `json:"color" jsonschema:"enum=red,enum=blue"`
		Size   *int    `json:"size" jsonschema:"enum=1,enum=2"`
		Rate   float64 `json:"rate" jsonschema:"minimum=0.5,multipleOf=2,title=Rate,default=3,example=4"`
		Format string  `json:"format" jsonschema:"format=email,nullable,enum=a"`
	}
	Quoted struct {
		Int    int     `json:"int,string"`
		Uint   *uint8  `json:"uint,string"`
		Float  float64 `json:"float,string"`
		Bool   bool    `json:"bool,string"`
		String string  `json:"string,string"`
	}
	Base struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Own  int    `json:"own"`
	}
	Shadow struct {
		Name bool `json:"name"`
		Base
		*Extra
		Inner Base
		Also  Embeds `json:"also"`
	}
	Extra struct {
		Extra string `json:"extra"`
		ID    int    `json:"id"`
	}
	Embeds struct {
		Base `json:"base"`
		inner
	}
	inner struct{ Promoted string }
	Tree  struct {
		Name     string           `json:"name"`
		Children []Tree           `json:"children"`
		Parent   *Tree            `json:"parent"`
		ByName   map[string]*Tree `json:"byName"`
	}
	Forest []Forest
	Maze   map[string]Maze
	A      struct{ B *B }
	B      struct{ A *A }

	Box[T any]      struct{ Value T }
	Pairs[K, V any] struct{ Keys []K }
	Generic         struct {
		Box   Box[Item]
		Other Box[other.Item]
		Both  Pairs[string, *Box[int]]
		Deep  Box[Box[Item]]
	}
	Named struct {
		Ours, More Item
		Theirs     other.Item
	}

	// Hue, Share, Step, Consent and Code declare limits.
	Hue     string
	Share   float64
	Step    int
	Consent bool
	Code    string
	// Declaring has types that declare limits, some of them beside a tag.
	Declaring struct {
		Hue     Hue             `json:"hue"`
		Red     *Hue            `json:"red" jsonschema:"enum=red,enum=green"`
		Hues    Hues            `json:"hues"`
		By      map[string]Hue  `json:"by"`
		Share   *Share          `json:"share" jsonschema:"maximum=1"`
		Step    Step            `json:"step,omitzero" jsonschema:"minimum=2"`
		Steps   []Step          `json:"steps,omitempty" jsonschema:"enum=1,enum=10"`
		Consent *Consent        `json:"consent"`
		Code    Code            `json:"code,omitempty" jsonschema:"minLength=2,pattern=a$"`
		Quoted  Step            `json:"quoted,omitempty,string"`
		ByHue   map[Hue]Consent `json:"byHue"`
	}
	Hues []Hue

	// Money encodes itself and declares its schema.
	Money struct{ cents int64 }
	// Secret encodes itself and declares no schema.
	Secret struct{ text string }
	// Day encodes itself as text.
	Day struct{ y, m, d int }
	// Pointed declares its schema with a pointer receiver.
	Pointed struct{ Text string }
	// Extends declares a description.
	Extends struct{ Text string }
	Oneself struct {
		Money    Money   `json:"money"`
		Tip      *Money  `json:"tip"`
		Secret   Secret  `json:"secret"`
		Day      Day     `json:"day"`
		NoDay    *Day    `json:"noDay"`
		Pointed  Pointed `json:"pointed"`
		Extends  Extends `json:"extends"`
		Promoted struct {
			Pointed
			X int
		} `json:"promoted"`
		PromotedName  Promotes `json:"promotedName"`
		PromotedMoney struct {
			Money
			X int
		} `json:"promotedMoney"`
		PromotedPointer struct {
			*Money
			X int
		} `json:"promotedPointer"`
		PromotedOwn struct {
			*Pointed
			X int
		} `json:"promotedOwn"`
		Linked Linked `json:"linked"`
	}
	Promotes struct {
		Pointed
		X int
	}
	// Linked declares a schema with $defs.
	Linked struct{ text string }
	// Note and Spot encode themselves as text if they have an address, and are read by their kind.
	Note  int8
	Spot  struct{ X int }
	Noted struct {
		OneAlso  Note
		ByAlso   map[string]Note
		SomeAlso []Note `json:",omitempty"`
		DeepAlso *Spot
	}
	Standard struct {
		Int    big.Int
		IntP   *big.Int
		Float  *big.Float
		Rat    *big.Rat
		Addr   netip.Addr
		Prefix netip.Prefix
		IP     net.IP
		URL    *url.URL
		UUID   uuid.UUID
		Text   encoding.TextMarshaler
	}
)

func (m Money) MarshalJSON() ([]byte, error)     { return json.Marshal(fmt.Sprint(m.cents)) }
func (m *Money) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &m.cents) }
func (Money) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^[0-9]+$"}
}
func (s Secret) MarshalJSON() ([]byte, error)     { return json.Marshal(s.text) }
func (s *Secret) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &s.text) }
func (d Day) MarshalText() ([]byte, error)        { return fmt.Appendf(nil, "%d-%d-%d", d.y, d.m, d.d), nil }

func (d *Day) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%d-%d-%d", &d.y, &d.m, &d.d)
	return err
}

func (n *Note) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "note %d", *n), nil }
func (s *Spot) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "at %d", s.X), nil }

func (*Pointed) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Title: "Pointed"}
}
func (Extends) JSONSchemaExtend(s *jsonschema.Schema) { s.Description = "What it extends." }
func (l Linked) MarshalJSON() ([]byte, error)         { return json.Marshal(l.text) }
func (l *Linked) UnmarshalJSON(text []byte) error     { return json.Unmarshal(text, &l.text) }
func (Linked) JSONSchema() *jsonschema.Schema {
	part := &jsonschema.Schema{Ref: "#/$defs/part"}
	return &jsonschema.Schema{
		Version: jsonschema.Version, ID: "https://example.com/linked", AnyOf: []*jsonschema.Schema{part, {Type: "array", Items: &jsonschema.Schema{Ref: "#"}}},
		Definitions: jsonschema.Definitions{"part": {Type: "array", Items: part}},
	}
}

// program is a document with all schemas of a set.
func program(t *testing.T, s *Set, lenient bool, types ...reflect.Type) *contract.Document {
	t.Helper()
	d := &contract.Document{Version: contract.Version, Activities: map[string]*contract.Activity{}}
	for _, typ := range types {
		schema, err := s.Add(typ, lenient)
		if err != nil {
			t.Fatal(err)
		}
		d.Activities[typ.String()] = &contract.Activity{Input: schema}
	}
	d.Defs = s.Defs()
	return d
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, types := range map[string][]reflect.Type{
		"basics":    {reflect.TypeFor[Basics](), reflect.TypeFor[*Basics](), reflect.TypeFor[string](), reflect.TypeFor[*int](), reflect.TypeFor[any](), reflect.TypeFor[[]byte]()},
		"presence":  {reflect.TypeFor[Presence]()},
		"lists":     {reflect.TypeFor[Lists](), reflect.TypeFor[[]string](), reflect.TypeFor[map[string]int]()},
		"enums":     {reflect.TypeFor[Enums]()},
		"quoted":    {reflect.TypeFor[Quoted]()},
		"embedded":  {reflect.TypeFor[Shadow]()},
		"recursive": {reflect.TypeFor[Tree](), reflect.TypeFor[Forest](), reflect.TypeFor[Maze](), reflect.TypeFor[A]()},
		"generic":   {reflect.TypeFor[Generic]()},
		"named":     {reflect.TypeFor[Named]()},
		"own":       {reflect.TypeFor[Oneself](), reflect.TypeFor[Money](), reflect.TypeFor[Noted]()},
		"standard":  {reflect.TypeFor[Standard]()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := program(t, &Set{}, false, types...).Text()
			if _, err := contract.Read(got); err != nil {
				t.Errorf("it cannot be read: %v", err)
			}
			golden(t, name+".json", got)
		})
	}
}

func TestLenient(t *testing.T) {
	t.Parallel()
	s := &Set{}
	program(t, s, true, reflect.TypeFor[Tree](), reflect.TypeFor[Presence](), reflect.TypeFor[Forest]())
	s.roots = nil
	golden(t, "lenient.json", program(t, s, false, reflect.TypeFor[Presence](), reflect.TypeFor[Forest]()).Text())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -rewrite writes it:\n%s", file, cmp.Diff(string(want), string(got)))
	}
}

func TestSilent(t *testing.T) {
	t.Parallel()
	s := &Set{}
	program(t, s, false, reflect.TypeFor[Oneself](), reflect.TypeFor[Standard](), reflect.TypeFor[Basics]())
	if got := strings.Join(s.Silent(), " "); got != "schemas.Secret" {
		t.Errorf("types without a schema: %s", got)
	}
	s = &Set{Declared: func(t reflect.Type) []byte {
		if t == reflect.TypeFor[Secret]() {
			return []byte(`{"type":"string","x-secret":true}`)
		}
		return nil
	}}
	d := program(t, s, false, reflect.TypeFor[*Secret]())
	if s.Silent() != nil {
		t.Errorf("types without a schema: %v", s.Silent())
	}
	if text := string(d.Text()); !strings.Contains(text, `"x-secret": true`) || !strings.Contains(text, `"null"`) {
		t.Error(text)
	}
}

type (
	nilSchema  struct{ Secret }
	panics     struct{ Secret }
	foreign    struct{ Secret }
	hidden     struct{ Secret }
	badDefs    struct{ Secret }
	nullDefs   struct{ Secret }
	HasChannel struct{ Items []struct{ C chan int } }
	HasBadTag  struct {
		A int `jsonschema:"minimum=a"`
	}
)

func (Hue) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"red", "a", "1"}}
}

func (Share) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "number", ExclusiveMinimum: "-1", ExclusiveMaximum: "10"}
}

func (*Step) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", ExclusiveMinimum: "0", Maximum: "10"}
}

func (Consent) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "boolean", Const: true}
}

func (Code) JSONSchema() *jsonschema.Schema {
	most := uint64(3)
	return &jsonschema.Schema{Type: "string", MaxLength: &most, Pattern: "^a"}
}

func (nilSchema) JSONSchema() *jsonschema.Schema { return nil }
func (panics) JSONSchema() *jsonschema.Schema    { panic("no") }
func (foreign) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Items: &jsonschema.Schema{Ref: "https://example.com/x"}}
}

func (hidden) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Items: &jsonschema.Schema{Not: &jsonschema.Schema{Ref: "#"}}}
}

func (badDefs) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Extras: map[string]any{"$defs": 7}}
}

func (nullDefs) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Definitions: jsonschema.Definitions{"a": nil}}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for want, typ := range map[string]reflect.Type{
		"JSONSchema of schemas.nilSchema returned nil":                    reflect.TypeFor[nilSchema](),
		"JSONSchema of schemas.panics panicked: no":                       reflect.TypeFor[*panics](),
		`schemas.foreign refers to "https://example.com/x": it may refer`: reflect.TypeFor[[]foreign](),
		`schemas.hidden has a reference in "not"`:                         reflect.TypeFor[struct{ A hidden }](),
		"the $defs in the schema of schemas.badDefs":                      reflect.TypeFor[badDefs](),
		`schemas.nullDefs has null as "a"`:                                reflect.TypeFor[nullDefs](),
		"schemas.HasChannel.Items[].C: JSON cannot hold a chan int":       reflect.TypeFor[HasChannel](),
		"HasBadTag.A: the tag jsonschema: minimum=a: want a number":       reflect.TypeFor[HasBadTag](),
	} {
		if _, err := (&Set{}).Add(typ, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", typ, err, want)
		}
	}
	if _, err := (&Set{}).AddText(reflect.TypeFor[Secret](), []byte("7")); err == nil {
		t.Error("7 is a schema")
	}
}

// The schema that a converter gives for a basic type stands where it is used, and that for a named
// type is a definition.
func TestConvertedTypes(t *testing.T) {
	t.Parallel()
	s := &Set{}
	for typ, text := range map[reflect.Type]string{
		reflect.TypeFor[int](): `{"type":"string","pattern":"^[0-9]+$"}`, reflect.TypeFor[*string](): `{"$ref":"#/$defs/part","$defs":{"part":{"type":"string"}}}`,
		reflect.TypeFor[[]int](): `{"type":"string"}`, reflect.TypeFor[Item](): `{"type":"string"}`,
	} {
		if _, err := s.AddText(typ, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(contract.Sorted(s.Defs()), " "); got != "Item string_part" {
		t.Errorf("the definitions are %s", got)
	}
}

// Types of one name, in functions of one package, get numbers.
func TestLocalTypes(t *testing.T) {
	t.Parallel()
	one := func() reflect.Type { type Local struct{ A int }; return reflect.TypeFor[Local]() }
	two := func() reflect.Type { type Local struct{ B int }; return reflect.TypeFor[Local]() }
	d := program(t, &Set{}, false, one())
	if got := strings.Join(contract.Sorted(d.Defs), " "); got != "Local" {
		t.Errorf("one: %s", got)
	}
	d = program(t, &Set{}, false, reflect.TypeFor[struct{}](), one(), two())
	const path = "github.com_seed-41655fb1_weft_internal_contract_schemas_Local"
	if got := strings.Join(contract.Sorted(d.Defs), " "); got != path+"_1 "+path+"_2" {
		t.Errorf("two: %s", got)
	}
}

// Names do not depend on the order in which types are added, unless they are local.
func TestNamesAreStable(t *testing.T) {
	t.Parallel()
	types := []reflect.Type{reflect.TypeFor[Item](), reflect.TypeFor[other.Item](), reflect.TypeFor[Generic](), reflect.TypeFor[Tree]()}
	first := contract.Sorted(program(t, &Set{}, false, types...).Defs)
	last := contract.Sorted(program(t, &Set{}, false, types[3], types[2], types[1], types[0]).Defs)
	if diff := cmp.Diff(first, last); diff != "" {
		t.Error(diff)
	}
}

// A schema shares nothing with the checker: null is added to the list of one, and not to the other.
func TestEnumOfNullable(t *testing.T) {
	t.Parallel()
	type sized struct {
		Size *int `jsonschema:"enum=1,enum=2,enum=3"`
	}
	program(t, &Set{}, false, reflect.TypeFor[sized]())
	checker, err := check.Of(reflect.TypeFor[sized]())
	if err != nil {
		t.Fatal(err)
	}
	if enum := checker.Shape().Fields[0].Shape.Limits.Enum; len(enum) != 3 || cap(enum) > 3 && enum[:4][3] != nil {
		t.Errorf("the checker's list is %s", enum[:cap(enum)])
	}
}
