package check

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// examine fails if a Checker and encoding/json differ about a text:
//   - What the Checker accepts decodes.
//   - The fast path accepts nothing else than the slow one.
//   - A lenient check accepts what a strict one does.
func examine(t rapid.TB, c *Checker, typ reflect.Type, text []byte) {
	t.Helper()
	strict, lenient := c.Check("input", text, false), c.Check("input", text, true)
	for _, isLenient := range []bool{false, true} {
		if new(fast).accepts(c.shape, text, isLenient) {
			if err := decide(c.shape, "input", text, isLenient); err != nil {
				t.Fatalf("the fast path accepts %s, the slow one refuses it: %v", text, err)
			}
		}
	}
	if strict == nil && lenient != nil {
		t.Fatalf("the strict check accepts %s, the lenient one refuses it: %v", text, lenient)
	}
	if lenient != nil {
		return
	}
	if err := json.Unmarshal(text, reflect.New(typ).Interface()); err != nil {
		t.Fatalf("%s is accepted, and does not decode: %v", text, err)
	}
}

// What encoding/json writes of a value, and reads again, is accepted, also with other white space.
// Changed in one place, it is judged as encoding/json judges it.
func TestProperty(t *testing.T) {
	t.Parallel()
	compiled := checkers(t)
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom(slices.Sorted(maps.Keys(types))).Draw(t, "type")
		typ, c := types[key], compiled[key]
		value := reflect.New(typ)
		fill(t, value.Elem(), 3)
		written := value.Interface()
		if rapid.Bool().Draw(t, "without an address") { // encoding/json does not ask its pointer
			written = value.Elem().Interface()
		}
		text, err := json.Marshal(written)
		if err != nil {
			t.Skip(err)
		}
		if json.Unmarshal(text, reflect.New(typ).Interface()) == nil {
			if err := c.Check("input", text, false); err != nil && !tagged(err) {
				t.Fatalf("encoding/json writes %s, which is refused: %v", text, err)
			}
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, text, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		if a, b := c.Check("input", text, false), c.Check("input", spaced.Bytes(), false); (a == nil) != (b == nil) {
			t.Fatalf("white space changes the verdict of %s: %v, %v", text, a, b)
		}
		examine(t, c, typ, text)
		for range 10 {
			examine(t, c, typ, mutate(t, text))
		}
	})
}

// A name that no field has is refused exactly if encoding/json takes it for that of a field.
func TestFolded(t *testing.T) {
	t.Parallel()
	compiled := checkers(t)
	letters := []rune("aAkK\u212asS\u017fäÄ_éİıßẞ")
	rapid.Check(t, func(t *rapid.T) {
		s := compiled[rapid.SampledFrom([]string{"folded", "item", "wide"}).Draw(t, "type")].shape
		field := rapid.SampledFrom(s.Fields).Draw(t, "field").Name
		name := rapid.OneOf(rapid.StringOfN(rapid.SampledFrom(letters), 0, 3, -1), rapid.Just(strings.ToUpper(field)), rapid.Just(strings.ReplaceAll(field, "k", "\u212a"))).Draw(t, "name")
		taken := ""
		for _, f := range s.Fields {
			if taken == "" && strings.EqualFold(f.Name, name) {
				taken = f.Name
			}
		}
		if err := s.folded(name); (err != nil) != (taken != "") || err != nil && err.Text != "write "+taken {
			t.Fatalf("%q is taken for the field %q, and the error is %v", name, taken, err)
		}
		if !s.folds([]byte(name)) && taken != "" {
			t.Fatalf("the fast path does not know that %q is taken for %q", name, taken)
		}
	})
}

// tagged reports whether an error is about what a tag or a type's schema demands, which random
// values break.
func tagged(err error) bool {
	for _, part := range []string{"of at", "one of", "that matches", "number above", "number below", "want true, got", "want 5, got", "input.deep: is missing"} {
		if strings.Contains(err.Error(), part) {
			return true
		}
	}
	return false
}

// pieces are what a text is changed with.
var pieces = []string{
	"null", "true", "0", "-0", "1.0", "1e2", "1e999", "-1", "128", "18446744073709551616", `""`, `"x"`, `"1"`, `"null"`, `"\u0061"`, "\"\xff\"",
	"{}", "[]", "[null]", `{"a":1,"a":2}`, `{"1":1}`, `"\"x\""`, `"2026-11-27T20:00:00Z"`, `"aGk="`, `"a\nGk="`, "\u212a", "K", ",", "{", "}", `"`, "\\", "e", ".",
}

