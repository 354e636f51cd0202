package embedded

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/internal/disk"
)

// Numbers and counts of any form are read as they were written, or are damaged.
func FuzzNumbers(f *testing.F) {
	f.Add(key(7))
	f.Add(key(7)[:5])
	f.Add([]byte{0, 0, 0, 3})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := decodeID(b); err == nil && string(key(id)) != string(b) || err != nil && !errors.Is(err, disk.ErrCorrupt) {
			t.Errorf("the number of %x is %d, %v", b, id, err)
		}
		if n, err := decodeCount(b); err == nil && string(binary.BigEndian.AppendUint32(nil, uint32(n))) != string(b) || err != nil && !errors.Is(err, disk.ErrCorrupt) {
			t.Errorf("the count of %x is %d, %v", b, n, err)
		}
	})
}
