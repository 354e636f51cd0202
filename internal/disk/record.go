package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A record of the log is what one operation changes:
//
//	header         44 bytes, see header.append
//	header         the same again
//	directory      for each change: kind, key, length of the stored value; and a checksum
//	directory      the same again
//	stored values  each with a checksum of its own
//
// The header's numbers are big-endian. A record is looked for only where one can begin, and
// elsewhere only past damage.
const (
	magic      = 0x57454654 // "WEFT"
	headerSize = 44
	version    = 1

	isPut, isDelete = 1, 2

	// maxRecord is the largest record that is taken for one, and maxChanges more than the most
	// changes of one.
	maxRecord  = 1 << 30
	maxChanges = 1 << 24
)

// header is the beginning of a record.
type header struct {
	changes   uint32
	directory uint32 // bytes, with its checksum
	values    uint32 // bytes
	// number is that of the record, one more than that of the record before. segment is a random
	// number of the use of its file: what an earlier use has left differs in it, and so does what
	// somebody puts into a value.
	number, segment uint64
	// flushed is the number up to which all records were known to be on the disk when this one was
	// written.
	flushed uint64
}

// change is a put, or a delete if its value is nil. The value is in its stored form.
type change struct {
	key, value []byte
	// damaged says that the value was read and is not what was written.
	damaged bool
}

// record is what one operation changes, in order.
type record struct {
	header
	list []change
}

func (h *header) append(dst []byte) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, magic)
	dst = append(dst, 0, 0, 0, 0) // the checksum
	dst = binary.BigEndian.AppendUint32(dst, version*maxChanges|h.changes)
	dst = binary.BigEndian.AppendUint32(dst, h.directory)
	dst = binary.BigEndian.AppendUint32(dst, h.values)
	dst = binary.BigEndian.AppendUint64(dst, h.number)
	dst = binary.BigEndian.AppendUint64(dst, h.segment)
	dst = binary.BigEndian.AppendUint64(dst, h.flushed)
	binary.BigEndian.PutUint32(dst[at+4:], crc32.Checksum(dst[at+8:], castagnoli))
	return dst
}

var (
	// errNoRecord is what reading returns where no record of the segment is.
	errNoRecord = errors.New("disk: no record")
	// errLaterRecord is what reading returns for a record that is sound, and of an unknown version.
	errLaterRecord = errors.New("disk: the log was stored by a later version of Weft: start that version")
)

func readHeader(data []byte, segment uint64) (header, error) {
	if len(data) < headerSize || binary.BigEndian.Uint32(data) != magic ||
		binary.BigEndian.Uint32(data[4:]) != crc32.Checksum(data[8:headerSize], castagnoli) {
		return header{}, errNoRecord
	}
	h := header{
		changes:   binary.BigEndian.Uint32(data[8:]),
		directory: binary.BigEndian.Uint32(data[12:]), values: binary.BigEndian.Uint32(data[16:]),
		number: binary.BigEndian.Uint64(data[20:]), segment: binary.BigEndian.Uint64(data[28:]), flushed: binary.BigEndian.Uint64(data[36:]),
	}
	if h.segment == segment && h.changes/maxChanges != version {
		return header{}, errLaterRecord
	}
	if h.segment != segment || uint64(h.directory)+uint64(h.values) > maxRecord {
		return header{}, errNoRecord
	}
	h.changes &= maxChanges - 1
	return h, nil
}

// size is how many bytes the record has.
func (h *header) size() int { return 2*headerSize + 2*int(h.directory) + int(h.values) }

// measure is how many bytes append writes at most.
func (r *record) measure() int {
	n := 2*headerSize + 2*crc32.Size
	for _, c := range r.list {
		n += 2*(1+2*binary.MaxVarintLen32+len(c.key)) + len(c.value)
	}
	return n
}

// fits refuses a record that could not be read again.
func (r *record) fits() error {
	if n := r.measure(); n > maxRecord || len(r.list) >= maxChanges {
		return fmt.Errorf("disk: an operation of %d changes takes %d bytes: more than a record of the log may have", len(r.list), n)
	}
	return nil
}

