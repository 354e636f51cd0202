package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// reports counts the lines of a log.
type reports struct{ n atomic.Int64 }

func (r *reports) Enabled(context.Context, slog.Level) bool         { return true }
func (r *reports) WithAttrs([]slog.Attr) slog.Handler               { return r }
func (r *reports) WithGroup(string) slog.Handler                    { return r }
func (r *reports) Handle(_ context.Context, line slog.Record) error { r.n.Add(1); return nil }

// openReporting opens the directory "data" of a file system and counts the lines of its log.
func openReporting(fs vfs.FS) (*DB, *reports, error) {
	r := &reports{}
	d, err := Open("data", Options{fs: fs, Log: slog.New(r), part: 16})
	return d, r, err
}

func writeNumbers(t *testing.T, d *DB, from, to uint64) {
	t.Helper()
	for ; from < to; from++ {
		if err := d.Write(put(from)); err != nil {
			t.Fatal(err)
		}
	}
}

func closed(t *testing.T, d *DB) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// clone returns a file system with the files of another one.
func clone(fs *vfs.MemFS) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// files returns the names of the selected files of a directory, in order.
func files(t *testing.T, fs vfs.FS, dir string, selects func(name string) bool) (names []string) {
	t.Helper()
	all, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if selects(name) {
			names = append(names, fs.PathJoin(dir, name))
		}
	}
	slices.Sort(names) // files in memory have no order
	return names
}

