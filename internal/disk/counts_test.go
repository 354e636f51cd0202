//go:build !race

// The race detector has sync.Pool drop things at random.
package disk

import (
	"encoding/binary"
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A write of a value of 300 bytes, by one caller alone, takes a fixed number of allocations, bytes
// of the log, and flushes.
func TestCounts(t *testing.T) {
	const allocations, size = 2, 2*headerSize + 2*(1+1+9+2+4) + valueHeader + 300
	d, err := Open("data", Options{fs: vfs.NewMem(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, d)
	n, value := uint64(0), make([]byte, 300)
	key := make([]byte, 8)
	op := func(tx *Tx) error {
		n++
		tx.Put(Log, binary.BigEndian.AppendUint64(key[:0], n), value)
		return nil
	}
	write := func() {
		if err := d.Write(op); err != nil {
			t.Fatal(err)
		}
	}
	write()
	before := d.Stats()
	got := testing.AllocsPerRun(200, write)
	if s := d.Stats(); s.Flushes-before.Flushes != 201 || s.Waited != s.Flushes || s.Bytes-before.Bytes != 201*size {
		t.Errorf("201 writes took %d flushes and %d bytes each, want one and %d", s.Flushes-before.Flushes, (s.Bytes-before.Bytes)/201, size)
	}
	if got != allocations {
		t.Errorf("a write allocates %v times, want %d: if that is intended, say why in the commit", got, allocations)
	}
}
