package wire

import (
	"encoding/binary"
	"math"
)

// The major types of CBOR, and the simple values that are used here.
const (
	majorUint  = 0
	majorInt   = 1
	majorBytes = 2
	majorText  = 3
	majorArray = 4
	majorMap   = 5

	simpleFalse   = 0xf4
	simpleTrue    = 0xf5
	simpleNull    = 0xf6
	float16       = 0xf9
	float64Header = 0xfb
	breakCode     = 0xff
)

// How the first byte of an item encodes its number: in itself below inByte, or in the bytes that
// follow.
const (
	inByte    = 24
	in2Bytes  = 25
	in4Bytes  = 26
	in8Bytes  = 27
	majorBits = 5
)

// Writer writes CBOR. The zero Writer is ready to use.
type Writer struct {
	b      []byte
	nested int
	failed bool
}

// NewWriter returns a Writer that appends to b.
func NewWriter(b []byte) *Writer { return &Writer{b: b} }

// Done returns what was written. ok is false if something called Fail.
func (w *Writer) Done() (b []byte, ok bool) { return w.b, !w.failed }

// Fail records that something cannot be written.
func (w *Writer) Fail() { w.failed = true }

func (w *Writer) head(major byte, n uint64) {
	major <<= majorBits
	switch {
	case n < inByte:
		w.b = append(w.b, major|byte(n))
	case n <= math.MaxUint8:
		w.b = append(w.b, major|inByte, byte(n))
	case n <= math.MaxUint16:
		w.b = binary.BigEndian.AppendUint16(append(w.b, major|in2Bytes), uint16(n))
	case n <= math.MaxUint32:
		w.b = binary.BigEndian.AppendUint32(append(w.b, major|in4Bytes), uint32(n))
	default:
		w.b = binary.BigEndian.AppendUint64(append(w.b, major|in8Bytes), n)
	}
}

// Open begins a map whose number of pairs is not yet known. It returns the argument for Close. The
// Writer fails if maps are nested deeper than a Reader reads them: the library may encode them, and
// refuses what it does not read itself.
func (w *Writer) Open() (at int) {
	if w.nested++; w.nested > maxNested {
		w.Fail()
	}
	w.b = append(w.b, majorMap<<majorBits)
	return len(w.b)
}

// Close writes the number of pairs of a map that Open began.
func (w *Writer) Close(at, pairs int) {
	w.nested--
	if pairs < inByte {
		w.b[at-1] |= byte(pairs)
		return
	}
	w.b[at-1] |= inByte
	w.b = append(w.b, 0)
	copy(w.b[at+1:], w.b[at:])
	w.b[at] = byte(pairs)
}

// Array begins an array of n items.
func (w *Writer) Array(n int) { w.head(majorArray, uint64(n)) }

// Null writes null.
func (w *Writer) Null() { w.b = append(w.b, simpleNull) }

// Uint writes a number. Keys are numbers, too.
func (w *Writer) Uint(n uint64) { w.head(majorUint, n) }

// Int writes a number.
func (w *Writer) Int(n int) { w.Int64(int64(n)) }

// Int64 writes a number.
func (w *Writer) Int64(n int64) {
	if n < 0 {
		w.head(majorInt, uint64(-1-n))
		return
	}
	w.head(majorUint, uint64(n))
}

// Bool writes a truth value.
func (w *Writer) Bool(v bool) {
	b := byte(simpleFalse)
	if v {
		b = simpleTrue
	}
	w.b = append(w.b, b)
}

// Float writes a number: in eight bytes, except for infinities and NaN, which take two.
func (w *Writer) Float(f float64) {
	const infinity, negative, notANumber = 0x7c00, 0xfc00, 0x7e00
	short := uint16(notANumber)
	switch {
	case math.IsInf(f, 1):
		short = infinity
	case math.IsInf(f, -1):
		short = negative
	case !math.IsNaN(f):
		w.b = binary.BigEndian.AppendUint64(append(w.b, float64Header), math.Float64bits(f))
		return
	}
	w.b = binary.BigEndian.AppendUint16(append(w.b, float16), short)
}

// Bytes writes a string of bytes; nil is null.
func (w *Writer) Bytes(p []byte) {
	if p == nil {
		w.Null()
		return
	}
	w.head(majorBytes, uint64(len(p)))
	w.b = append(w.b, p...)
}

// Text writes a text. It need not be UTF-8.
func (w *Writer) Text(s string) {
	w.head(majorText, uint64(len(s)))
	w.b = append(w.b, s...)
}
