package check

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/internal/jsontext"
)

// fast is the fast path. It accepts a text or gives up. Its memory is used again.
type fast struct {
	r       jsontext.Reader
	lenient bool
	seen    []uint64 // bits of the fields of the structs that are being read
	names   [][]byte // of the maps that are being read
}

// maxKept is how many names a fast path keeps room for. A larger map leaves nothing behind that
// later checks would have to clear.
const maxKept = 256

// accepts reports whether the text is a value of the shape. It returns false if it does not know.
func (f *fast) accepts(s *Shape, text []byte, lenient bool) bool {
	f.r.Reset(text)
	f.lenient = lenient
	f.seen, f.names = f.seen[:0], f.names[:0]
	f.value(s)
	ok := f.r.OK() && len(f.r.Rest()) == 0
	if cap(f.names) > maxKept {
		f.names = nil
	}
	clear(f.names[:cap(f.names)])
	f.r.Reset(nil)
	return ok
}

// value reads a value of a shape.
func (f *fast) value(s *Shape) {
	r := &f.r
	c := r.Next()
	switch {
	case c == 'n' && s.Nullable:
		r.Value()
	case s.Quoted:
		f.quoted(s)
	default:
		f.kind(s, c)
	}
}

// kind reads a value that begins with c.
func (f *fast) kind(s *Shape, c byte) {
	r := &f.r
	switch s.Kind {
	case Raw:
		r.Value()
	case Any:
		f.any(c)
	case Own:
		if text := r.Value(); r.OK() && s.own(text) != nil {
			r.Fail()
		}
	case String, Text:
		f.string(s, c)
	case Time:
		var t time.Time
		if t.UnmarshalText(r.Text()) != nil {
			r.Fail()
		}
	case Bytes:
		if !isBase64(r.Text()) {
			r.Fail()
		}
	case Bool:
		if value := r.Bool(); r.OK() && s.Limits.brokenBool(value) != "" {
			r.Fail()
		}
	case Int, Uint, Float, Number:
		if text := r.Number(); r.OK() && !s.holds(text) {
			r.Fail()
		}
	case List, Array:
		f.list(s)
	case Map:
		f.members(s)
	case Struct:
		f.object(s)
	default:
		r.Fail()
	}
}

// any reads a value whose numbers a float64 holds.
func (f *fast) any(c byte) {
	r := &f.r
	switch c {
	case '{':
		for first := r.Enter('{'); r.More('}', first); first = false {
			r.Name()
			f.any(r.Next())
		}
	case '[':
		for first := r.Enter('['); r.More(']', first); first = false {
			f.any(r.Next())
		}
	case '"', 't', 'f', 'n':
		r.Value()
	default:
		if text := r.Number(); r.OK() && !isFloat(text, 64) {
			r.Fail()
		}
	}
}

// string reads a string that begins with c.
func (f *fast) string(s *Shape, c byte) {
	r := &f.r
	switch {
	case c != '"' || s.Kind == Text && s.Limits != nil:
		r.Fail()
	case s.Kind == Text:
		if text := r.Value(); r.OK() && s.own(text) != nil {
			r.Fail()
		}
	case s.Limits == nil:
		r.Value()
	default:
		if text := r.Text(); r.OK() && s.Limits.broken(text) != "" {
			r.Fail()
		}
	}
}

// quoted reads a value that is in a string.
func (f *fast) quoted(s *Shape) {
	if text := f.r.Text(); f.r.OK() && !s.unquotes(text) {
		f.r.Fail()
	}
}

// list reads an array.
func (f *fast) list(s *Shape) {
	n := 0
	for first := f.r.Enter('['); f.r.More(']', first); first = false {
		f.value(s.Elem)
		n++
	}
	if s.Kind == Array && n != s.Length {
		f.r.Fail()
	}
}

// members reads the object of a map.
func (f *fast) members(s *Shape) {
	base, sorted := len(f.names), true
	for first := f.r.Enter('{'); f.r.More('}', first); first = false {
		name := f.r.Name()
		if s.Key.Kind != String && (s.Key.Kind == Text || !s.Key.isKey(name)) {
			f.r.Fail()
			return
		}
		if sorted && len(f.names) > base {
			sorted = bytes.Compare(f.names[len(f.names)-1], name) < 0
		}
		f.names = append(f.names, name)
		f.value(s.Elem)
	}
	if names := f.names[base:]; !sorted {
		slices.SortFunc(names, bytes.Compare)
		for i := range names[1:] {
			if bytes.Equal(names[i], names[i+1]) {
				f.r.Fail()
			}
		}
	}
	f.names = f.names[:base]
}

