package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// A file of the tables that is cut short costs its own contents, and is named. The directory still
// opens, also to read, and takes writes.
func TestCutTable(t *testing.T) {
	t.Parallel()
	const n = 200
	for _, part := range []int64{0, 1, 2, 99} { // hundredths
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			d := open(t, dir)
			writeNumbers(t, d, 0, n)
			closed(t, d)
			if _, _, err := Compact(t.Context(), dir); err != nil { // into one table
				t.Fatal(err)
			}
			table, size := "", int64(0)
			names, err := filepath.Glob(filepath.Join(dir, "tables", "*.sst"))
			for _, name := range names {
				if info, err := os.Stat(name); err == nil && info.Size() > size {
					table, size = name, info.Size()
				}
			}
			if err := errors.Join(err, os.Truncate(table, size*part/100)); err != nil {
				t.Fatal(err)
			}
			for _, how := range []string{"to read", "once", "again"} {
				var mu sync.Mutex
				said := ""
				o := Options{Log: slog.New(slog.DiscardHandler), Damage: func(err error) {
					mu.Lock()
					defer mu.Unlock()
					said += err.Error() + "\n"
				}}
				d := openHow(t, dir, how, o)
				mu.Lock()
				if !strings.Contains(said, filepath.Base(table)) {
					t.Errorf("%s: %s is cut, and the reports are %q", how, filepath.Base(table), said)
				}
				mu.Unlock()
				get := func(i uint64) error {
					return d.Read(func(tx *Tx) error { _, err := tx.Get(Log, binary.BigEndian.AppendUint64(nil, i)); return err })
				}
				for i := uint64(0); i < n; i += uint64(shortform.Or(1, 20)) {
					if err := get(i); !errors.Is(err, ErrCorrupt) {
						t.Fatalf("%s: number %d: %v", how, i, err)
					}
				}
				if how == "to read" {
					closed(t, d)
					continue
				}
				if err := d.Write(func(tx *Tx) error { tx.Put(Rows, []byte("k"), nil); return nil }); err != nil {
					t.Errorf("%s: a write: %v", how, err)
				}
				closed(t, d)
			}
		})
	}
}

// openHow opens a directory to read if how is "to read", and to write otherwise.
func openHow(t *testing.T, dir, how string, o Options) *DB {
	t.Helper()
	opens := Open
	if how == "to read" {
		opens = OpenToRead
	}
	d, err := opens(dir, o)
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	return d
}

// A damaged file of Pebble's options costs nothing. It is reported until Pebble has written another
// one.
func TestDamagedOptions(t *testing.T) {
	t.Parallel()
	const n = 100
	for name, damage := range map[string]func(string) string{
		"no options":        func(string) string { return "\x00\x01 options" },
		"another comparer":  func(text string) string { return strings.Replace(text, "comparer=leveldb", "comparer=levelda", 1) },
		"a damaged heading": func(text string) string { return strings.Replace(text, "[Options]", "[Options", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			d := open(t, dir)
			writeNumbers(t, d, 0, n)
			closed(t, d)
			files, err := filepath.Glob(filepath.Join(dir, "tables", "OPTIONS-*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			file := slices.Max(files)
			text, err := os.ReadFile(file)
			if damaged := damage(string(text)); err != nil || damaged == string(text) {
				t.Fatalf("%s was not damaged, %v", text, err)
			} else if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, how := range []string{"to read", "once", "again"} {
				said := ""
				o := Options{Log: slog.New(slog.DiscardHandler), Damage: func(err error) { said += err.Error() }}
				d := openHow(t, dir, how, o)
				if reported := strings.Contains(said, filepath.Base(file)); reported != (how != "again") {
					t.Errorf("%s: the reports are %q", how, said)
				}
				for i := range uint64(n) {
					if err := d.Read(func(tx *Tx) error { _, err := tx.Get(Log, binary.BigEndian.AppendUint64(nil, i)); return err }); err != nil {
						t.Fatalf("%s: number %d: %v", how, i, err)
					}
				}
				closed(t, d)
			}
		})
	}
}
