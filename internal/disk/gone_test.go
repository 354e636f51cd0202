package disk

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replace puts a copy of a file in its place.
func replace(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name+".copy", data, 0o600)
	}
	if err == nil {
		err = os.Rename(name+".copy", name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

// only returns the one file that matches a pattern.
func only(t *testing.T, pattern ...string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v: want one file", names, err)
	}
	return names[0]
}

// newestTable returns the table that was written last. The tables that it was merged from may not
// be deleted yet.
func newestTable(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "tables", "*.sst")) // sorted, because the names are numbers
	if err != nil || len(names) == 0 {
		t.Fatalf("no table: %v", err)
	}
	return names[len(names)-1]
}

// listOf returns the file with the list of the tables.
func listOf(t *testing.T, dir string) string {
	t.Helper()
	_, name, _ := strings.Cut(filepath.Base(only(t, dir, "tables", "marker.manifest.*")), ".MANIFEST")
	return filepath.Join(dir, "tables", "MANIFEST"+name)
}

// If a file is deleted or replaced while the directory is open, all writing ends within seconds,
// with one line in the log. Reads continue.
func TestAFileIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"nothing":                     {func(*testing.T, string) {}, ""},
		"the directory":               {func(t *testing.T, dir string) { remove(t, dir) }, "data"},
		"another directory":           {func(t *testing.T, dir string) { _ = os.Rename(dir, dir+".old"); _ = os.Mkdir(dir, 0o700) }, "data"},
		"the format":                  {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, formatFile)) }, formatFile},
		"another format file":         {func(t *testing.T, dir string) { replace(t, filepath.Join(dir, formatFile)) }, formatFile},
		"the log":                     {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "log")) }, "log"},
		"a segment":                   {func(t *testing.T, dir string) { remove(t, only(t, dir, "log", "*.wal")) }, ".wal"},
		"another segment":             {func(t *testing.T, dir string) { replace(t, only(t, dir, "log", "*.wal")) }, ".wal"},
		"a table":                     {func(t *testing.T, dir string) { remove(t, newestTable(t, dir)) }, ".sst"},
		"another table":               {func(t *testing.T, dir string) { replace(t, newestTable(t, dir)) }, ".sst"},
		"the list of the tables":      {func(t *testing.T, dir string) { remove(t, listOf(t, dir)) }, "MANIFEST"},
		"another list of the tables":  {func(t *testing.T, dir string) { replace(t, listOf(t, dir)) }, "MANIFEST"},
		"what names the list of them": {func(t *testing.T, dir string) { remove(t, only(t, dir, "tables", "marker.manifest.*")) }, "marker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			closed(t, open(t, dir))
			if _, _, err := Compact(t.Context(), dir); err != nil { // into one table
				t.Fatal(err)
			}
			func() {
				r := &reports{}
				d, err := Open(dir, Options{Log: slog.New(r)})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = d.Close() }() // Close may be unable to write the tables
				if err := d.compact(t.Context()); err != nil {
					t.Fatal(err)
				}
				writeNumbers(t, d, 0, 2) // the tables may be gone, so these have to be in memory
				d.look()
				c.change(t, dir)
				d.look() // the timer does this, too
				err = d.Write(put(2))
				if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrGone) || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("a write: %v, want %q", err, c.want)
				}
				if n := r.n.Load(); (n == 1) != (c.want != "") || n > 1 {
					t.Errorf("%d lines in the log", n)
				}
				if got := numbers(t, d); c.want != "" && len(got) != 2 {
					t.Errorf("%v can be read after that", got)
				}
			}()
		})
	}
}

// A write whose segment is gone is not acknowledged, even if nobody has looked at the files since.
func TestASegmentIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := &reports{}
	d, err := Open(dir, Options{Log: slog.New(r)})
	if err != nil {
		t.Fatal(err)
	}
	writeNumbers(t, d, 0, 1)
	remove(t, only(t, dir, "log", "*.wal"))
	if err := d.Write(put(1)); !errors.Is(err, ErrGone) || !errors.Is(err, ErrUnknown) {
		t.Errorf("the write that notices it: %v", err)
	}
	if err := d.Write(put(2)); !errors.Is(err, ErrGone) || errors.Is(err, ErrUnknown) {
		t.Errorf("a write after that: %v", err)
	}
	if got := numbers(t, d); len(got) != 1 || r.n.Load() != 1 {
		t.Errorf("%v can be read, and %d lines are in the log", got, r.n.Load())
	}
	_ = d.Close() // Close cannot report success
}

// Compact makes the directory smaller and keeps everything in it.
func TestCompact(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if _, _, err := Compact(t.Context(), dir); !errors.Is(err, ErrNoDirectory) {
		t.Errorf("compacting a missing directory: %v", err)
	}
	d := open(t, dir)
	writeNumbers(t, d, 0, 100)
	big := make([]byte, 1<<20)
	for range 40 {
		if err := d.Write(func(tx *Tx) error { tx.Put(Rows, []byte("k"), big); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Compact(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("compacting a directory in use: %v", err)
	}
	closed(t, d)
	// Pebble compacts on its own, so the tables may be compact already. They then grow by what only
	// the log had: the numbers.
	const ofTheLog, most = 4 << 10, 1<<20 + 64<<10
	before, after, err := Compact(t.Context(), dir)
	if err != nil || before.Tables < 1<<20 || after.Tables > before.Tables+ofTheLog || after.Tables > most || after.Log > firstSegment {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
	if got := numbers(t, open(t, dir)); len(got) != 100 {
		t.Errorf("%d numbers are there, want 100", len(got))
	}
}
