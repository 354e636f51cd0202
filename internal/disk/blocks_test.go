package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// tableReads counts the selected reads of the tables' files.
func tableReads(fs vfs.FS, selects func(op errorfs.Op) bool) (vfs.FS, *atomic.Int64) {
	var n atomic.Int64
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, tableSuffix) && selects(op) {
			n.Add(1)
		}
		return nil
	})), &n
}

// damagedAmongOthers returns a directory of 100 values, one of which is larger than the others.
// harm changes the table with that value, at the value's place. The table and the place are
// returned, too.
func damagedAmongOthers(t *testing.T, size int, harm func(data []byte, at int)) (fs *vfs.MemFS, table string, place int64) {
	t.Helper()
	large := bytes.Repeat([]byte("damaged!"), size/8)
	fs = vfs.NewCrashableMem()
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
	for _, name := range files(t, fs, "data/tables", func(name string) bool { return strings.HasSuffix(name, tableSuffix) }) {
		changeFile(t, fs, name, func(data []byte) {
			if at := bytes.Index(data, large); at >= 0 {
				harm(data, at)
				table, place = name, int64(at)
			}
		})
	}
	if table == "" {
		t.Fatal("the value is in no table")
	}
	return fs, table, place
}

func harmBlock(data []byte, at int) { clear(data[at+40 : at+80]) }

// A damaged block is read once, however often it is asked for. Pebble does not see it, because
// Pebble would try to flip each of its bits, which takes 27 s for a block of 768 KB.
func TestDamagedBlockIsReadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that no time passes in which Pebble merges the tables again
		mem, table, at := damagedAmongOthers(t, 768<<10, harmBlock)
		fs, reads := tableReads(mem, func(op errorfs.Op) bool { return op.Path == table && op.Offset <= at })
		var lines texts
		d, err := Open("data", Options{fs: fs, Log: slog.New(&lines), part: 16})
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, d)
		synctest.Wait()
		get := func() error {
			return d.Read(func(tx *Tx) error { _, err := tx.Get(Log, k8(50)); return err })
		}
		if err := get(); !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "mismatch") {
			t.Errorf("the damaged value: %v, want ErrCorrupt, and not from Pebble's own check", err)
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
		if n := reads.Load() - before; n > 0 || found < 40 {
			t.Errorf("a scan past the damaged block read %d blocks, and found %d of 100 values", n, found)
		}
		if !strings.Contains(lines.all(), "stored data is damaged") {
			t.Errorf("damage was not reported: %s", lines.all())
		}
	})
}

// A damaged block costs the keys that may be in it. It does not cost the keys of other files
// between its last key and the next key of its own file. Going downwards, Pebble also reads the
// block before a range.
func TestDescendBesideDamage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that no time passes in which Pebble merges the tables again
		fs := vfs.NewCrashableMem()
		d := openOn(t, fs)
		first := bytes.Repeat([]byte("damaged!"), 8<<10)
		for _, n := range []uint64{0x1_00_00, 0x9_00_00} { // each value fills a block
			if err := d.Write(func(tx *Tx) error { tx.Put(Log, k8(n), first); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.tables.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := d.tables.Compact(t.Context(), []byte{0}, []byte{0xff, 0xff}, false); err != nil { // into one file
			t.Fatal(err)
		}
		writeNumbers(t, d, 0x5_00_00, 0x5_00_04) // into another file
		closed(t, d)
		harmed := 0
		for _, name := range files(t, fs, "data/tables", func(name string) bool { return strings.HasSuffix(name, tableSuffix) }) {
			changeFile(t, fs, name, func(data []byte) {
				if at := bytes.Index(data, first); at >= 0 {
					harmBlock(data, at)
					harmed++
				}
			})
		}
		if harmed != 1 {
			t.Fatalf("%d tables have the block to be damaged, want 1", harmed)
		}
		d = openOn(t, fs)
		defer closed(t, d)
		descend := func(from, to uint64, limit int) (found []uint64, err error) {
			err = d.Read(func(tx *Tx) error {
				return tx.Descend(Log, k8(from), k8(to), func(k, _ []byte) bool {
					found = append(found, binary.BigEndian.Uint64(k))
					return len(found) < limit
				})
			})
			return found, err
		}
		for _, limit := range []int{9, 4, 2} {
			found, err := descend(0x5_00_00, 0x5_10_00, limit)
			want := []uint64{0x5_00_03, 0x5_00_02, 0x5_00_01, 0x5_00_00}[:min(limit, 4)]
			if err != nil || !slices.Equal(found, want) {
				t.Errorf("at most %d keys of an undamaged range: %x, %v, want %x", limit, found, err, want)
			}
		}
		if _, err := descend(0x1_00_00, 0x5_10_00, 9); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a range with the damaged key: %v, want ErrCorrupt", err)
		}
	})
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

// While a damaged file keeps the tables from being merged, merging is retried ever more rarely, in
// the end once a minute. The same holds if a file's properties cannot be read. The log says what to
// do, and reads and writes continue.
func TestMergesOfDamagedTablesBackOff(t *testing.T) {
	t.Parallel()
	for what, harm := range map[string]func(data []byte, at int){
		"a block":    harmBlock,
		"properties": func(data []byte, _ int) { data[len(data)-100] ^= 4 },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mem, _, _ := damagedAmongOthers(t, 2000, harm)
				fs, reads := tableReads(mem, func(errorfs.Op) bool { return true })
				var lines texts
				d, err := Open("data", Options{fs: fs, Log: slog.New(&lines), part: 16})
				if err != nil {
					t.Fatal(err)
				}
				defer closed(t, d)
				for i := range uint64(10) {
					if err := d.Write(func(tx *Tx) error { tx.Put(Log, k8(i), k8(i)); tx.Put(Log, k8(100-i), k8(i)); return nil }); err != nil {
						t.Fatal(err)
					}
					if err := d.tables.Flush(); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(10 * time.Minute)
				if n := d.tables.Metrics().Compact.FailedCount; n < 5 || n > 30 {
					t.Errorf("%d merges of the tables failed in 10 minutes; want some, and in the end one a minute", n)
				}
				before := reads.Load()
				time.Sleep(time.Hour)
				if n := reads.Load() - before; n > 60*30 {
					t.Errorf("an idle directory with damage read its tables %d times in an hour", n)
				}
				if all := lines.all(); !strings.Contains(all, "grow with each write: restore a backup") || strings.Count(all, "\n") > 500 {
					t.Errorf("the log does not say what to do, or is too long: %s", all)
				}
				if err := d.Write(func(tx *Tx) error { tx.Put(Rows, k8(1), nil); return nil }); err != nil {
					t.Errorf("a write: %v", err)
				}
			})
		})
	}
}
