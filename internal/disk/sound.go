package disk

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// RangeError is the error of a part of the tables that cannot be read: keys of the range may be
// missing. It wraps ErrCorrupt.
type RangeError struct {
	Range
	Why string
}

// Error names the keys in hexadecimal, and what is wrong.
func (e *RangeError) Error() string {
	return fmt.Sprintf("%v: what was in %v cannot be read: %s", ErrCorrupt, e.Range, e.Why)
}

// Unwrap returns ErrCorrupt.
func (*RangeError) Unwrap() error { return ErrCorrupt }

// AscendSound is Ascend past damage, which is reported. Where a block of the tables cannot be read,
// it leaves out the keys that may be in it.
func (tx *Tx) AscendSound(s Space, from, to []byte, fn func(key, value []byte) bool) error {
	return tx.ascendPast(s, from, to, false, fn)
}

// DescendSound is AscendSound in the other direction: it begins with the last key before to.
func (tx *Tx) DescendSound(s Space, from, to []byte, fn func(key, value []byte) bool) error {
	var last []byte // that fn was called with
	stopped := false
	err := tx.scan(s, from, to, mode{down: true, skip: tx.report}, func(key, value []byte) bool {
		last = append(last[:0], key...)
		stopped = !fn(key, value)
		return !stopped
	})
	if stopped || !errors.Is(err, ErrCorrupt) {
		return err
	}
	if last != nil {
		to = last
	}
	return tx.descendPast(s, from, to, mostKeys, fn)
}

// mostKeys is how many keys descendPast has in memory, times two.
const mostKeys = 100_000

// descendPast is DescendSound in a space where a block cannot be read. Pebble does not read past
// such a block in descending order. So descendPast reads the keys in ascending order, past all
// damage, and takes the last ones. If fn wants more, it does so again for those before them. It
// finds the end of the range itself: a scan past damage that ends soon behind the damage finds
// less.
func (tx *Tx) descendPast(s Space, from, to []byte, most int, fn func(key, value []byte) bool) error {
	for {
		var left [][]byte
		earlier := false
		err := tx.AscendSound(s, from, nil, func(key, _ []byte) bool {
			if to != nil && bytes.Compare(key, to) >= 0 {
				return false
			}
			if left = append(left, bytes.Clone(key)); len(left) == 2*most {
				left, earlier = slices.Clone(left[most:]), true
			}
			return true
		})
		if err != nil {
			return err
		}
		for _, key := range slices.Backward(left) {
			value, err := tx.Get(s, key)
			if err != nil && !errors.Is(err, ErrCorrupt) { // damage was reported above
				return err
			}
			if value != nil && !fn(key, value) { // without one, the key was deleted meanwhile, or it is damaged
				return nil
			}
		}
		if !earlier {
			return nil
		}
		to = left[0]
	}
}

// AscendKeys is AscendSound for keys alone. It also calls fn with the keys of damaged values.
func (tx *Tx) AscendKeys(s Space, from, to []byte, fn func(key []byte) bool) error {
	return tx.ascendPast(s, from, to, true, func(key, _ []byte) bool { return fn(key) })
}

func (tx *Tx) ascendPast(s Space, from, to []byte, keysOnly bool, fn func(key, value []byte) bool) error {
	reporting, probing := mode{keysOnly: keysOnly, skip: tx.report}, mode{keysOnly: keysOnly, skip: ignore}
	for stopped := false; ; {
		visit := func(key, value []byte) bool {
			from = append(append(from[:0:0], key...), 0) // the first key after it
			stopped = !fn(key, value)
			return !stopped
		}
		err := tx.scan(s, from, to, reporting, visit)
		if stopped || !errors.Is(err, ErrCorrupt) {
			return err
		}
		next := tx.firstReadable(s, from, to, probing)
		begin, end := from, next
		if end == nil {
			end = to
		}
		tx.report(&RangeError{Range{s, bytes.Clone(begin), bytes.Clone(end)}, whyDamaged(err)})
		// Other files may have keys in front of the block.
		if err := tx.scan(s, from, tx.lastReadable(s, from, next, to, probing), reporting, visit); stopped || err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		if tx.hole != nil {
			// What the second scan found of the range is whole.
			tx.hole(begin, next)
		}
		if from = next; from == nil {
			return nil
		}
	}
}

// firstReadable returns the first key from which on a space can be read, after one where it cannot;
// nil if there is none. If there is other damage close by, it may return a later one.
func (tx *Tx) firstReadable(s Space, from, to []byte, probing mode) []byte {
	readable := func(from []byte) bool {
		return tx.scan(s, from, to, probing, func(_, _ []byte) bool { return false }) == nil
	}
	w := widthOf(from, to)
	low, high := w.of(from), new(big.Int)
	for step := big.NewInt(1); ; step.Lsh(step, 1) {
		if high.Add(low, step); high.Cmp(w.end(to)) >= 0 {
			return nil
		}
		if readable(w.key(high)) {
			break
		}
		low.Set(high)
	}
	_, high = w.between(low, high, func(middle []byte) bool { return !readable(middle) })
	first := w.key(high)
	for i := len(first) - 1; i > 0 && first[i] == 0 && readable(first[:i]); i-- {
		first = first[:i]
	}
	return first
}

// lastReadable returns the last key up to which a space can be read from a key on. next is where it
// can be read again; nil if that is nowhere.
func (tx *Tx) lastReadable(s Space, from, next, to []byte, probing mode) []byte {
	w := widthOf(from, next, to)
	high := w.end(to)
	if next != nil {
		high = w.of(next)
	}
	readable := func(to []byte) bool {
		return tx.scan(s, from, to, probing, func(_, _ []byte) bool { return true }) == nil
	}
	low := w.of(from)
	// A file that cannot be opened leaves nothing readable: one probe finds that, and the search
	// would take one for each bit of a key.
	if !readable(w.key(new(big.Int).Add(low, big.NewInt(1)))) {
		return w.key(low)
	}
	low, _ = w.between(low, high, readable)
	return w.key(low)
}

func ignore(error) {}

// width is the length of keys that are taken as numbers, with zeros at their end.
type width int

// widthOf returns a width that has room for all keys between these.
func widthOf(keys ...[]byte) width {
	length := 8
	for _, k := range keys {
		length = max(length, len(k))
	}
	return width(length + 8)
}

func (w width) of(key []byte) *big.Int {
	return new(big.Int).SetBytes(append(bytes.Clone(key), make([]byte, int(w)-len(key))...))
}

func (w width) key(number *big.Int) []byte { return number.FillBytes(make([]byte, w)) }

// end is the number of the end of a range; nil is that of the space.
func (w width) end(to []byte) *big.Int {
	if to != nil {
		return w.of(to)
	}
	return new(big.Int).Lsh(big.NewInt(1), uint(8*w))
}

// between returns two numbers one after the other, of which below holds for the first and not for
// the second, if that is so for low and high.
func (w width) between(low, high *big.Int, below func(key []byte) bool) (*big.Int, *big.Int) {
	for one := big.NewInt(1); new(big.Int).Sub(high, low).Cmp(one) > 0; {
		middle := new(big.Int).Add(low, high)
		if middle.Rsh(middle, 1); below(w.key(middle)) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, high
}
