package disk

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// tableReads counts the reads of the files of the tables.
func tableReads(fs vfs.FS) (vfs.FS, *atomic.Int64) {
	var n atomic.Int64
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, tableSuffix) {
			n.Add(1)
		}
		return nil
	})), &n
}

// damagedAmongOthers is a directory of 100 values, of which one is larger than the others. harm changes the file of the tables that it is
// in, at a place.
func damagedAmongOthers(t *testing.T, size int, harm func(data []byte, at int)) *vfs.MemFS {
	t.Helper()
	large := bytes.Repeat([]byte("damaged!"), size/8)
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	for i := range uint64(100) {
		value := []byte("sound")
		if i == 50 {
			value = large
		}
		if err := d.Later(func(tx *Tx) error { tx.Put(Log, k8(i), value); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, d)
	there := 0
	for _, name := range files(t, fs, "data/tables", func(name string) bool { return strings.HasSuffix(name, tableSuffix) }) {
		changeFile(t, fs, name, func(data []byte) {
			if at := bytes.Index(data, large); at >= 0 {
				harm(data, at)
				there++
			}
		})
	}
	if there != 1 {
		t.Fatalf("%d tables have the value", there)
	}
	return fs
}

func harmBlock(data []byte, at int) { clear(data[at+40 : at+80]) }

// A damaged block is read once, however often it is asked for, and Pebble does not see it: it would try each of its bits, for 27 s in a
// block of 768 KB.
func TestDamagedBlockIsReadOnce(t *testing.T) {
	t.Parallel()
	fs, reads := tableReads(damagedAmongOthers(t, 768<<10, harmBlock))
	var lines texts
	d, err := Open("data", Options{fs: fs, Log: slog.New(&lines), part: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, d)
	get := func() error {
		return d.Read(func(tx *Tx) error { _, err := tx.Get(Log, k8(50)); return err })
	}
	if err := get(); !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "mismatch") {
		t.Errorf("the damaged value: %v, want ErrCorrupt, and not of Pebble's own check", err)
	}
	before := reads.Load()
	for range 5 {
		if err := get(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("the damaged value once more: %v, want ErrCorrupt", err)
		}
	}
	if n := reads.Load() - before; n > 0 {
		t.Errorf("the damaged block was read %d more times for five more reads of its value", n)
	}
	found := 0
	if err := d.Read(func(tx *Tx) error {
		return tx.AscendSound(Log, nil, nil, func(_, _ []byte) bool { found++; return true })
	}); err != nil {
		t.Fatal(err)
	}
	if n := reads.Load() - before; n > 10 || found < 40 {
		t.Errorf("a scan past the damaged block read %d blocks, and found %d of 100 values", n, found)
	}
	if !strings.Contains(lines.all(), "stored data is damaged") {
		t.Errorf("damage was not reported: %s", lines.all())
	}
}

// texts keeps the lines of a log.
type texts struct {
	reports
	mu    sync.Mutex
	lines strings.Builder
}

func (l *texts) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines.WriteString(r.Message + "\n")
	return nil
}

func (l *texts) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}