// replaceFile puts other contents in the place of a file, on the disk.
func replaceFile(t *testing.T, fs vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A wrong bit in a table costs the block that it hits, and no more. Reading a key of that block
// fails. The directory opens and takes writes, and a scan past the damage finds all other keys.
func TestFlippedTable(t *testing.T) {
	t.Parallel()
	const n = 3000
	flips, step := shortform.Or(12, 3), uint64(shortform.Or(1, 10))
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	for i := range uint64(n - 1) {
		if err := d.Later(put(i)); err != nil {
			t.Fatal(err)
		}
	}
	writeNumbers(t, d, n-1, n)
	if err := d.tables.Compact(t.Context(), []byte{0}, []byte{0xff, 0xff}, false); err != nil { // into one file
		t.Fatal(err)
	}
	closed(t, d)
	var table string
	var data []byte
	for _, name := range files(t, fs, "data/tables", func(name string) bool { return strings.HasSuffix(name, ".sst") }) {
		all, err := readFile(fs, name)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > len(data) {
			table, data = name, all
		}
	}
	lost, files := 0, 0 // how many flips cost numbers, and how many cost a whole file, because they hit the index of its blocks
	for at := 0; at < len(data); at += len(data) / flips {
		fs := clone(fs)
		changeFile(t, fs, table, func(data []byte) { data[at] ^= 4 })
		d, r, err := openReporting(fs)
		if errors.Is(err, ErrCorrupt) || err != nil && strings.Contains(err.Error(), "corrupt") {
			files++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		found := map[uint64]bool{}
		err = d.Read(func(tx *Tx) error {
			return tx.AscendSound(Log, nil, nil, func(k, v []byte) bool {
				if found[binary.BigEndian.Uint64(k)] = true; !bytes.Equal(k, v) {
					t.Errorf("a flip at %d: %x has the value %x", at, k, v)
				}
				return true
			})
		})
		if err != nil {
			t.Errorf("a flip at %d: a scan past damage fails with %v", at, err)
		}
		err = d.Read(func(tx *Tx) error {
			return errors.Join(tx.descends(t, tx.DescendSound, found), tx.descends(t, tx.inSteps, found))
		})
		if err != nil {
			t.Errorf("a flip at %d: %v", at, err)
		}
		for i := uint64(0); i < n; i += step {
			var v []byte
			err := d.Read(func(tx *Tx) (err error) { v, err = tx.Get(Log, binary.BigEndian.AppendUint64(nil, i)); return err })
			if found[i] != (v != nil) || !found[i] && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("a flip at %d: the scan found %d: %v; a read returned %x, %v", at, i, found[i], v, err)
			}
		}
		if len(found) < n {
			lost++
		}
		if len(found) < n && r.n.Load() == 0 {
			t.Errorf("a flip at %d: %d of %d numbers are there, and nothing was logged", at, len(found), n)
		}
		if len(found) < n-1000 {
			files++
		}
		if err := d.Write(func(tx *Tx) error { tx.Put(Rows, []byte("k"), nil); return nil }); err != nil {
			t.Errorf("a flip at %d: a write: %v", at, err)
		}
		closed(t, d)
	}
	if lost < flips/2 || files > 2 {
		t.Errorf("%d flips cost numbers, and %d cost a whole file: either the test tests nothing, or too much is lost", lost, files)
	}
}

// inSteps is DescendSound with few keys in memory, as if a block were damaged.
func (tx *Tx) inSteps(s Space, from, to []byte, fn func(key, value []byte) bool) error {
	return tx.descendPast(s, from, to, 150, fn)
}

// descends demands that a scan finds these numbers in descending order: all of them, and those
// between two keys.
func (tx *Tx) descends(t *testing.T, scan func(Space, []byte, []byte, func(_, _ []byte) bool) error, want map[uint64]bool) error {
	t.Helper()
	for _, bounds := range [][2]uint64{{0, 1 << 40}, {500, 2500}} {
		before, got := bounds[1], 0
		err := scan(Log, binary.BigEndian.AppendUint64(nil, bounds[0]), binary.BigEndian.AppendUint64(nil, bounds[1]), func(k, v []byte) bool {
			n := binary.BigEndian.Uint64(k)
			if n >= before || n < bounds[0] || !want[n] || !bytes.Equal(k, v) {
				t.Errorf("a scan in descending order has %d with the value %x after %d", n, v, before)
			}
			before, got = n, got+1
			return true
		})
		if err != nil {
			return err
		}
		all := 0
		for n := range want {
			if n >= bounds[0] && n < bounds[1] {
				all++
			}
		}
		if got != all {
			t.Errorf("a scan in descending order between %v found %d of %d numbers", bounds, got, all)
		}
	}
	return nil
}

// Damage of the size of a sector costs the records that it touches, and none behind them.
func TestZeroedSector(t *testing.T) {
	t.Parallel()
	const n, sector, most = 60, 512, 5 // records that a sector touches
	step := shortform.Or(16, 400)
	left := killed(t, n)
	name := segments(t, left)[0]
	data, err := readFile(left, name)
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(data, "\x00"))
	for at := 0; at+sector < end; at += step {
		fs := clone(left)
		changeFile(t, fs, name, func(data []byte) { clear(data[at : at+sector]) })
		d := openOn(t, fs)
		got := 0
		if err := d.Read(func(tx *Tx) error {
			return tx.AscendSound(Log, nil, nil, func(_, _ []byte) bool { got++; return true })
		}); err != nil {
			t.Fatal(err)
		}
		if got < n-most {
			t.Errorf("a sector of zeros at %d: %d of %d numbers are there", at, got, n)
		}
		closed(t, d)
	}
}

// A damaged record that was acknowledged is reported, even if it is the last one. Afterwards the
// directory opens without a report, however the process that opened it ends.
func TestLastRecordDamaged(t *testing.T) {
	t.Parallel()
	const n = 5
	left := killed(t, n)
	name := segments(t, left)[0]
	_, nonce, _ := parseName(filepath.Base(name))
	changeFile(t, left, name, func(data []byte) {
		for at := 0; ; {
			r, err := readRecord(data[at:], nonce)
			if err != nil {
				t.Fatal("the last record is not there")
			}
			if len(r.list) > 0 && bytes.Equal(r.list[0].key, inSpace(Log, binary.BigEndian.AppendUint64(nil, n-1))) {
				clear(data[at : at+2*headerSize])
				return
			}
			at += r.size()
		}
	})
	d, r, err := openReporting(left)
	if err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, d); len(got) != n-1 || r.n.Load() == 0 {
		t.Errorf("%v is there, and %d lines were logged; want all but the last, and a line", got, r.n.Load())
	}
	for i := range uint64(4) {
		if i > 0 { // the first process ends before it has written anything
			writeNumbers(t, d, n+i, n+i+1)
		}
		killed := left.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, i))})
		closed(t, d)
		left = killed
		if d, r, err = openReporting(left); err != nil {
			t.Fatalf("after %d more numbers: %v", i, err)
		}
		if got := numbers(t, d); len(got) != int(n-1+i) || r.n.Load() != 0 {
			t.Errorf("after %d more numbers %v is there, and %d lines were logged", i, got, r.n.Load())
		}
		closed(t, d)
		if d, _, err = openReporting(left); err != nil {
			t.Fatalf("a second time after %d more numbers: %v", i, err)
		}
	}
	closed(t, d)
}

