package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Space is a part of the directory with keys of its own. Its number is in each key, and never
// changes its meaning.
type Space byte

// The spaces. Package diskstore has all but the last three.
const (
	meta Space = iota
	Log
	List
	Rows
	Attempts
	Timers
	Expiry
	Marks
	Messages
	Received
	Blobs
)

// spaceNames are the names of the spaces, which were those of the buckets of earlier versions.
var spaceNames = map[Space]string{
	Log: "log", List: "list", Rows: "rows", Attempts: "attempts", Timers: "timers", Expiry: "expiry", Marks: "marks",
	Messages: "messages", Received: "received", Blobs: "blobs",
}

// String returns the space's name.
func (s Space) String() string { return spaceNames[s] }

// applied is the key under which the tables keep the number of the last record that is in them. It
// comes after all others: each file of the tables has it, and what cannot be read of a file is what
// lies between two of its keys. Earlier versions had it under appliedBefore.
var applied, appliedBefore = []byte{0xff, 'a'}, []byte{byte(meta), 'a'}

// writtenOut is the key under which a segment of the log says up to which number the records are in
// the tables on the disk, for good.
var writtenOut = []byte("w")

// ErrCorrupt is wrapped by what reading returns for a value that was damaged.
var ErrCorrupt = errors.New("disk: a value is damaged")

// The first byte of a stored value is its version: it says how the rest is encoded, also by the
// packages of the store, the queue and the blobs. Whoever changes an encoding so that this version
// cannot read it takes a new number. The byte is part of the checksum.
const (
	plain = 1
	lost  = 2 // of what stands for a value that was damaged in the log

	valueHeader = 1 + crc32.Size
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// inSpace returns the key in the tables for a key of a space.
func inSpace(s Space, key []byte) []byte {
	return append(append(make([]byte, 0, 1+len(key)), byte(s)), key...)
}

// checksum returns the checksum of a value under a key of the tables. It includes the length of the
// key, so that no byte can change sides.
func checksum(kind byte, key, value []byte) uint32 {
	var prefix [5]byte
	prefix[0] = kind
	binary.BigEndian.PutUint32(prefix[1:], uint32(len(key)))
	sum := crc32.Update(0, castagnoli, prefix[:])
	return crc32.Update(crc32.Update(sum, castagnoli, key), castagnoli, value)
}

// withCheck appends the stored form of a value: its version, its checksum, and the value.
func withCheck(dst []byte, kind byte, key, value []byte) []byte {
	dst = append(dst, kind)
	dst = binary.BigEndian.AppendUint32(dst, checksum(kind, key, value))
	return append(dst, value...)
}

// withoutCheck returns the value of a stored form, which it shares memory with.
func withoutCheck(key, stored []byte) ([]byte, error) {
	switch {
	case len(stored) < valueHeader:
		return nil, damaged(key, "it is too short")
	case binary.BigEndian.Uint32(stored[1:]) != checksum(stored[0], key, stored[valueHeader:]):
		return nil, damaged(key, "its checksum is wrong")
	case stored[0] == lost:
		return nil, damaged(key, "it was lost with a part of the log")
	case stored[0] != plain:
		return nil, &KeyError{Space: Space(key[0]), Key: bytes.Clone(key[1:]), Why: "it is sound: start that version", later: true}
	}
	return stored[valueHeader:], nil
}

func damaged(key []byte, why string) error {
	return &KeyError{Space: Space(key[0]), Key: bytes.Clone(key[1:]), Why: why}
}

// ErrLater is wrapped, beside ErrCorrupt, by what reading returns for a value that is sound, and of
// a version that this one does not know.
var ErrLater = errors.New("stored by a later version of Weft")

// KeyError is the error of one key, or of its value. It wraps ErrCorrupt, and perhaps ErrLater.
type KeyError struct {
	Space Space
	Key   []byte
	Why   string
	later bool
}

// Error names the space, the key in hexadecimal, and what is wrong.
func (e *KeyError) Error() string {
	if e.later {
		return fmt.Sprintf("%v: %s %x: %s", ErrLater, e.Space, e.Key, e.Why)
	}
	return fmt.Sprintf("%v: %s %x: %s", ErrCorrupt, e.Space, e.Key, e.Why)
}

// FileError is the error of a file of the data directory, whose name is relative to the directory.
// It wraps ErrCorrupt.
type FileError struct{ File, Why string }

// Error names the file, and what is wrong.
func (e *FileError) Error() string {
	return fmt.Sprintf("%v: the file %s: %s", ErrCorrupt, e.File, e.Why)
}

// Unwrap returns ErrCorrupt.
func (*FileError) Unwrap() error { return ErrCorrupt }

// Unwrap returns what it wraps.
func (e *KeyError) Unwrap() []error {
	if e.later {
		return []error{ErrCorrupt, ErrLater}
	}
	return []error{ErrCorrupt}
}