// append writes the record.
func (r *record) append(dst []byte) []byte {
	r.changes, r.values, r.directory = uint32(len(r.list)), 0, crc32.Size
	var number [binary.MaxVarintLen64]byte
	for _, c := range r.list {
		r.directory += uint32(1 + binary.PutUvarint(number[:], uint64(len(c.key))) + len(c.key) + binary.PutUvarint(number[:], uint64(len(c.value))))
		r.values += uint32(len(c.value))
	}
	dst = r.header.append(r.header.append(dst))
	at := len(dst)
	for _, c := range r.list {
		kind := byte(isPut)
		if c.value == nil {
			kind = isDelete
		}
		dst = append(dst, kind)
		dst = binary.AppendUvarint(dst, uint64(len(c.key)))
		dst = append(dst, c.key...)
		dst = binary.AppendUvarint(dst, uint64(len(c.value)))
	}
	dst = binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
	dst = append(dst, dst[at:]...)
	for _, c := range r.list {
		dst = append(dst, c.value...)
	}
	return dst
}

// readRecord reads the record at the beginning of data. If its changes cannot be told, it returns
// the header and no list. The list shares memory with data.
func readRecord(data []byte, segment uint64) (*record, error) {
	h, err := readHeader(data, segment)
	if errors.Is(err, errNoRecord) && len(data) > headerSize {
		h, err = readHeader(data[headerSize:], segment)
	}
	if err != nil {
		return nil, err
	}
	r := &record{header: h}
	if len(data) < h.size() {
		return r, nil
	}
	first := data[2*headerSize:]
	second := first[h.directory:]
	values := second[h.directory : int(h.directory)+int(h.values)]
	for _, directory := range [][]byte{first[:h.directory], second[:h.directory]} {
		if list, err := readDirectory(directory, values, int(h.changes)); err == nil {
			r.list = list
			break
		}
	}
	return r, nil
}

// readDirectory reads the changes that a directory lists, and finds those whose values are damaged.
func readDirectory(data, values []byte, changes int) ([]change, error) {
	end := len(data) - crc32.Size
	if end < 0 || binary.BigEndian.Uint32(data[end:]) != crc32.Checksum(data[:end], castagnoli) {
		return nil, errNoRecord
	}
	list := []change{}
	for data = data[:end]; len(data) > 0; {
		kind := data[0]
		key, rest, ok := cut(data[1:])
		length, n := binary.Uvarint(rest)
		if !ok || n <= 0 || len(key) == 0 || length > uint64(len(values)) {
			return nil, errNoRecord
		}
		c := change{key: key}
		if kind == isPut {
			c.value = values[:length:length]
			_, err := withoutCheck(key, c.value)
			c.damaged = err != nil
		}
		values, data = values[length:], rest[n:]
		list = append(list, c)
	}
	if len(list) != changes || len(values) > 0 {
		return nil, errNoRecord
	}
	return list, nil
}

// cut takes a part of data that begins with its length.
func cut(data []byte) (part, rest []byte, ok bool) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, nil, false
	}
	return data[n : n+int(length)], data[n+int(length):], true
}

// whole reports whether nothing of the record is damaged.
func (r *record) whole() bool {
	if r.list == nil {
		return false
	}
	for _, c := range r.list {
		if c.damaged {
			return false
		}
	}
	return true
}

// readSegment reads the records of a segment, also those that come after damage. Its error is
// errLaterRecord.
func readSegment(data []byte, segment uint64) (records []*record, err error) {
	for at := 0; at < len(data); {
		r, err := readRecord(data[at:], segment)
		if err == nil {
			records = append(records, r)
			at += r.size()
			continue
		}
		if errors.Is(err, errLaterRecord) {
			return records, err
		}
		next := nextMark(data[at+1:], segment)
		if next < 0 {
			break
		}
		at = recordAt(data, at+1+next, segment)
	}
	return records, nil
}

// recordAt is where the record begins that has a header at a place behind damage. It is its second
// header, if the damage ends in the first one.
func recordAt(data []byte, at int, segment uint64) int {
	if at < headerSize || len(data) >= at+2*headerSize && bytes.Equal(data[at:at+headerSize], data[at+headerSize:at+2*headerSize]) {
		return at
	}
	if r, err := readRecord(data[at-headerSize:], segment); err == nil && r.list != nil {
		return at - headerSize
	}
	return at
}

// nextMark is where the next header begins; negative if there is none.
func nextMark(data []byte, segment uint64) int {
	var mark [4]byte
	binary.BigEndian.PutUint32(mark[:], magic)
	for at := 0; ; at++ {
		next := bytes.Index(data[at:], mark[:])
		if next < 0 {
			return next
		}
		at += next
		if _, err := readHeader(data[at:], segment); !errors.Is(err, errNoRecord) {
			return at
		}
	}
}
