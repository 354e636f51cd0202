// Package jsontext reads JSON in one pass if it has the form that Weft exports. A [Reader] gives up
// on anything else: what encoding/json refuses, and what it reads by special rules, such as texts
// with escapes. The caller then decodes the same text with encoding/json, so a Reader never changes
// the result.
package jsontext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// maxNested is how deep values may be nested.
const maxNested = 100

// Reader reads a text. After it has given up, all that it returns is zero, and OK reports false.
// The bytes that it returns are part of the text.
type Reader struct {
	text   []byte
	at     int
	nested int
	failed bool
}

// NewReader returns a Reader of a text.
func NewReader(text []byte) *Reader { return &Reader{text: text} }

// Reset makes the Reader read another text.
func (r *Reader) Reset(text []byte) { *r = Reader{text: text} }

// OK reports whether the Reader has not given up.
func (r *Reader) OK() bool { return !r.failed }

// Rest returns what has not been read, without leading white space.
func (r *Reader) Rest() []byte {
	r.next()
	return r.text[r.at:]
}

// Fail makes the Reader give up.
func (r *Reader) Fail() { r.at, r.failed = len(r.text), true }

// Next returns the byte that the next value begins with, or 0 at the end of the text.
func (r *Reader) Next() byte { return r.next() }

// next returns the next byte that is not white space; 0 if there is none.
func (r *Reader) next() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\n', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// is reports whether the next byte that is not white space is c, and if so, reads it.
func (r *Reader) is(c byte) bool {
	if r.next() != c {
		return false
	}
	r.at++
	return true
}

// must is is, but gives up if the byte is not c.
func (r *Reader) must(c byte) bool {
	if r.is(c) {
		return true
	}
	r.Fail()
	return false
}

// Object reads an object. It calls member after each name, to read the value.
func (r *Reader) Object(member func(name []byte)) {
	r.list('{', '}', func() {
		if name := r.Text(); r.must(':') {
			member(name)
		}
	})
}

// Enter reads the byte that begins an object or an array, and returns true. More then reports
// whether there is a value to read. Unlike Object and Array, the two need no function:
//
//	for first := r.Enter('['); r.More(']', first); first = false {
//		n += r.Int()
//	}
func (r *Reader) Enter(begin byte) (first bool) {
	if r.nested++; r.nested > maxNested {
		r.Fail()
	}
	r.must(begin)
	return true
}

// More reports whether another value of an object or an array follows. If not, it reads the byte
// that ends it.
func (r *Reader) More(end byte, first bool) bool {
	switch {
	case r.failed:
		return false
	case first && !r.is(end), !first && r.is(','):
		return true
	case !first:
		r.must(end)
	}
	r.nested--
	return false
}

// Name reads the name of a member and the colon.
func (r *Reader) Name() []byte {
	name := r.Text()
	r.must(':')
	return name
}

// Array reads an array. It calls item to read each value.
func (r *Reader) Array(item func()) { r.list('[', ']', item) }

func (r *Reader) list(begin, end byte, item func()) {
	if r.nested++; r.nested > maxNested {
		r.Fail()
	}
	defer func() { r.nested-- }()
	if !r.must(begin) || r.is(end) {
		return
	}
	for {
		item()
		if r.failed || !r.is(',') {
			break
		}
	}
	r.must(end)
}

// Text reads a text without escapes.
func (r *Reader) Text() []byte {
	text, ok := r.plain()
	if !ok {
		r.Fail()
	}
	return text
}

// String reads a text, or null, which is an empty one.
func (r *Reader) String() string {
	if text, ok := r.plain(); ok {
		return string(text)
	}
	return r.unquoted()
}

// unquoted reads a text that may have escapes.
func (r *Reader) unquoted() (s string) {
	if text := r.Value(); r.OK() && json.Unmarshal(text, &s) != nil {
		r.Fail()
	}
	return s
}

