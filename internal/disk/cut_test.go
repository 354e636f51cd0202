package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A file of the tables that is cut short costs what is in it, and is named. The directory opens, to be read as well, and
// writes go on.
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
				if how == "to read" {
					d, err = OpenToRead(dir, o)
				} else {
					d, err = Open(dir, o)
				}
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				mu.Lock()
				if !strings.Contains(said, filepath.Base(table)) {
					t.Errorf("%s: %s is cut, and what was reported is %q", how, filepath.Base(table), said)
				}
				mu.Unlock()
				get := func(i uint64) error {
					return d.Read(func(tx *Tx) error { _, err := tx.Get(Log, binary.BigEndian.AppendUint64(nil, i)); return err })
				}
				for i := range uint64(n) {
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
