package disk

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// Tx is what an operation, or a Read, reads and writes through. It is valid only until that
// returns.
type Tx struct {
	from   pebble.Reader
	group  *group // of an operation, or of OpenToRead; nil in a Read
	report func(error)
	// hole is told from which key on to before which one (nil is the end of the space) a scan past
	// damage may have left keys out.
	hole func(from, next []byte)
}

// Get returns a copy of the value of a key; nil if there is none. It returns ErrCorrupt for one
// that is damaged.
func (tx *Tx) Get(s Space, key []byte) ([]byte, error) {
	k := inSpace(s, key)
	if tx.group != nil {
		if c := tx.group.find(k); c != nil {
			return copied(k, c.value)
		}
	}
	stored, closer, err := tx.from.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, damage(err)
	}
	value, err := copied(k, stored)
	return value, errors.Join(err, closer.Close())
}

// copied returns a copy of the value of a stored form; nil for that of a key that was deleted.
func copied(key, stored []byte) ([]byte, error) {
	if stored == nil {
		return nil, nil
	}
	value, err := withoutCheck(key, stored)
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, len(value)), value...), nil // a value without bytes is not nil
}

// Put sets the value of a key. Only an operation may.
func (tx *Tx) Put(s Space, key, value []byte) {
	k := append(append(tx.group.alloc(1+len(key)), byte(s)), key...)
	tx.group.add(change{key: k, value: withCheck(tx.group.alloc(valueHeader+len(value)), plain, k, value)})
}

// Delete removes a key. Only an operation may.
func (tx *Tx) Delete(s Space, key []byte) {
	tx.group.add(change{key: append(append(tx.group.alloc(1+len(key)), byte(s)), key...)})
}

// Ascend calls fn with the keys of a space from one to before another and their values, in order,
// until fn returns false. A nil to is the end of the space. Both belong to fn only until it
// returns. The first value that is damaged ends it with ErrCorrupt.
func (tx *Tx) Ascend(s Space, from, to []byte, fn func(key, value []byte) bool) error {
	return tx.scan(s, from, to, mode{}, fn)
}

// Last returns the last key of a space, also if its value is damaged; nil if there is none, or it
// cannot be read.
func (tx *Tx) Last(s Space) (last []byte, err error) {
	it, err := tx.reader().NewIter(&pebble.IterOptions{LowerBound: []byte{byte(s)}, UpperBound: []byte{byte(s) + 1}})
	if err != nil {
		return nil, damage(err)
	}
	if it.Last() {
		last = bytes.Clone(it.Key()[1:])
	}
	return last, damage(it.Close())
}

// Descend is Ascend in the other direction: it begins with the last key before to. In that
// direction Pebble also reads the block in front of the range, in each file that has one. If such a
// block is damaged, Descend looks for the remaining keys in ascending order, in which Pebble does
// not read it.
func (tx *Tx) Descend(s Space, from, to []byte, fn func(key, value []byte) bool) error {
	var last []byte // that fn was called with
	stopped := false
	err := tx.scan(s, from, to, mode{down: true}, func(key, value []byte) bool {
		last = append(last[:0], key...)
		stopped = !fn(key, value)
		return !stopped
	})
	if stopped || !errors.As(err, new(*BlockError)) {
		return err
	}
	if last != nil {
		to = last
	}
	var left [][]byte
	collect := func(key, _ []byte) bool {
		left = append(left, bytes.Clone(key))
		return true
	}
	if tx.scan(s, from, to, mode{keysOnly: true}, collect) != nil {
		return err // a block with keys of the range is damaged
	}
	for _, key := range slices.Backward(left) {
		value, err := tx.Get(s, key)
		if err != nil {
			return err
		}
		if value != nil && !fn(key, value) { // without one, the key was deleted meanwhile
			return nil
		}
	}
	return nil
}

// mode is how a scan reads. The zero mode reads keys and values in ascending order, and ends at the
// first damaged value.
type mode struct {
	// down reads in descending order.
	down bool
	// keysOnly leaves the values unread: fn gets nil for each.
	keysOnly bool
	// skip is called with the error of each damaged value, and the scan goes on. A scan without it
	// ends with the error.
	skip func(error)
}

// scan calls fn with the keys of a range and their values until fn returns false. It returns
// ErrCorrupt at the first block that it cannot read.
func (tx *Tx) scan(s Space, from, to []byte, m mode, fn func(key, value []byte) bool) (err error) {
	upper := []byte{byte(s) + 1}
	if to != nil {
		upper = inSpace(s, to)
	}
	it, err := tx.reader().NewIter(&pebble.IterOptions{LowerBound: inSpace(s, from), UpperBound: upper})
	if err != nil {
		return damage(err)
	}
	defer func() {
		if closeErr := damage(it.Close()); err == nil { // otherwise it says the same again
			err = closeErr
		}
	}()
	first, next := it.First, it.Next
	if m.down {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok; ok = next() {
		if m.keysOnly {
			if !fn(it.Key()[1:], nil) {
				return nil
			}
			continue
		}
		stored, err := it.ValueAndErr()
		if err != nil {
			return damage(err)
		}
		value, err := withoutCheck(it.Key(), stored)
		if err != nil && m.skip != nil {
			m.skip(err)
			continue
		}
		if err != nil {
			return err
		}
		if !fn(it.Key()[1:], value) {
			return nil
		}
	}
	return damage(it.Error())
}

// reader returns what scans read: the tables, and the changes of the group if there are any.
func (tx *Tx) reader() pebble.Reader {
	if tx.group != nil && len(tx.group.changes) > 0 {
		return tx.group.whole()
	}
	return tx.from
}

// damage makes ErrCorrupt of what Pebble says about a block that it cannot read.
func damage(err error) error {
	if pebble.IsCorruptionError(err) {
		return &BlockError{err}
	}
	return err
}

// BlockError is the error of a part of a file of the tables that cannot be read. VerifyTables says
// which file that is. It wraps ErrCorrupt.
type BlockError struct{ cause error }

// Error says what is wrong with the table.
func (e *BlockError) Error() string { return ErrCorrupt.Error() + ": " + whyDamaged(e.cause) }

// Unwrap returns ErrCorrupt and Pebble's error.
func (e *BlockError) Unwrap() []error { return []error{ErrCorrupt, e.cause} }

// whyDamaged returns the innermost reason of an error of damage, in one line.
func whyDamaged(err error) string {
	if table := (*BlockError)(nil); errors.As(err, &table) {
		err = table.cause
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	const mark = "corruption: "
	if at := strings.LastIndex(text, mark); at >= 0 {
		text = text[at+len(mark):]
	}
	return text
}

// After returns the first key after all those that begin with a prefix, or nil if there is none. A
// prefix is bytes and no text: functions of package bytes that take a cutset read UTF-8, and take
// every byte from 0x80 on for 0xff.
func After(prefix []byte) []byte {
	n := len(prefix)
	for n > 0 && prefix[n-1] == 0xff {
		n--
	}
	if n == 0 {
		return nil
	}
	next := bytes.Clone(prefix[:n])
	next[n-1]++
	return next
}