// Tables that are older than the log expects, or missing, are refused: a directory never goes back
// to an earlier state silently.
func TestTablesGoBack(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	writeNumbers(t, d, 0, 20)
	closed(t, d)
	d = openOn(t, fs)
	writeNumbers(t, d, 20, 40)
	if err := d.tables.Flush(); err != nil { // this happens whenever a segment is full
		t.Fatal(err)
	}
	writeNumbers(t, d, 40, 60)
	closed(t, d)
	manifests := files(t, fs, "data/tables", func(name string) bool { return strings.HasPrefix(name, "MANIFEST") })
	manifest := manifests[len(manifests)-1]
	whole, err := readFile(fs, manifest)
	if err != nil {
		t.Fatal(err)
	}
	harms := map[string]func(fs *vfs.MemFS) error{
		"the marker of the list": func(fs *vfs.MemFS) error {
			return fs.Remove(files(t, fs, "data/tables", func(name string) bool { return strings.HasPrefix(name, "marker.manifest") })[0])
		},
		"the tables": func(fs *vfs.MemFS) error { return fs.RemoveAll("data/tables") },
	}
	for at := 0; at < len(whole); at += shortform.Or(1, 8) {
		harms["byte "+string(rune('0'+at%10))+" "+strings.Repeat("+", at/10)] = func(fs *vfs.MemFS) error {
			changeFile(t, fs, manifest, func(data []byte) { data[at] ^= 4 })
			return nil
		}
	}
	for what, harm := range harms {
		fs := clone(fs)
		if err := harm(fs); err != nil {
			t.Fatal(err)
		}
		d, r, err := openReporting(fs)
		if err != nil {
			continue
		}
		if got := numbers(t, d); len(got) < 60 {
			t.Errorf("%s: %d of 60 numbers are there, and %d lines were logged", what, len(got), r.n.Load())
		}
		closed(t, d)
	}
}

// A list of the tables that has lost its end is of an earlier moment. It may name a file of the log
// that the tables no longer needed, and that was removed. The error blames the list too, because
// whoever puts an empty file there gives up more than that file's writes.
func TestCutListOfTables(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	writeNumbers(t, d, 0, 60)
	closed(t, d)
	d = openOn(t, fs) // which moves the log's writes to the tables, and begins a new log
	log, err := fs.OpenDir("data/log")
	if err == nil {
		err = errors.Join(log.Sync(), log.Close()) // so that the old log is gone in copies
	}
	if err != nil {
		t.Fatal(err)
	}
	left := clone(fs) // as a process leaves it that is killed
	closed(t, d)
	isList := func(name string) bool { return strings.HasPrefix(name, "MANIFEST") }
	manifests := files(t, left, "data/tables", isList)
	list := manifests[len(manifests)-1]
	whole, err := readFile(left, list)
	if err != nil {
		t.Fatal(err)
	}
	missing, unreadable := 0, 0
	for at := range whole {
		fs := clone(left)
		replaceFile(t, fs, list, whole[:at])
		d, r, err := openReporting(fs)
		if err != nil {
			if !strings.Contains(err.Error(), "MANIFEST") {
				t.Errorf("cut at byte %d of %d: %v, want an error that names the list", at, len(whole), err)
			}
			switch {
			case strings.Contains(err.Error(), "is missing"):
				missing++
			case strings.Contains(err.Error(), "malformed"):
				unreadable++
			}
			continue
		}
		if got := numbers(t, d); len(got) < 60 {
			t.Errorf("cut at byte %d of %d: %d of 60 numbers are there, and %d lines were logged", at, len(whole), len(got), r.n.Load())
		}
		closed(t, d)
	}
	// With the race detector Pebble begins a new list with each change, and no cut of that is
	// readable.
	if missing == 0 && unreadable < len(whole) {
		t.Error("no cut list names a file of the log that was removed")
	}
}

