package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tags are the parts of the tag `jsonschema` of a field.
type tags []string

// tagsOf returns the parts of a field's tag. They are separated by commas. A backslash before a
// comma makes it part of the text.
func tagsOf(f reflect.StructField) (all tags) {
	tag := f.Tag.Get("jsonschema")
	if tag == "" {
		return nil
	}
	for i, part := range strings.Split(tag, ",") {
		if before := len(all) - 1; i > 0 && strings.HasSuffix(all[before], `\`) {
			all[before] = strings.TrimSuffix(all[before], `\`) + "," + part
			continue
		}
		all = append(all, part)
	}
	return all
}

func (t tags) has(part string) bool { return slices.Contains(t, part) }

// limited returns the shape with the limits of a field's tag.
func (s *Shape) limited(t tags) (*Shape, error) {
	if len(t) == 0 {
		return s, nil
	}
	switch s.Kind {
	case List, Array:
		elem := s.Elem
		if elem.Kind == List || elem.Kind == Array {
			return s, nil
		}
		values, err := elem.limited(t)
		if err != nil || values == elem {
			return s, err
		}
		s = new(*s)
		s.Elem = values
		return s, nil
	case String, Text, Int, Uint, Float, Number:
	default:
		return s, nil
	}
	if s.Quoted {
		return s, nil
	}
	own := new(*s)
	own.Limits, own.Tagged = &Limits{}, true
	limited := false
	for _, part := range t {
		name, value, found := strings.Cut(part, "=")
		if !found || strings.HasPrefix(name, "exclusive") {
			continue
		}
		limits, err := own.limit(name, value)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, value, err)
		}
		limited = limited || limits
	}
	if !limited {
		return s, nil
	}
	if err := own.Limits.inherit(s.Limits); err != nil {
		return nil, err
	}
	return own, nil
}

// limit adds a limit to the shape's own ones. It returns false if the name is none that limits
// values of the shape's kind.
func (s *Shape) limit(name, value string) (limits bool, err error) {
	l := s.Limits
	if s.Kind != String && s.Kind != Text {
		return s.limitNumber(name, value)
	}
	switch name {
	case "enum":
		text, err := json.Marshal(value)
		l.Enum, l.texts = append(l.Enum, text), append(l.texts, value)
		return true, err
	case "minLength":
		l.MinLength, err = length(value)
	case "maxLength":
		l.MaxLength, err = length(value)
	case "pattern":
		l.Pattern, err = regexp.Compile(value)
	default:
		return false, nil
	}
	return true, err
}

func length(value string) (*int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return nil, errors.New("want a whole number that is not below 0")
	}
	return &n, nil
}

// limitNumber is limit for numbers.
func (s *Shape) limitNumber(name, value string) (limits bool, err error) {
	l, b := s.Limits, &s.bounds
	switch name {
	case "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
	default:
		return false, nil
	}
	number, err := strconv.ParseFloat(value, 64)
	if err != nil || !json.Valid([]byte(value)) {
		return false, errors.New("want a number")
	}
	switch name {
	case "enum":
		l.Enum = append(l.Enum, json.RawMessage(value))
		l.texts, l.numbers = append(l.texts, value), append(l.numbers, number)
	case "minimum":
		l.Minimum = json.Number(value)
		b.minInt = max(b.minInt, wholeInt(value, math.Ceil(number)))
		b.minUint = max(b.minUint, wholeUint(value, math.Ceil(number)))
		b.minFloat = max(b.minFloat, number)
	case "maximum":
		l.Maximum = json.Number(value)
		b.maxInt = min(b.maxInt, wholeInt(value, math.Floor(number)))
		b.maxUint = min(b.maxUint, wholeUint(value, math.Floor(number)))
		b.maxFloat = min(b.maxFloat, number)
		if s.Kind == Uint && number < 0 { // no number is small enough
			b.minUint, b.maxUint = 1, 0
		}
	case "exclusiveMinimum":
		l.Above = json.Number(value)
		b.above(value, number)
	case "exclusiveMaximum":
		l.Below = json.Number(value)
		b.below(value, number)
	}
	return true, nil
}

// wholeInt returns a bound of whole numbers: that of the text if it is one, or the rounded number.
func wholeInt(text string, rounded float64) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	switch {
	case rounded >= math.MaxInt64:
		return math.MaxInt64
	case rounded <= math.MinInt64:
		return math.MinInt64
	}
	return int64(rounded)
}

// wholeUint is wholeInt for numbers without a sign.
func wholeUint(text string, rounded float64) uint64 {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	switch {
	case rounded >= math.MaxUint64:
		return math.MaxUint64
	case rounded <= 0:
		return 0
	}
	return uint64(rounded)
}

// above lets the numbers be above one.
func (b *bounds) above(value string, number float64) {
	b.minFloat = max(b.minFloat, math.Nextafter(number, math.Inf(1)))
	switch least := wholeInt(value, math.Floor(number)); {
	case number >= math.MaxInt64 && least == math.MaxInt64:
		b.minInt, b.maxInt = 1, 0
	case number >= math.MinInt64:
		b.minInt = max(b.minInt, least+1)
	}
	switch least := wholeUint(value, math.Floor(number)); {
	case least == math.MaxUint64:
		b.minUint, b.maxUint = 1, 0
	case number >= 0:
		b.minUint = max(b.minUint, least+1)
	}
}

// below lets the numbers be below one.
func (b *bounds) below(value string, number float64) {
	b.maxFloat = min(b.maxFloat, math.Nextafter(number, math.Inf(-1)))
	switch most := wholeInt(value, math.Ceil(number)); {
	case most == math.MinInt64:
		b.minInt, b.maxInt = 1, 0
	case number < math.MaxInt64 || most < math.MaxInt64:
		b.maxInt = min(b.maxInt, most-1)
	}
	switch most := wholeUint(value, math.Ceil(number)); {
	case most == 0:
		b.minUint, b.maxUint = 1, 0
	case number < math.MaxUint64 || most < math.MaxUint64:
		b.maxUint = min(b.maxUint, most-1)
	}
}
