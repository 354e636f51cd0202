package settings

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting is the declaration of a setting.
type Setting struct {
	// Field is the name of the field.
	Field string
	// Variable and Flag are its names in the environment and on a command line. A setting of a
	// function has no flag, and some of a local server have no variable.
	Variable, Flag string
	// Values are the allowed ones, the default first; nil if the type says it.
	Values []string
	// Default is the value if it is not set, as an operator would write it; empty if there is none.
	Default string
	// Doc describes it.
	Doc string
	// Required says that it must be set. Most is the largest number or duration; empty is any.
	Required bool
	Most     string
	// Parameter is the template's parameter; empty if infra gives the value in another way, as
	// Given says.
	Parameter, Given string
	// Fallback is what infra gives if the parameter is empty; without it, that is Default.
	Fallback string
	// Pattern is what the value of the parameter must match, and Wrong what the module says if it
	// does not.
	Pattern, Wrong string
	// Type is that of the field.
	Type reflect.Type
}

// Of returns the settings that the fields of a struct declare, in their order.
func Of[T any]() (all []Setting) { return of(reflect.TypeFor[T]()) }

func of(t reflect.Type) (all []Setting) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			all = append(all, of(f.Type)...)
			continue
		}
		all = append(all, declared(f))
	}
	return all
}

// declared returns the setting that a field declares.
func declared(f reflect.StructField) Setting {
	tag := f.Tag.Get
	_, required := f.Tag.Lookup("required")
	s := Setting{
		Field: f.Name, Variable: tag("env"), Flag: flagOf(f), Required: required, Most: tag("most"), Parameter: tag("parameter"), Given: tag("given"),
		Fallback: tag("fallback"), Pattern: tag("pattern"), Wrong: tag("wrong"), Type: f.Type,
	}
	s.Doc, s.Default = tag("help"), tag("unset")
	if values := tag("enum"); values != "" {
		s.Values = strings.Split(values, ",")
		s.Default = cmp.Or(s.Default, s.Values[0])
	}
	return s
}

// flagOf returns the flag of a field, with kong's name.
func flagOf(f reflect.StructField) string {
	if name := f.Tag.Get("name"); name != "" {
		return name
	}
	var flag strings.Builder
	for i, r := range f.Name {
		if i > 0 && 'A' <= r && r <= 'Z' {
			flag.WriteByte('-')
		}
		flag.WriteString(strings.ToLower(string(r)))
	}
	return flag.String()
}

// Help returns the text of the help of a command: the description, and the default at its end.
func (s *Setting) Help() string {
	if s.Default == "" {
		return s.Doc
	}
	return strings.TrimSuffix(s.Doc, ".") + " (" + s.Default + ")."
}

// Variable returns the variable of a field of Function or ServerLogging. It panics if there is no
// such field.
func Variable(field string) string {
	for _, in := range []reflect.Type{reflect.TypeFor[Function](), reflect.TypeFor[ServerLogging]()} {
		if f, ok := in.FieldByName(field); ok {
			return f.Tag.Get("env")
		}
	}
	panic("there is no setting " + field)
}

// Read reads the variables of a struct. The error has everything that is wrong. The optional fields
// may be empty even if their tags require them.
func Read(get func(string) string, into any, optional ...string) error {
	return errors.Join(read(get, reflect.ValueOf(into).Elem(), optional)...)
}

func read(get func(string) string, into reflect.Value, optional []string) (wrong []error) {
	for i := range into.NumField() {
		f := into.Type().Field(i)
		if f.Anonymous {
			wrong = append(wrong, read(get, into.Field(i), optional)...)
			continue
		}
		if f.Tag.Get("reader") != "" {
			continue
		}
		s := declared(f)
		s.Required = s.Required && !slices.Contains(optional, f.Name)
		if err := s.read(get(s.Variable), into.Field(i)); err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong
}

// read sets the field of a setting to a value.
func (s *Setting) read(text string, to reflect.Value) error {
	switch {
	case text == "" && s.Required:
		return fmt.Errorf("%s is not set", s.Variable)
	case text == "" && s.Values == nil:
		return nil
	case s.Values != nil:
		if text == "" {
			text = s.Default
		}
		if !slices.Contains(s.Values, text) {
			return fmt.Errorf("%s is %q: give one of %q", s.Variable, text, s.Values)
		}
	}
	switch to := to.Addr().Interface().(type) {
	case *QueueURLs:
		if err := to.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%s: %w", s.Variable, err)
		}
	case encoding.TextUnmarshaler:
		if err := to.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%s is %w", s.Variable, err)
		}
	case *time.Duration:
		return s.readDuration(text, to)
	case *int:
		return s.readNumber(text, to)
	case *string:
		*to = text
	default:
		panic(fmt.Sprintf("%s has the type %s, which is not read", s.Field, s.Type))
	}
	return nil
}

func (s *Setting) readDuration(text string, to *time.Duration) error {
	most, err := time.ParseDuration(s.Most)
	if err != nil {
		panic(fmt.Sprintf("%s has no most: %v", s.Field, err))
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > most {
		return fmt.Errorf("%s is %q: give a duration up to %v, for example 30s", s.Variable, text, most)
	}
	*to = d
	return nil
}

func (s *Setting) readNumber(text string, to *int) error {
	most, err := strconv.Atoi(s.Most)
	if err != nil {
		panic(fmt.Sprintf("%s has no most: %v", s.Field, err))
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > most {
		return fmt.Errorf("%s is %q: give a number from 1 to %d", s.Variable, text, most)
	}
	*to = n
	return nil
}