// Only the owner can read the files of a directory, because the key that signs tokens is among
// them.
func TestModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, part := range []string{"log", "tables"} { // as an earlier version created them
		if err := os.Mkdir(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, dir)
	writeNumbers(t, d, 0, 1)
	for _, part := range []string{"log", "tables"} {
		info, err := os.Stat(filepath.Join(dir, part))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != innerMode {
			t.Errorf("%s has the mode %v", part, mode)
		}
	}
}

// writeOld writes a file of an earlier version, with n values in each space.
func writeOld(t *testing.T, dir string, n uint64) {
	t.Helper()
	bolt, err := bbolt.Open(filepath.Join(dir, formatFile), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = bolt.Update(func(tx *bbolt.Tx) error {
		for _, name := range spaceNames {
			bucket, err := tx.CreateBucketIfNotExists([]byte(name))
			if err != nil {
				return err
			}
			for i := range n {
				k := binary.BigEndian.AppendUint64(nil, i)
				if err := bucket.Put(k, k); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err = errors.Join(err, bolt.Close()); err != nil {
		t.Fatal(err)
	}
}

// oldValues returns how many values each space of a file of an earlier version has.
func oldValues(t *testing.T, name string) (n int) {
	t.Helper()
	bolt, err := bbolt.Open(name, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bolt.Close() }() // the file was only read
	if err := bolt.View(func(tx *bbolt.Tx) error { n = tx.Bucket([]byte(Log.String())).Stats().KeyN; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// If a file of an earlier version is put over a converted directory, neither is lost: the file is
// converted, and the earlier data is set aside.
func TestSecondConversion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeOld(t, dir, 3)
	d := open(t, dir)
	writeNumbers(t, d, 1000, 1001)
	closed(t, d)
	first, err := os.ReadFile(filepath.Join(dir, oldFile))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, formatFile), first, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	writeOld(t, dir, 9)
	d = open(t, dir)
	if got := numbers(t, d); len(got) != 9 {
		t.Errorf("%v is there, want the last values of the earlier version", got)
	}
	closed(t, d)
	for name, want := range map[string]int{oldFile: 3, oldFile + ".2": 9} {
		if got := oldValues(t, filepath.Join(dir, name)); got != want {
			t.Errorf("%s has %d values, want %d", name, got, want)
		}
	}
	for _, part := range []string{"tables", "log"} { // restore what was set aside
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, part)), os.Rename(filepath.Join(dir, part+".before"), filepath.Join(dir, part))); err != nil {
			t.Fatal(err)
		}
	}
	if got := numbers(t, open(t, dir)); len(got) != 4 || got[3] != 1000 {
		t.Errorf("the directory that was set aside has %v", got)
	}
}

// A mark of a conversion that is left over after its end does not cost the data that was written
// since.
func TestMarkStays(t *testing.T) {
	t.Parallel()
	for name, opens := range map[string]bool{"an earlier version left it": false, "this version finds it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			mark := filepath.Join(dir, converting)
			writeOld(t, dir, 3)
			d := open(t, dir)
			writeNumbers(t, d, 1000, 1500)
			closed(t, d)
			if err := os.WriteFile(mark, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if opens {
				closed(t, open(t, dir))
				if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the mark was not removed: %v", err)
				}
			}
			data, err := os.ReadFile(filepath.Join(dir, oldFile))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, formatFile), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			closed(t, open(t, dir))
			for _, part := range []string{"tables", "log"} {
				if err := errors.Join(os.RemoveAll(filepath.Join(dir, part)), os.Rename(filepath.Join(dir, part+".before"), filepath.Join(dir, part))); err != nil {
					t.Fatal(err)
				}
			}
			if got := numbers(t, open(t, dir)); len(got) != 503 {
				t.Errorf("%d numbers were set aside, want 503", len(got))
			}
		})
	}
}

