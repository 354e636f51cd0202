package disk

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// Tx is what an operation, or a Read, reads and writes through. It is good only until that returns.
type Tx struct {
	from   reader        // the tables, and in an operation what its group has changed so far
	batch  *pebble.Batch // what the group changes; nil in a Read
	record *record       // what the operation changes; nil in a Read
	report func(error)
}

// reader is what the tables and a batch have in common.
type reader interface {
	pebble.Reader
}

// Get returns a copy of the value of a key; nil if there is none. It returns ErrCorrupt for one that is damaged.
func (tx *Tx) Get(s Space, key []byte) ([]byte, error) {
	k := inSpace(s, key)
	stored, closer, err := tx.from.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, damage(err)
	}
	value, err := unseal(k, stored)
	if err == nil {
		value = append(make([]byte, 0, len(value)), value...) // a value without bytes is not nil
	}
	return value, errors.Join(err, closer.Close())
}

// Put sets the value of a key. Only an operation may.
func (tx *Tx) Put(s Space, key, value []byte) {
	k := inSpace(s, key)
	stored := seal(make([]byte, 0, valueHeader+len(value)), plain, k, value)
	tx.record.add(change{key: k, value: stored})
	_ = tx.batch.Set(k, stored, nil) // of a batch in memory: it cannot fail
}

// Delete removes a key. Only an operation may.
func (tx *Tx) Delete(s Space, key []byte) {
	k := inSpace(s, key)
	tx.record.add(change{key: k})
	_ = tx.batch.Delete(k, nil) // of a batch in memory: it cannot fail
}

// Ascend calls fn with the keys of a space from one to before another and their values, in order, until fn returns false. A nil to is
// the end of the space. Both belong to fn only until it returns. The first value that is damaged ends it with ErrCorrupt.
func (tx *Tx) Ascend(s Space, from, to []byte, fn func(key, value []byte) bool) error {
	return tx.scan(s, from, to, false, nil, fn)
}

// AscendSound is Ascend past values that are damaged, which are reported.
func (tx *Tx) AscendSound(s Space, from, to []byte, fn func(key, value []byte) bool) error {
	return tx.scan(s, from, to, false, tx.report, fn)
}

// Descend is Ascend in the other direction: it begins with the last key before to.
func (tx *Tx) Descend(s Space, from, to []byte, fn func(key, value []byte) bool) error {
	return tx.scan(s, from, to, true, nil, fn)
}

func (tx *Tx) scan(s Space, from, to []byte, down bool, skip func(error), fn func(key, value []byte) bool) (err error) {
	upper := []byte{byte(s) + 1}
	if to != nil {
		upper = inSpace(s, to)
	}
	it, err := tx.from.NewIter(&pebble.IterOptions{LowerBound: inSpace(s, from), UpperBound: upper})
	if err != nil {
		return damage(err)
	}
	defer func() { err = errors.Join(err, damage(it.Close())) }()
	first, next := it.First, it.Next
	if down {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok; ok = next() {
		stored, err := it.ValueAndErr()
		if err != nil {
			return damage(err)
		}
		value, err := unseal(it.Key(), stored)
		if err != nil && skip != nil {
			skip(err)
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

// damage makes ErrCorrupt of what Pebble says about a block that it cannot read.
func damage(err error) error {
	if pebble.IsCorruptionError(err) {
		return errors.Join(ErrCorrupt, err)
	}
	return err
}

// After is the first key after all those that begin with a prefix; nil if there is none.
func After(prefix []byte) []byte {
	next := bytes.TrimRight(prefix, "\xff")
	if len(next) == 0 {
		return nil
	}
	next = bytes.Clone(next)
	next[len(next)-1]++
	return next
}