// mutate changes a text in one place, mostly so that it is still JSON.
func mutate(t *rapid.T, text []byte) []byte {
	from := rapid.IntRange(0, len(text)).Draw(t, "from")
	to := from
	if rapid.Bool().Draw(t, "value") { // from the begin of a value to its end
		for from > 0 && !strings.ContainsRune(":[,", rune(text[from-1])) {
			from--
		}
		var raw json.RawMessage
		decoder := json.NewDecoder(bytes.NewReader(text[from:]))
		if decoder.Decode(&raw) == nil {
			to = from + int(decoder.InputOffset())
		}
	} else {
		to = min(len(text), from+rapid.IntRange(0, 3).Draw(t, "length"))
	}
	piece := rapid.SampledFrom(pieces).Draw(t, "piece")
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 2: // a member twice, or one less
		for from > 0 && !strings.ContainsRune("{,", rune(text[from-1])) {
			from--
		}
		to = from
		for to < len(text) && !strings.ContainsRune("},", rune(text[to])) {
			to++
		}
		if rapid.Bool().Draw(t, "less") {
			return slices.Concat(text[:from], text[min(to+1, len(text)):])
		}
		return slices.Concat(text[:to], []byte(","), text[from:])
	case 0:
		return slices.Concat(text[:from], []byte(strings.ToUpper(string(text[from:to]))), text[to:])
	case 1:
		return slices.Concat(text[:from], text[from:to], []byte(","), text[from:to], text[to:])
	}
	return slices.Concat(text[:from], []byte(piece), text[to:])
}

// fill fills a value with random ones.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
		return
	case *json.RawMessage:
		*p = json.RawMessage(rapid.SampledFrom([]string{"", "1e999", `{"a":[]}`}).Draw(t, "raw"))
		if len(*p) == 0 {
			*p = nil
		}
		return
	case *json.Number:
		*p = json.Number(rapid.SampledFrom([]string{"", "1e999", "-0.5"}).Draw(t, "number"))
		return
	case *netip.Addr:
		*p = netip.AddrFrom4([4]byte{1, 2, 3, byte(rapid.Byte().Draw(t, "byte"))})
		return
	case *big.Int:
		p.SetInt64(rapid.Int64().Draw(t, "big"))
		return
	case *own:
		p.n = rapid.Int().Draw(t, "own")
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int") >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint") >> (64 - v.Type().Bits()))
	case reflect.Float32:
		v.SetFloat(float64(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32).Draw(t, "float")))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "float"))
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"tea", "M", "red", "\xff", "<&>", "\u2028"})).Draw(t, "string"))
	case reflect.Pointer:
		if depth > 0 && rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 && rapid.Bool().Draw(t, "set") {
			v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 3).Draw(t, "length"), 3))
			for i := range v.Len() {
				fill(t, v.Index(i), depth-1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), depth-1)
		}
	case reflect.Map:
		if depth > 0 && rapid.Bool().Draw(t, "set") {
			v.Set(reflect.MakeMap(v.Type()))
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, k, depth-1)
				if k.Kind() == reflect.String {
					k.SetString(strings.ToValidUTF8(k.String(), "?"))
				}
				fill(t, e, depth-1)
				v.SetMapIndex(k, e)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), depth-1)
			}
		}
	case reflect.Interface:
		if v.NumMethod() == 0 {
			if value := rapid.SampledFrom([]any{nil, "x", 1.5, []any{1, nil}, map[string]any{"a": "b"}}).Draw(t, "any"); value != nil {
				v.Set(reflect.ValueOf(value))
			}
		}
	}
}

// FuzzCheck looks for a text about which a Checker and encoding/json differ, or that makes it
// panic.
func FuzzCheck(f *testing.F) {
	compiled := checkers(f)
	keys := slices.Sorted(maps.Keys(types))
	for i := range keys {
		for _, piece := range pieces {
			f.Add(uint8(i), []byte(piece))
		}
	}
	text, err := json.Marshal(order{Items: []line{{}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(slices.Index(keys, "order")), text)
	f.Fuzz(func(t *testing.T, i uint8, text []byte) {
		key := keys[int(i)%len(keys)]
		examine(t, compiled[key], types[key], text)
	})
}
