package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/internal/near"
)

// decide is the slow path. It returns the first error of a text, or nil.
func decide(s *Shape, at string, text []byte, lenient bool) *Error {
	if len(bytes.TrimSpace(text)) == 0 {
		return &Error{Path: at, Text: "is missing"}
	}
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return &Error{Path: at, Text: "is not JSON: " + err.Error()}
	}
	w := walker{text: text, lenient: lenient}
	err := w.value(s)
	if err != nil {
		err.Path = at + err.Path
	}
	return err
}

// walker walks a text that is JSON. The paths of its errors begin at the value that it was asked
// for.
type walker struct {
	text    []byte
	at      int
	lenient bool
}

// next returns the next byte that is not white space.
func (w *walker) next() byte {
	for {
		switch c := w.text[w.at]; c {
		case ' ', '\n', '\t', '\r', ',', ':':
			w.at++
		default:
			return c
		}
	}
}

// skip reads a value, and returns its text.
func (w *walker) skip() []byte {
	w.next()
	from, nested := w.at, 0
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case '"':
			w.skipString()
		case '{', '[':
			nested++
			w.at++
		case '}', ']':
			nested--
			w.at++
		case ',', ':', ' ', '\n', '\t', '\r':
			w.at++
			continue
		default:
			w.skipWord()
		}
		if nested == 0 {
			break
		}
	}
	return w.text[from:w.at]
}

func (w *walker) skipString() {
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
}

// skipWord reads a number, true, false or null.
func (w *walker) skipWord() {
	for w.at < len(w.text) && !bytes.ContainsRune([]byte(",:]} \n\t\r"), rune(w.text[w.at])) {
		w.at++
	}
}

// string reads a string, and returns its value.
func (w *walker) string() (value string, raw []byte) {
	raw = w.skip()
	if json.Unmarshal(raw, &value) != nil { // cannot be: the text is JSON
		return "", raw
	}
	return value, raw
}

