package disk

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// severalSegments returns a directory as a killed process leaves it, with n numbers in several
// segments. The tables on the disk have none of them.
func severalSegments(t *testing.T) (left *vfs.MemFS, n uint64) {
	t.Helper()
	var full atomic.Bool
	mem := vfs.NewCrashableMem()
	d, err := Open("data", Options{fs: crowded(mem, &full, writesTable), Log: slog.New(slog.DiscardHandler), part: 64, hurry: true})
	if err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	for err == nil {
		if n++; n > 5000 {
			t.Fatal("the full disk takes writes without end")
		}
		err = d.Write(large(n - 1))
	}
	if !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	left = clone(mem)
	_ = d.Close() // the disk is full, so Close fails
	return left, n - 1
}

// A missing file of the log is noticed, whichever it is.
func TestMissingSegment(t *testing.T) {
	t.Parallel()
	left, n := severalSegments(t)
	names := segments(t, left)
	if got := numbers(t, openOn(t, clone(left))); uint64(len(got)) != n || len(names) < mostFull {
		t.Fatalf("%d of %d numbers are there, in %d segments", len(got), n, len(names))
	}
	lossless := 0
	for _, name := range names {
		fs := clone(left)
		if err := fs.Remove(name); err != nil {
			t.Fatal(err)
		}
		d, r, err := openReporting(fs)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is missing: %v, want ErrCorrupt and its name", name, err)
			}
			continue
		}
		if got := numbers(t, d); uint64(len(got)) < n && r.n.Load() == 0 {
			t.Errorf("%s is missing: %d of %d numbers are there, and nothing was reported", name, len(got), n)
		}
		lossless++ // this segment was being prepared
		closed(t, d)
	}
	if lossless > 1 {
		t.Errorf("the directory opens without any one of %d segments", lossless)
	}
}

// A directory without its log is not taken for a new one, however its process ended. An operator
// who puts an empty file in the place of the missing one gives up the records of that file, and the
// directory opens.
func TestMissingLog(t *testing.T) {
	t.Parallel()
	ended := vfs.NewCrashableMem()
	d := openOn(t, ended)
	writeNumbers(t, d, 0, 50)
	closed(t, d)
	for name, left := range map[string]*vfs.MemFS{"killed": killed(t, 50), "closed": ended} {
		missing := segments(t, left)
		for _, name := range missing {
			if err := left.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		if d, _, err := openReporting(left); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s, without the log: %v, want ErrCorrupt", name, err)
			if err == nil {
				closed(t, d)
			}
		}
		f, err := left.Create(missing[len(missing)-1], vfs.WriteCategoryUnspecified)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		d := openOn(t, left)
		writeNumbers(t, d, 100, 101)
		closed(t, d)
	}
}

// A file of the log that is cut short is reported, wherever it is cut.
func TestCutSegment(t *testing.T) {
	t.Parallel()
	left := killed(t, 50)
	name := segments(t, left)[0]
	data, err := readFile(left, name)
	if err != nil {
		t.Fatal(err)
	}
	whole, reported, err := openReporting(clone(left))
	if err != nil || reported.n.Load() != 0 {
		t.Fatalf("a whole log: %v, %d reports", err, reported.n.Load())
	}
	closed(t, whole)
	for at := 0; at < len(data); at += len(data)/shortform.Or(40, 8) + 1 {
		fs := clone(left)
		replaceFile(t, fs, name, data[:at])
		d, r, err := openReporting(fs)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("cut at %d: %v, want ErrCorrupt", at, err)
			}
			continue
		}
		if r.n.Load() == 0 {
			t.Errorf("cut at %d of %d: nothing was reported", at, len(data))
		}
		closed(t, d)
	}
}

// A log that is older than the tables is reported.
func TestOlderLog(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	writeNumbers(t, d, 0, 10)
	name := segments(t, fs)[0]
	old, err := readFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	writeNumbers(t, d, 10, 20)
	if err := d.tables.Flush(); err != nil {
		t.Fatal(err)
	}
	writeNumbers(t, d, 20, 40)
	left := clone(fs)
	closed(t, d)
	for what, harm := range map[string]func(data []byte){"as it was": func([]byte) {}, "of an earlier moment": func(data []byte) { copy(data, old) }} {
		fs := clone(left)
		changeFile(t, fs, name, harm)
		d, r, err := openReporting(fs)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(numbers(t, d)); (got < 40) != (r.n.Load() > 0) || (got < 40) != (what == "of an earlier moment") {
			t.Errorf("a log %s: %d of 40 numbers are there, and %d lines were logged", what, got, r.n.Load())
		}
		closed(t, d)
	}
}

// Tables of an earlier version do not say which log they need. Such a directory opens, and its
// tables say so from then on.
func TestTablesWithoutLogStart(t *testing.T) {
	t.Parallel()
	left := killed(t, 20)
	w := newWatcher(Options{Log: slog.New(slog.DiscardHandler)})
	tables, err := openTables("data/tables", false, w, Options{fs: left, part: 16})
	if err == nil {
		err = errors.Join(tables.Delete(logStart, pebble.NoSync), w.flush(tables), tables.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	bare := clone(left)
	for _, name := range segments(t, bare) { // as if the process had ended between the old log and the new one
		if err := bare.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for want, fs := range map[int]*vfs.MemFS{20: left, 0: bare} {
		d := openOn(t, fs)
		if got := numbers(t, d); len(got) != want {
			t.Errorf("%d numbers are there, want %d", len(got), want)
		}
		now := clone(fs)
		closed(t, d)
		for _, name := range segments(t, now) {
			if err := now.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		if d, _, err := openReporting(now); !errors.Is(err, ErrCorrupt) {
			t.Errorf("without the log: %v, want ErrCorrupt", err)
			if err == nil {
				closed(t, d)
			}
		}
	}
}

// A segment that the tables on the disk need is kept, even if all its records are in the tables.
func TestNeededSegment(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	for i := range uint64(shortform.Or(8, 4)) {
		if err := d.Write(func(tx *Tx) error { tx.Put(Blobs, k8(i), make([]byte, 900<<10)); return put(i)(tx) }); err != nil { // a segment
			t.Fatal(err)
		}
		left := clone(fs)
		if got := numbers(t, openOn(t, left)); uint64(len(got)) != i+1 {
			t.Errorf("%d numbers are there, want %d", len(got), i+1)
		}
		d.order.Lock()
		if d.writing != nil {
			<-d.writing.done // the next write finds it done
		}
		d.order.Unlock()
	}
	closed(t, d)
}
