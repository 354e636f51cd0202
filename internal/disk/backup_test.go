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
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

func backedUp(t *testing.T, d *DB) ([]byte, Summary) {
	t.Helper()
	var to bytes.Buffer
	s, err := d.Backup(t.Context(), &to)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadBackup(bytes.NewReader(to.Bytes()))
	if err != nil || read.Values != s.Values || read.Damaged != s.Damaged || len(read.Ranges) != len(s.Ranges) || read.Bytes != s.Bytes || int(s.Bytes) != to.Len() {
		t.Fatalf("read %+v, %v; wrote %+v", read, err, s)
	}
	return to.Bytes(), s
}

func restored(t *testing.T, data []byte, acceptDamage bool) *DB {
	t.Helper()
	fs := vfs.NewCrashableMem()
	if _, err := Restore(bytes.NewReader(data), "data", acceptDamage, Options{fs: fs, part: 16}); err != nil {
		t.Fatal(err)
	}
	return openOn(t, clone(fs))
}

// slow takes its first piece only after goOn is closed.
type slow struct {
	bytes.Buffer
	begun chan struct{}
	goOn  chan struct{}
	once  sync.Once
}

func (s *slow) Write(p []byte) (int, error) {
	s.once.Do(func() {
		close(s.begun)
		<-s.goOn
	})
	return s.Buffer.Write(p)
}

// A backup has all that was acknowledged before it began and nothing that was written later. It
// blocks no writer, however slow its reader is. A view of a directory that was opened only to read
// has the same contents.
func TestBackup(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	d, _, err := openReporting(fs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(2999) {
		if err := d.Later(put(i)); err != nil {
			t.Fatal(err)
		}
	}
	writeNumbers(t, d, 2999, 3000)
	to := &slow{begun: make(chan struct{}), goOn: make(chan struct{})}
	over := make(chan error, 1)
	go func() {
		_, err := d.Backup(t.Context(), to)
		over <- err
	}()
	<-to.begun
	writeNumbers(t, d, 3000, 3300)
	close(to.goOn)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	again := restored(t, to.Bytes(), false)
	if got := numbers(t, again); len(got) != 3000 || got[2999] != 2999 {
		t.Errorf("%d numbers were restored, want 3000", len(got))
	}
	writeNumbers(t, again, 3000, 3001)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Backup(ended, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a backup whose context is canceled: %v", err)
	}
	left := clone(fs) // as after a crash: only the log has the last numbers
	closed(t, d)
	view, err := OpenToRead("data", Options{fs: left, part: 16})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := backedUp(t, view)
	if err := view.Write(put(1)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a write to a directory that was opened to read: %v", err)
	}
	closed(t, view)
	if got := numbers(t, restored(t, data, false)); len(got) != 3300 {
		t.Errorf("%d numbers were restored of a directory after a crash, want 3300", len(got))
	}
	if _, err := d.Backup(t.Context(), &bytes.Buffer{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a backup of a closed directory: %v", err)
	}
}

// A backup with a wrong bit anywhere, or without its end, is refused, and no directory is created.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	d := openOn(t, vfs.NewMem())
	writeNumbers(t, d, 0, 20)
	data, _ := backedUp(t, d)
	fs := vfs.NewMem()
	refused := func(what string, at int, data []byte) {
		t.Helper()
		if _, err := Restore(bytes.NewReader(data), "data", true, Options{fs: fs}); !errors.Is(err, ErrNoBackup) {
			t.Errorf("%s at %d: %v, want ErrNoBackup", what, at, err)
		}
	}
	for at := range data {
		wrong := bytes.Clone(data)
		wrong[at] ^= 1 << (at % 8)
		refused("a wrong bit", at, wrong)
		refused("an end", at, data[:at])
	}
	refused("more", len(data), append(bytes.Clone(data), 0))
	if _, err := fs.Stat("data"); err == nil {
		t.Error("the directory was created")
	}
}

// Restore refuses a directory with anything in it. A directory whose restore did not end does not
// open.
func TestRestoreInto(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	d := openOn(t, fs)
	writeNumbers(t, d, 0, 20)
	data, _ := backedUp(t, d)
	closed(t, d)
	if _, err := Restore(bytes.NewReader(data), "data", false, Options{fs: fs}); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a restore into a directory that is not empty: %v", err)
	}
	var full atomic.Bool
	full.Store(true)
	mem := vfs.NewMem()
	o := Options{fs: crowded(mem, &full, func(op errorfs.Op) bool { return writesTable(op) }), Log: slog.New(slog.DiscardHandler), part: 16, hurry: true}
	if _, err := Restore(bytes.NewReader(data), "data", false, o); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a restore on a full disk: %v", err)
	}
	full.Store(false)
	for name, open := range map[string]func(string, ...Options) (*DB, error){"Open": Open, "OpenToRead": OpenToRead} {
		if _, err := open("data", o); err == nil || !strings.Contains(err.Error(), "did not end") {
			t.Errorf("%s of a directory with an unfinished restore: %v", name, err)
		}
	}
}