// object reads the object of a struct.
func (f *fast) object(s *Shape) {
	base := len(f.seen)
	for range s.required {
		f.seen = append(f.seen, 0)
	}
	next := 0
	for first := f.r.Enter('{'); f.r.More('}', first); first = false {
		name := f.r.Name()
		i, found := next, next < len(s.Fields) && string(name) == s.Fields[next].Name
		if !found {
			i, found = s.byName[string(name)]
		}
		if !found {
			if s.folds(name) {
				f.r.Fail()
				return
			}
			f.r.Value()
			continue
		}
		word, bit := &f.seen[base+i/64], uint64(1)<<(i%64)
		if *word&bit != 0 {
			f.r.Fail()
			return
		}
		*word |= bit
		f.value(s.Fields[i].Shape)
		next = i + 1
	}
	for i, required := range s.required {
		if !f.lenient && f.seen[base+i]&required != required {
			f.r.Fail()
		}
	}
	f.seen = f.seen[:base]
}

// folds reports whether an unknown name may be that of a field for encoding/json, which ignores
// capitals.
func (s *Shape) folds(name []byte) bool {
	var folded [maxFolded]byte
	switch {
	case len(name) > s.longest:
		return false
	case len(name) > len(folded):
		return true
	}
	for i, c := range name {
		switch {
		case c >= utf8.RuneSelf:
			return true
		case c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		folded[i] = c
	}
	_, found := s.byFolded[string(folded[:len(name)])]
	return found
}

// maxFolded is how long a name may be for the fast path to know that it is not that of a field.
const maxFolded = 64

// holds reports whether the shape holds the number of a text, which is one.
func (s *Shape) holds(text []byte) bool {
	switch b := &s.bounds; s.Kind {
	case Int:
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil || n < b.minInt || n > b.maxInt {
			return false
		}
	case Uint:
		n, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil || n < b.minUint || n > b.maxUint {
			return false
		}
	default:
		if s.Kind == Float && !isFloat(text, s.Bits) {
			return false
		}
		if s.Limits == nil {
			return true
		}
		n, _ := strconv.ParseFloat(string(text), 64)
		return n >= b.minFloat && n <= b.maxFloat && (s.Limits.Enum == nil || slices.Contains(s.Limits.numbers, n))
	}
	if s.Limits == nil || s.Limits.Enum == nil {
		return true
	}
	for _, value := range s.Limits.texts {
		if value == string(text) || value == "0" && string(text) == "-0" {
			return true
		}
	}
	return false
}

// plainDigits is how many characters a number without an exponent may have so that each float holds
// it.
const plainDigits = 38

// isFloat reports whether a float of this size holds the number of a text.
func isFloat(text []byte, bits int) bool {
	if len(text) <= plainDigits && bytes.IndexByte(text, 'e') < 0 && bytes.IndexByte(text, 'E') < 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(text), bits)
	return err == nil
}

// isKey reports whether a name is a key of a map whose keys are whole numbers.
func (s *Shape) isKey(name []byte) bool {
	return isWhole(name) && s.holds(name)
}

// isWhole reports whether a text is a whole number in its shortest form.
func isWhole(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 || digits[0] == '0' && len(text) > 1 {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// unquotes reports whether the value of a string is JSON that the shape holds.
func (s *Shape) unquotes(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	first, last := text[0], text[len(text)-1]
	switch s.Kind {
	case Bool:
		return string(text) == "true" || string(text) == "false"
	case String:
		return first == '"' && last == '"' && json.Valid(text)
	}
	isNumber := (first == '-' || first >= '0' && first <= '9') && last >= '0' && last <= '9'
	return isNumber && json.Valid(text) && s.holds(text)
}

// isBase64 reports whether a text without escapes is in base64.
func isBase64(text []byte) bool {
	if len(text)%4 != 0 {
		return false
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("=")), []byte("="))
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/':
		default:
			return false
		}
	}
	return true
}

// broken returns what the limits want of a string that they refuse, or "".
func (l *Limits) broken(text []byte) string {
	if l == nil {
		return ""
	}
	if l.Enum != nil {
		found := false
		for _, value := range l.texts {
			found = found || value == string(text)
		}
		if !found {
			return l.oneOf()
		}
	}
	if n := utf8.RuneCount(text); l.MinLength != nil && n < *l.MinLength {
		return "string of at least " + characters(*l.MinLength)
	} else if l.MaxLength != nil && n > *l.MaxLength {
		return "string of at most " + characters(*l.MaxLength)
	}
	for _, pattern := range [...]*regexp.Regexp{l.Pattern, l.TypePattern} {
		if pattern != nil && !pattern.Match(text) {
			return "string that matches " + pattern.String()
		}
	}
	return ""
}

// brokenBool is broken for a boolean.
func (l *Limits) brokenBool(value bool) string {
	if l == nil || l.Enum == nil || slices.Contains(l.texts, strconv.FormatBool(value)) {
		return ""
	}
	return l.oneOf()
}

// oneOf names the values that are accepted.
func (l *Limits) oneOf() string {
	if l.only {
		return string(l.Enum[0])
	}
	return "one of " + string(bytes.Join(slices.Collect(func(yield func([]byte) bool) {
		for _, value := range l.Enum {
			if !yield(value) {
				return
			}
		}
	}), []byte(", ")))
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return strconv.Itoa(n) + " characters"
}
