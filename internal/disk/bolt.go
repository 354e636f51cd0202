package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// boltFile reads the pages of a bbolt file, and refuses those that cannot be what bbolt wrote.
// bbolt itself follows a wrong number out of the file or in a circle, and its own check does, too.
// Its numbers are little-endian:
//
//	page      id (8 bytes), kind (2), count (2), pages that it takes besides the first (4); then
//	          its entries, then their keys and values
//	entry     of a branch: place of its key, from the entry on (4), length of the key (4), id of
//	          the page below (8)
//	          of a leaf: whether it is a bucket (4), place of its key (4), length of the key (4),
//	          length of the value (4)
//	bucket    id of its first page (8), a count (8); and if the id is 0, that page itself
type boltFile struct {
	file       io.ReaderAt
	size, page int64
	seen       map[uint64]bool // the pages that were read
}

const (
	boltEntry  = 16 // bytes of an entry, of the header of a page, and of the header of a bucket
	boltBranch = 1  // the kinds of pages
	boltLeaf   = 2
)

type boltItem struct {
	bucket     bool
	key, value []byte
	below      uint64 // the page below an entry of a branch
}

// each calls fn with what the buckets of the file have. root is the id of the page that lists them.
// The slices are fn's.
func (f *boltFile) each(root uint64, fn func(s Space, key, value []byte) error) error {
	f.seen = map[uint64]bool{}
	spaces := map[string]Space{}
	for s, name := range spaceNames {
		spaces[name] = s
	}
	return f.tree(root, true, nil, nil, func(b boltItem) error {
		s, known := spaces[string(b.key)]
		if !known || !b.bucket || len(b.value) < boltEntry {
			return boltDamage("%q is no bucket", b.key)
		}
		entry := func(e boltItem) error {
			if e.bucket {
				return boltDamage("there is a bucket in the bucket %q", b.key)
			}
			return fn(s, e.key, e.value)
		}
		if first := binary.LittleEndian.Uint64(b.value); first != 0 {
			return f.tree(first, true, nil, nil, entry)
		}
		items, kind, _, err := boltItems(b.value[boltEntry:], nil, nil)
		if err == nil && kind != boltLeaf {
			err = errors.New("it is not a leaf")
		}
		if err != nil {
			return boltDamage("bucket %q: %v", b.key, err)
		}
		return forEach(items, entry)
	})
}

// tree calls fn with the items of a page and of those below it. Their keys are not before from, and
// before to; nil is no limit.
func (f *boltFile) tree(id uint64, first bool, from, to []byte, fn func(boltItem) error) error {
	data, err := f.read(id)
	if err != nil {
		return err
	}
	items, kind, free, err := boltItems(data, from, to)
	if err == nil && int64(free) > f.page {
		err = errors.New("more than a page of it is free")
	}
	if err == nil && len(items) == 0 && (kind == boltBranch || !first) {
		err = errors.New("it is empty")
	}
	if err != nil {
		return boltDamage("page %d: %v", id, err)
	}
	if kind == boltLeaf {
		return forEach(items, fn)
	}
	for i, item := range items {
		end := to
		if i+1 < len(items) {
			end = items[i+1].key
		}
		if err := f.tree(item.below, false, item.key, end, fn); err != nil {
			return err
		}
	}
	return nil
}

// read reads a page, and those that belong to it. Each page belongs to one place.
func (f *boltFile) read(id uint64) ([]byte, error) {
	pages := uint64(f.size / f.page)
	if id < 2 || id >= pages { // the first two are not of a bucket
		return nil, boltDamage("there is no page %d", id)
	}
	head := make([]byte, boltEntry)
	if _, err := f.file.ReadAt(head, int64(id)*f.page); err != nil {
		return nil, err
	}
	n := 1 + uint64(binary.LittleEndian.Uint32(head[12:]))
	if binary.LittleEndian.Uint64(head) != id || n > pages-id || n > uint64(maxRecord/f.page) { // earlier versions had no larger values
		return nil, boltDamage("page %d: its header is wrong", id)
	}
	for p := id; p < id+n; p++ {
		if f.seen[p] {
			return nil, boltDamage("page %d is in two places", p)
		}
		f.seen[p] = true
	}
	data := make([]byte, int64(n)*f.page)
	_, err := f.file.ReadAt(data, int64(id)*f.page)
	return data, err
}

// boltItems reads the entries of a page, and says how many bytes behind them are free. Their keys
// and values follow each other without a gap, and the keys are in order.
func boltItems(data, from, to []byte) (items []boltItem, kind uint16, free int, err error) {
	if len(data) < boltEntry {
		return nil, 0, 0, errors.New("it is too short")
	}
	kind = binary.LittleEndian.Uint16(data[8:])
	count := int(binary.LittleEndian.Uint16(data[10:]))
	next := uint64(boltEntry + count*boltEntry)
	if kind != boltBranch && kind != boltLeaf || next > uint64(len(data)) {
		return nil, 0, 0, errors.New("its header is wrong")
	}
	for i := range count {
		at := boltEntry + i*boltEntry
		e := data[at : at+boltEntry]
		place, key, value := binary.LittleEndian.Uint32(e), uint64(binary.LittleEndian.Uint32(e[4:])), uint64(0)
		item := boltItem{}
		if kind == boltBranch {
			item.below = binary.LittleEndian.Uint64(e[8:])
		} else {
			flags := place
			place, key, value = binary.LittleEndian.Uint32(e[4:]), uint64(binary.LittleEndian.Uint32(e[8:])), uint64(binary.LittleEndian.Uint32(e[12:]))
			if item.bucket = flags == 1; flags > 1 {
				return nil, 0, 0, fmt.Errorf("entry %d is of no known kind", i)
			}
		}
		if uint64(at)+uint64(place) != next || key == 0 || next+key+value > uint64(len(data)) {
			return nil, 0, 0, fmt.Errorf("entry %d is not where it should be", i)
		}
		item.key, item.value = data[next:next+key], data[next+key:next+key+value]
		next += key + value
		if i == 0 && bytes.Compare(item.key, from) < 0 || i > 0 && bytes.Compare(item.key, items[i-1].key) <= 0 || to != nil && bytes.Compare(item.key, to) >= 0 {
			return nil, 0, 0, fmt.Errorf("the key %x is out of order", item.key)
		}
		items = append(items, item)
	}
	return items, kind, len(data) - int(next), nil
}

func forEach(items []boltItem, fn func(boltItem) error) error {
	for _, item := range items {
		if err := fn(item); err != nil {
			return err
		}
	}
	return nil
}

func boltDamage(format string, args ...any) error {
	return fmt.Errorf("%w: %s: the file was left as it was: put an undamaged copy of it in its place", ErrCorrupt, fmt.Sprintf(format, args...))
}