// Damage in a directory is damage in its backup, or is recorded there as missing. A backup never
// leaves it out silently, and everything else is restored.
func TestBackupOfDamage(t *testing.T) {
	t.Parallel()
	const n, hit = 3000, 17
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	for i := range uint64(n - 1) {
		if err := d.Later(put(i)); err != nil {
			t.Fatal(err)
		}
	}
	writeNumbers(t, d, n-1, n)
	if err := d.tables.Compact(t.Context(), []byte{0}, []byte{0xff, 0xff}, false); err != nil {
		t.Fatal(err)
	}
	key := inSpace(Log, binary.BigEndian.AppendUint64(nil, hit))
	if err := d.tables.Set(key, withCheck(nil, lost, key, nil), pebble.NoSync); err != nil { // a damaged log leaves such a value
		t.Fatal(err)
	}
	closed(t, d)
	sizes := map[string]int{}
	names := files(t, fs, "data/tables", func(name string) bool { return strings.HasSuffix(name, ".sst") })
	for _, name := range names {
		data, err := readFile(fs, name)
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = len(data)
	}
	largest := slices.MaxFunc(names, func(a, b string) int { return sizes[a] - sizes[b] })
	changeFile(t, fs, largest, func(data []byte) { data[len(data)/3] ^= 4 })
	d, _, err := openReporting(fs)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, d)
	data, s := backedUp(t, d)
	if len(s.Ranges) != 1 || s.Damaged != 1 || s.Values == 0 {
		t.Fatalf("%+v, want one damaged range and one damaged value", s)
	}
	if _, err := Restore(bytes.NewReader(data), "data", false, Options{fs: vfs.NewMem()}); !errors.Is(err, ErrDamagedBackup) {
		t.Errorf("a restore of a backup with damage: %v", err)
	}
	again := restored(t, data, true)
	for i := uint64(0); i < n; i += uint64(shortform.Or(1, hit)) {
		k := binary.BigEndian.AppendUint64(nil, i)
		var v []byte
		err := again.Read(func(tx *Tx) (err error) { v, err = tx.Get(Log, k); return err })
		missing := bytes.Compare(k, s.Ranges[0].From) >= 0 && (len(s.Ranges[0].To) == 0 || bytes.Compare(k, s.Ranges[0].To) < 0)
		if (i == hit) != errors.Is(err, ErrCorrupt) || i != hit && missing != (v == nil) {
			t.Fatalf("%d is %x, %v; in the damaged range: %v", i, v, err, missing)
		}
	}
}

// Verification reads all files of the tables, and finds a wrong bit in any block.
func TestVerifyTables(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	writeNumbers(t, d, 0, 500)
	closed(t, d)
	verify := func(fs vfs.FS) (files int, found []error) {
		d, err := OpenToRead("data", Options{fs: fs, part: 16, Damage: func(err error) { found = append(found, err) }})
		if err != nil {
			return 0, []error{err}
		}
		defer closed(t, d)
		files, err = d.VerifyTables(t.Context())
		if err != nil {
			t.Error(err)
		}
		return files, found
	}
	if files, found := verify(fs); files == 0 || len(found) > 0 {
		t.Errorf("%d files, %v of them damaged", files, found)
	}
	for _, name := range files(t, fs, "data/tables", func(name string) bool { return strings.HasSuffix(name, ".sst") }) {
		fs := clone(fs)
		changeFile(t, fs, name, func(data []byte) { data[10] ^= 1 })
		if _, found := verify(fs); len(found) == 0 || !errors.Is(found[0], ErrCorrupt) {
			t.Errorf("%s is damaged, and the verification found %v", name, found)
		}
	}
}
