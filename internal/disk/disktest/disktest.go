// Package disktest damages data directories, for tests.
package disktest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seed-41655fb1/weft/internal/disk"
)

// Change puts what change returns in the place of the stored form of a key, which must be there, in
// a directory that nobody has open.
func Change(t *testing.T, dir string, space disk.Space, key []byte, change func(stored []byte) []byte) {
	t.Helper()
	tables, err := pebble.Open(filepath.Join(dir, "tables"), &pebble.Options{FormatMajorVersion: pebble.FormatColumnarBlocks, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	full := append([]byte{byte(space)}, key...)
	stored, closer, err := tables.Get(full)
	if err != nil {
		t.Fatalf("there is nothing to change: %v", err)
	}
	if err := errors.Join(tables.Set(full, change(stored), pebble.Sync), closer.Close(), tables.Close()); err != nil {
		t.Fatal(err)
	}
}

// Damage damages the stored forms of keys, in a directory that nobody has open.
func Damage(t *testing.T, dir string, space disk.Space, keys ...[]byte) {
	t.Helper()
	for _, key := range keys {
		Change(t, dir, space, key, func([]byte) []byte { return []byte("damaged") })
	}
}

// SetLater makes the stored forms of keys those of an unknown version, whose checksums are right.
func SetLater(t *testing.T, dir string, space disk.Space, keys ...[]byte) {
	t.Helper()
	const later = 77
	for _, key := range keys {
		Change(t, dir, space, key, func(stored []byte) []byte {
			full := append([]byte{byte(space)}, key...)
			sum := binary.BigEndian.AppendUint32([]byte{later}, uint32(len(full)))
			sum = append(append(sum, full...), stored[5:]...)
			head := binary.BigEndian.AppendUint32([]byte{later}, crc32.Checksum(sum, crc32.MakeTable(crc32.Castagnoli)))
			return append(head, stored[5:]...)
		})
	}
}

// quiet drops what Pebble logs.
type quiet struct{}

// Infof drops a line.
func (quiet) Infof(string, ...any) {}

// Errorf drops a line.
func (quiet) Errorf(string, ...any) {}

// Fatalf panics.
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
