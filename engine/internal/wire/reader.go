package wire

import (
	"encoding/binary"
	"math"
)

// Limits of what a Reader reads. The library's are wider.
const (
	maxPairs  = 64 // of a map: keys are below it
	maxItems  = 1 << 16
	maxNested = 32 // of maps; a Writer's, too
)

// Reader reads what a Writer wrote. After something that it does not read, it returns only zero
// values, and Done reports false. It returns copies.
type Reader struct {
	b      []byte
	i      int // the next byte
	names  *Names
	nested int
	spare  int // bytes that no announced item of an array needs
	failed bool
}

// NewReader returns a Reader of b. names remembers short texts; it may be nil.
func NewReader(b []byte, names *Names) *Reader { return &Reader{b: b, names: names, spare: len(b)} }

// Done reports whether all was read, and understood.
func (r *Reader) Done() bool { return !r.failed && r.i == len(r.b) }

// Failed reports whether the Reader gave up.
func (r *Reader) Failed() bool { return r.failed }

// Fail gives up: only the library can read the rest.
func (r *Reader) Fail() { r.i, r.failed = len(r.b), true }

// left returns how many bytes are left.
func (r *Reader) left() int { return len(r.b) - r.i }

// next returns the next byte, or 0xff, with which no item begins, if there is none.
func (r *Reader) next() byte {
	if r.i < len(r.b) {
		return r.b[r.i]
	}
	return breakCode
}

// is reports whether the next byte is b, and reads it if it is.
func (r *Reader) is(b byte) bool {
	if r.next() != b {
		return false
	}
	r.i++
	return true
}

// Header reports whether the next byte is b, and reads it if it is. Otherwise it gives up.
func (r *Reader) Header(b byte) bool {
	if !r.is(b) {
		r.Fail()
		return false
	}
	return true
}

// head reads the first byte of an item and its number.
func (r *Reader) head(major byte) uint64 {
	if n := r.next() - major<<majorBits; n < inByte {
		r.i++
		return uint64(n)
	}
	return r.longHead(major)
}

// longHead is head for a number that has bytes of its own.
func (r *Reader) longHead(major byte) uint64 {
	low := r.next() - major<<majorBits
	if low < inByte || low > in8Bytes || r.left() <= 1<<(low-inByte) {
		r.Fail()
		return 0
	}
	rest := r.b[r.i+1:]
	r.i += 1 + 1<<(low-inByte)
	switch low {
	case inByte:
		return uint64(rest[0])
	case in2Bytes:
		return uint64(binary.BigEndian.Uint16(rest))
	case in4Bytes:
		return uint64(binary.BigEndian.Uint32(rest))
	}
	return binary.BigEndian.Uint64(rest)
}

// Map begins a map and returns its number of pairs. The caller calls Leave after it.
func (r *Reader) Map() int {
	n := r.head(majorMap)
	if r.nested++; n > maxPairs || r.nested > maxNested {
		r.Fail()
		return 0
	}
	return int(n)
}

// Leave ends a map.
func (r *Reader) Leave() { r.nested-- }

// Key reads the key of a pair and adds it to seen. It gives up on a key that is in seen: the
// library decides which of two counts.
func (r *Reader) Key(seen *uint64) uint64 {
	key := r.head(majorUint)
	bit := uint64(1) << (key % maxPairs)
	if key >= maxPairs || *seen&bit != 0 {
		r.Fail()
		return maxPairs
	}
	*seen |= bit
	return key
}

// Null reports whether null is next, and reads it if it is.
func (r *Reader) Null() bool { return r.is(simpleNull) }

// Array begins an array and returns its number of items; null reports that there is null instead.
// An item has at least that many bytes, besides those of the items of arrays in it. Array gives up
// if all arrays together announce more items than there are bytes for, so that a caller allocates
// little for corrupt bytes.
func (r *Reader) Array(least int) (n int, null bool) {
	if r.Null() {
		return 0, true
	}
	items := r.head(majorArray)
	if items > maxItems || int(items)*least > min(r.spare, r.left()) {
		r.Fail()
		return 0, true
	}
	r.spare -= int(items) * least
	return int(items), false
}

// Uint reads a number of at most limit.
func (r *Reader) Uint(limit uint64) uint64 {
	n := r.head(majorUint)
	if n > limit {
		r.Fail()
		return 0
	}
	return n
}

// Int reads a number as Go's own integers hold it.
func (r *Reader) Int() int {
	n := r.Int64()
	if int64(int(n)) != n {
		r.Fail()
		return 0
	}
	return int(n)
}

// Int64 reads a number.
func (r *Reader) Int64() int64 {
	if r.next()>>majorBits == majorInt {
		return -1 - r.positive(majorInt)
	}
	return r.positive(majorUint)
}

func (r *Reader) positive(major byte) int64 {
	n := r.head(major)
	if n > math.MaxInt64 {
		r.Fail()
		return 0
	}
	return int64(n)
}

// Bool reads a truth value.
func (r *Reader) Bool() bool { return !r.is(simpleFalse) && r.Header(simpleTrue) }

// Float reads a number of eight bytes.
func (r *Reader) Float() float64 {
	const size = 8
	if !r.Header(float64Header) || r.left() < size {
		r.Fail()
		return 0
	}
	r.i += size
	return math.Float64frombits(binary.BigEndian.Uint64(r.b[r.i-size:]))
}

// part reads a string, and returns it without a copy.
func (r *Reader) part(major byte) []byte {
	n := r.head(major)
	if n > uint64(r.left()) {
		r.Fail()
		return nil
	}
	from := r.i
	r.i += int(n)
	return r.b[from:r.i]
}

// Bytes reads a string of bytes, or null, which is nil.
func (r *Reader) Bytes() []byte {
	if r.Null() {
		return nil
	}
	p := r.part(majorBytes)
	return append(make([]byte, 0, len(p)), p...)
}

// Array16 reads a string of 16 bytes.
func (r *Reader) Array16() (id [16]byte) {
	p := r.part(majorBytes)
	if len(p) != len(id) {
		r.Fail()
		return id
	}
	return [16]byte(p)
}

// Text reads a text.
func (r *Reader) Text() string { return r.names.get(r.part(majorText)) }

// Names remembers short texts, so that texts which many items have are kept once. The zero Names is
// empty. It has room for a few of them, and drops those whose place another one takes.
type Names [64]string

// longest is the length of the longest remembered text.
const longest = 64

// get returns a text as a string: the remembered one, if there is one.
func (n *Names) get(p []byte) string {
	if n == nil || len(p) == 0 || len(p) > longest {
		return string(p)
	}
	place := &n[placeOf(p)]
	if *place != string(p) {
		*place = string(p)
	}
	return *place
}

// placeOf returns the place of a text in Names.
func placeOf(p []byte) uint64 {
	const mix, shift, word = 0x9E3779B97F4A7C15, 58, 8
	h := uint64(len(p))
	for ; len(p) >= word; p = p[word:] {
		h = (h ^ binary.LittleEndian.Uint64(p)) * mix
	}
	for _, b := range p {
		h = (h ^ uint64(b)) * mix
	}
	return h >> shift
}
