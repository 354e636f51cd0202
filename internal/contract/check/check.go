// Package check checks JSON against a Go type before it is decoded. A [Checker] is compiled once
// for a type, and reports the place of the first error.
//
// A Checker has two paths. The fast one reads the text with jsontext. It accepts the text or gives
// up, and allocates nothing. The slow one decides then, and knows the place of the error. What a
// Checker accepts decodes with encoding/json, and what encoding/json writes of a value is accepted.
package check

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"
)

// Checker checks the JSON of one Go type. It is safe for concurrent use.
type Checker struct {
	shape *Shape
	fast  sync.Pool // of *fast
}

// Compile returns a Checker for the JSON of a type. Its error names the field that JSON cannot
// hold, or the tag that is wrong.
func Compile(t reflect.Type) (*Checker, error) {
	shape, err := compile(t)
	if err != nil {
		return nil, err
	}
	return &Checker{shape: shape, fast: sync.Pool{New: func() any { return new(fast) }}}, nil
}

// Shape describes what the Checker accepts.
func (c *Checker) Shape() *Shape { return c.shape }

// RunsCode reports whether Check may call a decoder of the program's, which may hang.
func (c *Checker) RunsCode() bool { return c.shape.custom }

// Check returns an [Error] about the first place of a text that the type does not accept, or nil.
// at begins the path of the error, as in "input". A lenient check requires no field.
func (c *Checker) Check(at string, text []byte, lenient bool) error {
	f := c.fast.Get().(*fast)
	ok := f.accepts(c.shape, text, lenient)
	c.fast.Put(f)
	if ok {
		return nil
	}
	if err := decide(c.shape, at, text, lenient); err != nil {
		return err
	}
	return nil
}

// Error is a value that a type does not accept.
type Error struct {
	// Path is the place of the value, as in "input.items[3].sku".
	Path string
	// Want and Got are what is wanted there, and what there is. They are empty if Text says it.
	Want, Got string
	// Text says what is wrong if it is not the value's type.
	Text string
}

// Error returns the path and what is wrong there.
func (e *Error) Error() string { return e.Path + ": " + e.Reason() }

// Place returns the path.
func (e *Error) Place() string { return e.Path }

// Reason returns what is wrong, without the path.
func (e *Error) Reason() string {
	if e.Text != "" {
		return e.Text
	}
	return fmt.Sprintf("want %s, got %s", e.Want, e.Got)
}

// Sizes of what a caller sent and a message repeats, in characters.
const (
	maxExcerpt = 40
	maxReason  = 200 // of a type's own decoder
)

// cut returns a text for a message, which has at most n characters.
func cut(s string, n int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
