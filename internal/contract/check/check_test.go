package check

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// cases are what testdata/cases.json has. The web page's validator reads the same file.
type cases struct {
	// About says what the file is.
	About string `json:"about"`
	// Cases are the cases.
	Cases []struct {
		Name string `json:"name"`
		// Type is a key of types.
		Type string `json:"type"`
		// Text is the JSON.
		Text string `json:"text"`
		// Lenient requires no field.
		Lenient bool `json:"lenient,omitempty"`
		// GoOnly is a case that only Go refuses; see docs/contract.md.
		GoOnly bool `json:"goOnly,omitempty"`
		// Path and Reason are those of the error; empty if the text is accepted.
		Path   string `json:"path,omitempty"`
		Reason string `json:"reason,omitempty"`
	} `json:"cases"`
}

// checkers returns a Checker of each of types.
func checkers(t testing.TB) map[string]*Checker {
	t.Helper()
	all := map[string]*Checker{}
	for key, typ := range types {
		c, err := Compile(typ)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		all[key] = c
	}
	return all
}

func TestCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all cases
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	compiled := checkers(t)
	for _, test := range all.Cases {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			c := compiled[test.Type]
			if c == nil {
				t.Fatalf("there is no type %q", test.Type)
			}
			want, got := "", ""
			if test.Path != "" {
				want = test.Path + ": " + test.Reason
			}
			if err := c.Check("input", []byte(test.Text), test.Lenient); err != nil {
				got = err.Error()
				if e := new(Error); !errors.As(err, &e) || e.Path+": "+e.Reason() != got {
					t.Errorf("the error is %#v", err)
				}
			}
			if got != want {
				t.Errorf("%s\n got %s\nwant %s", test.Text, got, want)
			}
			if got != "" {
				return
			}
			if err := json.Unmarshal([]byte(test.Text), reflect.New(types[test.Type]).Interface()); err != nil {
				t.Errorf("%s is accepted, and does not decode: %v", test.Text, err)
			}
		})
	}
}

type pointerToItself *pointerToItself

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value any
		want  string
	}{
		{struct{ Done chan int }{}, ".Done: JSON cannot hold a chan int"},
		{struct {
			A []map[string]struct {
				F func() `json:"f"`
			}
		}{}, ".A[]{}.f: JSON cannot hold a func()"},
		{map[float64]int{}, "JSON cannot hold a map with keys of type float64"},
		{[]complex128{}, "[]: JSON cannot hold a complex128"},
		{new(pointerToItself), "JSON cannot hold a pointer to itself"},
		{struct {
			N int `jsonschema:"minimum=few"`
		}{}, ".N: the tag jsonschema: minimum=few: want a number"},
		{struct {
			S string `jsonschema:"minLength=-1"`
		}{}, ".S: the tag jsonschema: minLength=-1: want a whole number"},
		{struct {
			S string `jsonschema:"pattern=("`
		}{}, ".S: the tag jsonschema: pattern=(: error parsing regexp"},
	} {
		if _, err := Compile(reflect.TypeOf(test.value)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%T: %v, want %s", test.value, err, test.want)
		}
		if err := Verify(reflect.TypeOf(test.value)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Verify of %T: %v, want %s", test.value, err, test.want)
		}
	}
	for key, typ := range types {
		if err := Verify(typ); err != nil {
			t.Errorf("Verify of %s: %v", key, err)
		}
	}
}

func TestCompileIgnores(t *testing.T) {
	t.Parallel()
	type ignored struct {
		Done chan int `json:"-"`
		_    func()
		Text string `json:"text" jsonschema:"minimum=3,readOnly=true,title=x"`
	}
	c, err := Compile(reflect.TypeFor[ignored]())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check("input", []byte(`{"text":"x"}`), false); err != nil {
		t.Error(err)
	}
	if f := c.Shape().Field("text"); f == nil || f.Shape.Limits != nil || !f.Required {
		t.Errorf("the field is %+v", f)
	}
}

func TestShape(t *testing.T) {
	t.Parallel()
	c, err := Compile(reflect.TypeFor[item]())
	if err != nil {
		t.Fatal(err)
	}
	required := []string{}
	for _, f := range c.Shape().Fields {
		if f.Required {
			required = append(required, f.Name)
		}
	}
	if !reflect.DeepEqual(required, []string{"sku", "quantity"}) {
		t.Errorf("required are %v", required)
	}
	stars := c.Shape().Field("stars").Shape
	if stars.Kind != Int || !stars.Nullable || len(stars.Limits.Enum) != 2 || string(stars.Limits.Enum[1]) != "3" {
		t.Errorf("stars are %+v with %+v", stars, stars.Limits)
	}
	quantity := c.Shape().Field("quantity").Shape.Limits
	if quantity.Minimum != "1" || quantity.Maximum != "99" {
		t.Errorf("the quantity's limits are %+v", quantity)
	}
	if tags := c.Shape().Field("tags").Shape; tags.Kind != List || *tags.Elem.Limits.MaxLength != 3 {
		t.Errorf("tags are %+v", tags)
	}
}

// A long path must not make an error's cost grow with the square of the depth.
func TestDeepPath(t *testing.T) {
	t.Parallel()
	c, err := Compile(reflect.TypeFor[tree]())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat(`{"next":`, 9000) + "1" + strings.Repeat("}", 9000)
	err = c.Check("input", []byte(text), false)
	if err == nil || len(err.Error()) > 2*maxPath || !strings.HasSuffix(err.Error(), ".next: want object, got number") || !strings.HasPrefix(err.Error(), "input…") {
		t.Errorf("the error is %v", err)
	}
	text = strings.Repeat(`{"next":`, 11000) + "1" + strings.Repeat("}", 11000)
	if err = c.Check("input", []byte(text), false); err == nil || !strings.Contains(err.Error(), "exceeded max depth") {
		t.Errorf("the error is %v", err)
	}
}

// slug is a text with a decoder of the program's.
type slug string

func (*slug) UnmarshalText([]byte) error { return nil }

// A check says that it calls code of the program, wherever that is in the type.
func TestRunsCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		t    reflect.Type
		runs bool
	}{
		{reflect.TypeFor[item](), false},
		{reflect.TypeFor[map[int]json.RawMessage](), false},
		{reflect.TypeFor[slug](), true},
		{reflect.TypeFor[[]*slug](), true},
		{reflect.TypeFor[map[slug]int](), true},
		{reflect.TypeFor[map[string]struct{ S slug }](), true},
		{reflect.TypeFor[struct {
			M map[slug]bool `json:"m,omitempty"`
		}](), true},
	} {
		checker, err := Compile(c.t)
		if err != nil {
			t.Fatal(err)
		}
		if got := checker.RunsCode(); got != c.runs {
			t.Errorf("%s: %v", c.t, got)
		}
	}
}