// plain reads a text without escapes, whose bytes are its value. It reads nothing if the text is
// not plain.
func (r *Reader) plain() (text []byte, ok bool) {
	if r.next() != '"' {
		return nil, false
	}
	ascii := true
	from := r.at + 1
	for i := from; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			if text = r.text[from:i]; !ascii && !utf8.Valid(text) {
				return nil, false
			}
			r.at = i + 1
			return text, true
		case c == '\\' || c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// Bool reads a truth value.
func (r *Reader) Bool() bool {
	if r.next() == 't' {
		r.word("true")
		return r.OK()
	}
	r.word("false")
	return false
}

func (r *Reader) word(word string) {
	if !bytes.HasPrefix(r.text[r.at:], []byte(word)) {
		r.Fail()
		return
	}
	r.at += len(word)
}

// Int reads a whole number without a fraction or an exponent.
func (r *Reader) Int() int64 {
	n, err := strconv.ParseInt(string(r.number()), 10, 64)
	if err != nil {
		r.Fail()
		return 0
	}
	return n
}

// Uint reads a whole number without a sign, a fraction or an exponent.
func (r *Reader) Uint() uint64 {
	n, err := strconv.ParseUint(string(r.number()), 10, 64)
	if err != nil {
		r.Fail()
		return 0
	}
	return n
}

// Float reads a number.
func (r *Reader) Float() float64 {
	f, err := strconv.ParseFloat(string(r.number()), 64)
	if err != nil {
		r.Fail()
		return 0
	}
	return f
}

// Number reads a number, and returns its text.
func (r *Reader) Number() []byte { return r.number() }

// number reads a number, and returns its text.
func (r *Reader) number() []byte {
	r.next()
	from := r.at
	r.some('-')
	switch {
	case r.some('0'):
	case !r.digits():
		return nil
	}
	if r.some('.') && !r.digits() {
		return nil
	}
	if r.some('e') || r.some('E') {
		if !r.some('-') {
			r.some('+')
		}
		if !r.digits() {
			return nil
		}
	}
	return r.text[from:r.at]
}

// some reads a byte if it is next.
func (r *Reader) some(c byte) bool {
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

// digits reads digits, at least one.
func (r *Reader) digits() bool {
	from := r.at
	for r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
		r.at++
	}
	if r.at == from {
		r.Fail()
		return false
	}
	return true
}

// Value reads any value, and returns its text. Texts in it may have escapes, and need not be UTF-8.
func (r *Reader) Value() []byte {
	c := r.next()
	from := r.at
	switch c {
	case '{':
		r.list('{', '}', r.pair)
	case '[':
		r.list('[', ']', r.item)
	case '"':
		r.escaped()
	case 't':
		r.word("true")
	case 'f':
		r.word("false")
	case 'n':
		r.word("null")
	default:
		r.number()
	}
	if r.failed {
		return nil
	}
	return r.text[from:r.at]
}

func (r *Reader) item() { r.Value() }

func (r *Reader) pair() {
	if r.escaped(); r.must(':') {
		r.Value()
	}
}

// escaped reads a text with escapes.
func (r *Reader) escaped() {
	if !r.must('"') {
		return
	}
	text := r.text
	for i := r.at; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			r.at = i + 1
			return
		case c < ' ':
			r.Fail()
			return
		case c == '\\':
			r.at = i + 1
			if r.escape(); r.failed {
				return
			}
			i = r.at - 1
		}
	}
	r.Fail()
}

// escape reads what follows a backslash.
func (r *Reader) escape() {
	const hex = 4
	rest := r.text[r.at:]
	switch {
	case len(rest) > 0 && bytes.IndexByte([]byte(`"\/bfnrt`), rest[0]) >= 0:
		r.at++
	case len(rest) > hex && rest[0] == 'u' && isHex(rest[1:hex+1]):
		r.at += 1 + hex
	default:
		r.Fail()
	}
}

func isHex(digits []byte) bool {
	_, err := strconv.ParseUint(string(digits), 16, 16)
	return err == nil
}