// each calls member for each value of an object or an array, until there is an error.
func (w *walker) each(end byte, member func() *Error) *Error {
	w.next()
	for w.at++; w.next() != end; {
		if err := member(); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

// value reads a value of a shape.
func (w *walker) value(s *Shape) *Error {
	c := w.next()
	switch {
	case c == 'n' && s.Nullable:
		w.skip()
		return nil
	case s.Quoted:
		return w.quoted(s)
	}
	switch s.Kind {
	case Raw:
		w.skip()
		return nil
	case Any:
		return w.any()
	case Own:
		return w.own(s)
	case Never:
		return &Error{Text: "cannot be set: the field is in an embedded pointer to an unexported struct"}
	}
	if got := typeOf(c); got != s.jsonType() {
		return &Error{Want: s.want(), Got: got}
	}
	switch s.Kind {
	case List, Array:
		return w.list(s)
	case Map:
		return w.members(s)
	case Struct:
		return w.object(s)
	}
	return w.scalar(s)
}

// any reads a value whose numbers a float64 holds.
func (w *walker) any() *Error {
	switch c := w.next(); c {
	case '{':
		return w.each('}', func() *Error {
			name, _ := w.string()
			return under(member(name), w.any())
		})
	case '[':
		i := -1
		return w.each(']', func() *Error {
			i++
			return under(index(i), w.any())
		})
	default:
		if text := w.skip(); typeOf(c) == "number" && !isFloat(text, 64) {
			return &Error{Want: "number that 64 bits hold", Got: excerpt(text)}
		}
		return nil
	}
}

// own reads a value that its type decodes.
func (w *walker) own(s *Shape) *Error {
	if err := s.own(w.skip()); err != nil {
		return &Error{Text: cut(err.Error(), maxReason)}
	}
	return nil
}

// quoted reads a value that is in a string.
func (w *walker) quoted(s *Shape) *Error {
	want := s.want() + " in a string"
	if got := typeOf(w.next()); got != "string" {
		return &Error{Want: want, Got: got}
	}
	if value, raw := w.string(); !s.unquotes([]byte(value)) {
		return &Error{Want: want, Got: excerpt(raw)}
	}
	return nil
}

// scalar reads a value whose JSON type is right.
func (w *walker) scalar(s *Shape) *Error {
	switch s.Kind {
	case Bool:
		text := w.skip()
		if want := s.Limits.brokenBool(text[0] == 't'); want != "" {
			return &Error{Want: want, Got: excerpt(text)}
		}
		return nil
	case Int, Uint, Float, Number:
		if text := w.skip(); !s.holds(text) {
			return &Error{Want: s.wantNumber(text), Got: excerpt(text)}
		}
		return nil
	}
	value, raw := w.string()
	switch s.Kind {
	case Time:
		if new(time.Time).UnmarshalJSON(raw) != nil {
			return &Error{Want: s.want(), Got: excerpt(raw)}
		}
	case Bytes:
		if decode(raw, s.Type) != nil {
			return &Error{Want: s.want(), Got: excerpt(raw)}
		}
	default:
		if want := s.Limits.broken([]byte(value)); want != "" {
			return &Error{Want: want, Got: excerpt(raw)}
		}
		if s.Kind == Text {
			if err := s.own(raw); err != nil {
				return &Error{Text: cut(err.Error(), maxReason)}
			}
		}
	}
	return nil
}

// list reads an array.
func (w *walker) list(s *Shape) *Error {
	n := 0
	err := w.each(']', func() *Error {
		if n++; s.Kind == Array && n > s.Length {
			w.skip()
			return nil
		}
		return under(index(n-1), w.value(s.Elem))
	})
	if err == nil && s.Kind == Array && n != s.Length {
		err = &Error{Want: s.want(), Got: strconv.Itoa(n)}
	}
	return err
}

// members reads the object of a map.
func (w *walker) members(s *Shape) *Error {
	seen := map[string]bool{}
	return w.each('}', func() *Error {
		name, raw := w.string()
		if seen[name] {
			return under(member(name), &Error{Text: "is there twice"})
		}
		seen[name] = true
		switch s.Key.Kind {
		case Text:
			if err := s.Key.own(raw); err != nil {
				return under(member(name), &Error{Text: "the name: " + cut(err.Error(), maxReason)})
			}
		case Int, Uint:
			if !s.Key.isKey([]byte(name)) {
				return under(member(name), &Error{Want: s.Key.wantNumber([]byte(name)) + " as the name", Got: excerpt(raw)})
			}
		}
		return under(member(name), w.value(s.Elem))
	})
}

// maxUnknown is how many unknown members may be the misspelt one, and how long they are.
const maxUnknown, maxUnknownLength = 20, 100

// object reads the object of a struct.
func (w *walker) object(s *Shape) *Error {
	seen := make([]bool, len(s.Fields))
	var unknown []string
	err := w.each('}', func() *Error {
		name, _ := w.string()
		i, found := s.byName[name]
		if !found {
			if err := s.folded(name); err != nil {
				return err
			}
			if w.skip(); len(unknown) < maxUnknown && len(name) <= maxUnknownLength {
				unknown = append(unknown, name)
			}
			return nil
		}
		if seen[i] {
			return under(member(name), &Error{Text: "is there twice"})
		}
		seen[i] = true
		return under(member(name), w.value(s.Fields[i].Shape))
	})
	if err != nil || w.lenient {
		return err
	}
	for i, f := range s.Fields {
		if f.Required && !seen[i] {
			text := "is missing"
			if name := near.Name(f.Name, unknown); name != "" {
				text += fmt.Sprintf("; there is %q", cut(name, maxExcerpt))
			}
			return under(member(f.Name), &Error{Text: text})
		}
	}
	return nil
}

// folded returns an error if encoding/json takes an unknown name for that of a field, because it
// ignores capitals.
func (s *Shape) folded(name string) *Error {
	if len(name) > s.longest {
		return nil
	}
	if i, found := s.byFolded[fold(name)]; found {
		return under(member(name), &Error{Text: "write " + s.Fields[i].Name})
	}
	return nil
}

// under puts a step before the path of an error.
func under(step string, err *Error) *Error {
	switch {
	case err == nil:
	case len(err.Path) < maxPath:
		err.Path = step + err.Path
	case !strings.HasPrefix(err.Path, "…"):
		err.Path = "…" + err.Path
	}
	return err
}

// maxPath is how long the path of an error is. Earlier steps are left out.
const maxPath = 1000

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// member returns the step to a member.
func member(name string) string {
	name = cut(name, maxExcerpt)
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '$':
		default:
			return "[" + strconv.Quote(name) + "]"
		}
	}
	if name == "" {
		return `[""]`
	}
	return "." + name
}

