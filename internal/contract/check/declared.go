package check

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// declare sets the limits that a type declares with its method JSONSchema, if the type is a string,
// a boolean or a number without a decoder of its own. Of the schema it reads the keywords at the
// top that a tag may have too, and const, exclusiveMinimum and exclusiveMaximum. A schema for
// values of another kind limits nothing: the Go type decides what decodes.
func (s *Shape) declare() {
	switch s.Kind {
	case String, Bool, Int, Uint, Float:
	default:
		return
	}
	keywords := schemaOf(s.Type)
	if keywords == nil || s.AlsoText || !s.hasType(keywords["type"]) {
		return
	}
	own := new(*s)
	own.Limits = &Limits{}
	limited := false
	for _, name := range []string{"enum", "const"} {
		if text := keywords[name]; text != nil && own.among(name, text) {
			limited = true
		}
	}
	if s.Kind == Bool {
		keywords = nil
	}
	for _, name := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern"} {
		value, ok := plain(keywords[name])
		if !ok {
			continue
		}
		if limits, err := own.limit(name, value); err == nil && limits {
			limited = true
		}
	}
	if limited {
		*s = *own
	}
}

// schemaOf returns the keywords of the schema that the method JSONSchema of a type returns; nil if
// it has none. A method that fails limits nothing: whoever writes the contract reports it. The
// method is called by its name, so that this package does not depend on the module of its result.
func schemaOf(t reflect.Type) (keywords map[string]json.RawMessage) {
	if t.Name() == "" || t.PkgPath() == "" {
		return nil
	}
	method := reflect.New(t).MethodByName("JSONSchema")
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 || method.Type().Out(0).String() != "*jsonschema.Schema" {
		return nil
	}
	defer func() {
		if recover() != nil {
			keywords = nil
		}
	}()
	text, err := json.Marshal(method.Call(nil)[0].Interface())
	if err != nil || json.Unmarshal(text, &keywords) != nil {
		return nil
	}
	return keywords
}

// hasType reports whether the keyword type of a schema has that of the shape. A schema without the
// keyword has all.
func (s *Shape) hasType(text json.RawMessage) bool {
	if text == nil {
		return true
	}
	var one string
	var all []string
	if json.Unmarshal(text, &one) == nil {
		all = []string{one}
	} else if json.Unmarshal(text, &all) != nil {
		return false
	}
	return slices.Contains(all, s.jsonType()) || slices.Contains(all, "integer") && s.jsonType() == "number"
}

// plain returns the value of a keyword as the text that a tag has.
func plain(text json.RawMessage) (value string, ok bool) {
	switch {
	case len(text) == 0:
		return "", false
	case text[0] == '"':
		return value, json.Unmarshal(text, &value) == nil
	}
	return string(text), true
}

// among lets the shape accept only the values of the keyword enum or const. It returns false if no
// value of the shape's kind is among them, or among those that it accepted before.
func (s *Shape) among(name string, text json.RawMessage) bool {
	all := []json.RawMessage{text}
	if name == "enum" {
		all = nil
		if json.Unmarshal(text, &all) != nil || all == nil {
			return false
		}
	}
	listed := &Limits{Enum: []json.RawMessage{}}
	for _, value := range all {
		if typeOf(value[0]) == s.jsonType() {
			s.list(listed, value)
		}
	}
	listed.only = name == "const" && s.Limits.Enum == nil
	met := new(*s.Limits)
	if met.meet(listed); len(met.Enum) == 0 {
		return false
	}
	*s.Limits = *met
	return true
}

// list adds a value to an enum. An integer has the form that Go writes.
func (s *Shape) list(l *Limits, value json.RawMessage) {
	plain, _ := plain(value)
	number := 0.0
	switch s.Kind {
	case Int, Uint:
		plain = whole(plain)
		if plain == "" {
			return
		}
		value = json.RawMessage(plain)
	case Float:
		number, _ = strconv.ParseFloat(plain, 64)
	}
	l.Enum, l.texts, l.numbers = append(l.Enum, value), append(l.texts, plain), append(l.numbers, number)
}

// whole returns a number as Go writes integers; "" if it has a fraction.
func whole(number string) string {
	if !strings.ContainsAny(number, ".eE") {
		return number
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n != math.Trunc(n) {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// meet leaves out the values of the enum that another one does not have.
func (l *Limits) meet(other *Limits) {
	if other.Enum == nil {
		return
	}
	if l.Enum == nil {
		l.Enum, l.texts, l.numbers, l.only = other.Enum, other.texts, other.numbers, l.only || other.only
		return
	}
	both := &Limits{Enum: []json.RawMessage{}}
	for i, text := range l.texts {
		if slices.Contains(other.texts, text) {
			both.Enum, both.texts = append(both.Enum, l.Enum[i]), append(both.texts, text)
			if l.numbers != nil {
				both.numbers = append(both.numbers, l.numbers[i])
			}
		}
	}
	l.Enum, l.texts, l.numbers = both.Enum, both.texts, both.numbers
}

// inherit adds the limits of the field's type to those of its tag. It fails if the tag lists no
// value that the type accepts.
func (l *Limits) inherit(of *Limits) error {
	if of == nil {
		return nil
	}
	if l.meet(of); of.Enum != nil && len(l.Enum) == 0 {
		return fmt.Errorf("no value of its enum is one of the type's own schema, which wants %s", of.oneOf())
	}
	l.MinLength, l.MaxLength = stricter(l.MinLength, of.MinLength, 1), stricter(l.MaxLength, of.MaxLength, -1)
	l.Minimum, l.Maximum = strictest(l.Minimum, of.Minimum, 1), strictest(l.Maximum, of.Maximum, -1)
	l.Above, l.Below = of.Above, of.Below
	if l.Pattern == nil {
		l.Pattern = of.Pattern
	} else {
		l.TypePattern = of.Pattern
	}
	return nil
}

// stricter returns the larger of two lengths, or the smaller one if sign is -1.
func stricter(a, b *int, sign int) *int {
	if a == nil || b != nil && sign**b > sign**a {
		return b
	}
	return a
}

// strictest is stricter for numbers.
func strictest(a, b json.Number, sign float64) json.Number {
	x, err := a.Float64()
	if y, none := b.Float64(); err != nil || none == nil && sign*y > sign*x {
		return b
	}
	return a
}
