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
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// tableReads counts the reads of the files of the tables that a function selects.
func tableReads(fs vfs.FS, selects func(op errorfs.Op) bool) (vfs.FS, *atomic.Int64) {
	var n atomic.Int64
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, tableSuffix) && selects(op) {
			n.Add(1)
		}
		return nil
	})), &n
}

// damagedAmongOthers is a directory of 100 values, of which one is larger than the others. harm changes the table that this one is in, at
// its place; both are returned.
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
		t.Fatal("no table has the value")
	}
	return fs, table, place
}

func harmBlock(data []byte, at int) { clear(data[at+40 : at+80]) }

// A damaged block is read once, however often it is asked for, and Pebble does not see it: it would try each of its bits, for 27 s in a
// block of 768 KB.
func TestDamagedBlockIsReadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that no time goes by in which Pebble tries to merge the tables again
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
		if n := reads.Load() - before; n > 0 || found < 40 {
			t.Errorf("a scan past the damaged block read %d blocks, and found %d of 100 values", n, found)
		}
		if !strings.Contains(lines.all(), "stored data is damaged") {
			t.Errorf("damage was not reported: %s", lines.all())
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

// While a damaged file keeps the tables from being merged, that is tried once a minute at last, and not without end. The log says what
// becomes of it, and writes and reads go on. That a file cannot be looked into is tried as rarely.
func TestDamageIsNotTriedWithoutEnd(t *testing.T) {
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
					t.Errorf("the tables were merged %d times in 10 minutes, in vain; want some, and at last one a minute", n)
				}
				before := reads.Load()
				time.Sleep(time.Hour)
				if n := reads.Load() - before; n > 60*30 {
					t.Errorf("an idle directory with damage read its tables %d times in an hour", n)
				}
				if all := lines.all(); !strings.Contains(all, "grow with each write: restore a backup") || strings.Count(all, "\n") > 500 {
					t.Errorf("the log does not say what to do, or too much: %s", all)
				}
				if err := d.Write(func(tx *Tx) error { tx.Put(Rows, k8(1), nil); return nil }); err != nil {
					t.Errorf("a write: %v", err)
				}
			})
		})
	}
}