// excerpt returns the text of a value for a message.
func excerpt(text []byte) string { return cut(string(text), maxExcerpt) }

// typeOf returns the JSON type of a value that begins with c.
func typeOf(c byte) string {
	switch c {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// jsonType returns the JSON type of the shape's values.
func (s *Shape) jsonType() string {
	switch s.Kind {
	case Bool:
		return "boolean"
	case Int, Uint, Float, Number:
		return "number"
	case List, Array:
		return "array"
	case Map, Struct:
		return "object"
	case Null:
		return "null"
	}
	return "string"
}

// want returns what the shape wants.
func (s *Shape) want() string {
	switch s.Kind {
	case Int, Uint:
		return "integer"
	case Time:
		return "date-time"
	case Bytes:
		return "base64"
	case Array:
		return fmt.Sprintf("array of %d", s.Length)
	}
	return s.jsonType()
}

// wantNumber returns what the shape wants instead of a number that it does not hold.
func (s *Shape) wantNumber(text []byte) string {
	if l := s.Limits; l != nil && l.Enum != nil {
		return l.oneOf()
	}
	b := &s.bounds
	least, most := "", ""
	switch s.Kind {
	case Int, Uint:
		if !isWhole(text) {
			return s.want()
		}
		least, most = strconv.FormatInt(b.minInt, 10), strconv.FormatInt(b.maxInt, 10)
		if s.Kind == Uint {
			least, most = strconv.FormatUint(b.minUint, 10), strconv.FormatUint(b.maxUint, 10)
		}
	default:
		if s.Kind == Float && !isFloat(text, s.Bits) {
			return fmt.Sprintf("number that %d bits hold", s.Bits)
		}
		n, _ := strconv.ParseFloat(string(text), 64)
		return s.want() + " " + s.Limits.bound(n)
	}
	if s.below(text) {
		return s.want() + " of at least " + least
	}
	return s.want() + " of at most " + most
}

// below reports whether a number, which the shape does not hold, is below its bounds.
func (s *Shape) below(text []byte) bool {
	switch s.Kind {
	case Int:
		n, err := strconv.ParseInt(string(text), 10, 64)
		return err == nil && n < s.bounds.minInt || err != nil && text[0] == '-'
	case Uint:
		n, err := strconv.ParseUint(string(text), 10, 64)
		return err == nil && n < s.bounds.minUint || err != nil && text[0] == '-'
	}
	return false
}

// bound returns the bound that a number breaks.
func (l *Limits) bound(n float64) string {
	breaks := func(bound json.Number, sign float64, too bool) bool {
		b, err := bound.Float64()
		return err == nil && (sign*n < sign*b || too && n == b)
	}
	switch {
	case breaks(l.Above, 1, true):
		return "above " + l.Above.String()
	case breaks(l.Below, -1, true):
		return "below " + l.Below.String()
	case breaks(l.Minimum, 1, false):
		return "of at least " + l.Minimum.String()
	}
	return "of at most " + l.Maximum.String()
}