// The next Open completes a conversion that was interrupted at any step. Nothing is set aside.
func TestInterruptedConversion(t *testing.T) {
	t.Parallel()
	for k := int64(1); ; k += int64(shortform.Or(1, 3)) {
		dir := t.TempDir()
		writeOld(t, dir, 20)
		var n atomic.Int64
		fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
			// Pebble's own operations do not fail here, because Pebble panics if it cannot create
			// its tables. Nor do those of the log, which is created after the conversion.
			other := strings.HasPrefix(op.Path, filepath.Join(dir, "tables")) || strings.HasPrefix(op.Path, filepath.Join(dir, "log"))
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && !other && n.Add(1) >= k {
				return errIO // all later operations fail, too: the process has ended
			}
			return nil
		}))
		d, err := Open(dir, Options{fs: fs, Log: slog.New(slog.DiscardHandler), part: 64, hurry: true})
		if err == nil {
			_ = d.Close() // Close may fail, too
		}
		d = open(t, dir)
		writeNumbers(t, d, 100, 101)
		if got := numbers(t, d); len(got) != 21 {
			t.Errorf("step %d: %d numbers are there, want 21", k, len(got))
		}
		closed(t, d)
		for _, name := range files(t, vfs.Default, dir, func(string) bool { return true }) {
			if base := filepath.Base(name); base == converting || strings.Contains(base, ".before") {
				t.Errorf("step %d: %s is there", k, base)
			}
		}
		if err == nil && n.Load() < k {
			if k < 15 {
				t.Errorf("there were only %d steps", k-1)
			}
			return
		}
	}
}

// Only the owner can read the old file and the file in its place, even if somebody has copied the
// old file back.
func TestModesOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeOld(t, dir, 3)
	closed(t, open(t, dir))
	data, err := os.ReadFile(filepath.Join(dir, oldFile))
	if err == nil {
		err = errors.Join(os.Remove(filepath.Join(dir, formatFile)), os.WriteFile(filepath.Join(dir, formatFile), data, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	closed(t, open(t, dir))
	for _, name := range []string{formatFile, oldFile, oldFile + ".2"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has the mode %v", name, mode)
		}
	}
}

// An interrupted conversion whose file is missing is refused, because its tables are incomplete.
func TestConversionWithoutFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "tables"), innerMode), os.WriteFile(filepath.Join(dir, converting), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(dir); err == nil {
		closed(t, d)
		t.Error("the directory opened")
	}
}

// An earlier version that ended before it had written its file left an empty file. The directory
// opens.
func TestEmptyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, formatFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	writeNumbers(t, d, 0, 1)
}

// A damaged file of an earlier version is converted or refused. It never ends the process.
func TestDamagedConversion(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	writeOld(t, base, 400)
	data, err := os.ReadFile(filepath.Join(base, formatFile))
	if err != nil {
		t.Fatal(err)
	}
	flips := shortform.Or(40, 8)
	for at := 0; at < len(data); at += len(data) / flips {
		dir, damaged := t.TempDir(), bytes.Clone(data)
		damaged[at] ^= 4
		if err := os.WriteFile(filepath.Join(dir, formatFile), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if d, err := Open(dir, Options{Log: slog.New(slog.DiscardHandler)}); err == nil {
			closed(t, d)
		}
	}
}

// The records that Unflushed names may be torn without a report, because no record says that they
// were flushed. All records before them are there.
func TestUnflushed(t *testing.T) {
	t.Parallel()
	const n = 6
	dir, killed := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "killed")
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	writeNumbers(t, d, 0, n)
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	closed(t, d)
	begin, err := Unflushed(killed)
	if err != nil || len(begin) != 1 {
		t.Fatalf("%v, %v", begin, err)
	}
	for name, at := range begin {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		clear(data[at:])
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err = Open(killed, Options{Damage: func(err error) { t.Errorf("reported: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, d)
	if got := numbers(t, d); len(got) < n-1 {
		t.Errorf("%v is there, want %d numbers or all but the last", got, n)
	}
}
