package diskqueue

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/seed-41655fb1/weft/internal/disk"
)

// Numbers and counts of any form are read as they were written, or are errors.
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

// A message of any form is read as it was written, or is an error.
func FuzzMessage(f *testing.F) {
	whole, err := cbor.Marshal(message{Queue: "workflow", Group: "g", Visible: 7, Body: []byte("body")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-2])
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, b []byte) {
		id, m, err := decodeMessage(key(7), b)
		if err != nil {
			return
		}
		again, err := cbor.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, same, err := decodeMessage(key(7), again); err != nil || id != 7 || same.Queue != m.Queue || string(same.Body) != string(m.Body) || same.Visible != m.Visible {
			t.Errorf("%x is read as %+v, and that as %+v, %v", b, m, same, err)
		}
	})
}
