package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// oldContents returns the values of a file of an earlier version, as text.
func oldContents(name string) (all []string, err error) {
	bolt, err := bbolt.Open(name, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	err = eachOld(bolt, func(s Space, key, value []byte) error {
		all = append(all, fmt.Sprintf("%s %x %x", s, key, value))
		return nil
	})
	return all, errors.Join(err, bolt.Close())
}

// The contents read from a bbolt file are those that bbolt itself reads from it, whatever was
// changed in the file before.
func TestBoltFile(t *testing.T) {
	t.Parallel()
	for seed := range uint64(shortform.Or(8, 2)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		name := filepath.Join(t.TempDir(), formatFile)
		bolt, err := bbolt.Open(name, 0o600, &bbolt.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		change := func(tx *bbolt.Tx) error {
			for _, of := range spaceNames {
				if rng.IntN(3) == 0 {
					continue // this space is missing, as in another version, or unchanged
				}
				bucket, err := tx.CreateBucketIfNotExists([]byte(of))
				if err != nil {
					return err
				}
				for range rng.IntN(200) {
					key := fmt.Appendf(nil, "%0*d", 1+rng.IntN(40), rng.IntN(300))
					if err := bucket.Put(key, make([]byte, rng.IntN(1<<rng.IntN(15)))); err != nil {
						return err
					}
				}
				most := rng.IntN(400)
				c := bucket.Cursor()
				for key, _ := c.First(); key != nil && most > 0; key, _ = c.Next() {
					if most--; rng.IntN(4) > 0 {
						if err := bucket.Delete(bytes.Clone(key)); err != nil {
							return err
						}
					}
				}
			}
			return nil
		}
		for range 1 + rng.IntN(12) {
			if err := bolt.Update(change); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]bool{}
		err = bolt.View(func(tx *bbolt.Tx) error {
			for space, of := range spaceNames {
				if bucket := tx.Bucket([]byte(of)); bucket != nil {
					if err := bucket.ForEach(func(k, v []byte) error { want[fmt.Sprintf("%s %x %x", space, k, v)] = true; return nil }); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err = errors.Join(err, bolt.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := oldContents(name)
		if err != nil || len(got) != len(want) {
			t.Fatalf("seed %d: %d values and %v, want %d", seed, len(got), err, len(want))
		}
		for _, value := range got {
			if !want[value] {
				t.Fatalf("seed %d: bbolt does not have %.100s", seed, value)
			}
		}
	}
}

// boltPages calls fn for each page of a bbolt file that has entries, with its offset, kind and
// number of entries.
func boltPages(data []byte, fn func(at int, kind uint16, count int)) {
	for at := 0; at < len(data); at += os.Getpagesize() {
		kind, count := binary.LittleEndian.Uint16(data[at+8:]), int(binary.LittleEndian.Uint16(data[at+10:]))
		if (kind == boltBranch || kind == boltLeaf) && int(binary.LittleEndian.Uint64(data[at:]))*os.Getpagesize() == at {
			fn(at, kind, count)
		}
	}
}

// A wrong bit in the structure of a file of an earlier version is found. The lengths of the last
// key and value of a page do not count: the space behind them is free.
func TestDamagedBoltFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeOld(t, dir, uint64(shortform.Or(400, 250)))
	data, err := os.ReadFile(filepath.Join(dir, formatFile))
	if err != nil {
		t.Fatal(err)
	}
	want, err := oldContents(filepath.Join(dir, formatFile))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "damaged")
	found, n := 0, 0
	step := shortform.Or(200, 2000) // the largest distance between two flips
	boltPages(data, func(page int, kind uint16, count int) {
		end := page + boltEntry + boltEntry*count
		if kind == boltLeaf {
			end -= 8
		}
		for at := page; at < end; at += 1 + n%step {
			damaged := bytes.Clone(data)
			n++
			damaged[at] ^= 1 << (n % 8)
			if err := os.WriteFile(name, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			switch got, err := oldContents(name); {
			case errors.Is(err, ErrCorrupt):
				found++
			case err != nil || len(got) != len(want) || strings.Join(got, "") != strings.Join(want, ""):
				t.Errorf("bit %d of byte %d of page %d: %d values, %v", n%8, at-page, page/os.Getpagesize(), len(got), err)
			}
		}
	})
	if found < n/2 {
		t.Errorf("%d of %d were found", found, n)
	}
}

// A page of the old file that refers to itself, or to a page of another place, is refused. Neither
// the file nor the files beside it are changed.
func TestBoltCircle(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	writeOld(t, base, 600)
	data, err := os.ReadFile(filepath.Join(base, formatFile))
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	boltPages(data, func(page int, kind uint16, count int) {
		if kind != boltBranch {
			return
		}
		for i := range count {
			tried++
			damaged := bytes.Clone(data)
			copy(damaged[page+boltEntry*(i+1)+8:], data[page:page+8]) // the page's own id
			dir := t.TempDir()
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "tables"), 0o700), os.WriteFile(filepath.Join(dir, formatFile), damaged, 0o600)); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Options{Log: slog.New(slog.DiscardHandler)}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "undamaged copy") {
				t.Errorf("a page that refers to itself: %v, want ErrCorrupt and what to do", err)
			}
			left := files(t, vfs.Default, dir, func(name string) bool { return name != "LOCK" })
			if now, err := os.ReadFile(filepath.Join(dir, formatFile)); err != nil || !bytes.Equal(now, damaged) || len(left) != 2 {
				t.Errorf("the directory has %v, %v", left, err)
			}
		}
	})
	if tried == 0 {
		t.Error("the file has no such page")
	}
}

// If Pebble stops for good during a conversion, Open returns an error and does not change the file.
func TestPebbleCannotGoOnInAConversion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bolt, err := bbolt.Open(filepath.Join(dir, formatFile), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = bolt.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte(Blobs.String()))
		return errors.Join(err, bucket.Put(k8(1), []byte("value")))
	})
	if err = errors.Join(err, bolt.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, formatFile))
	if err != nil {
		t.Fatal(err)
	}
	var fails atomic.Bool
	fs := errorfs.Wrap(listFailsWith(vfs.Default, &fails, syscall.ENOSPC), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if writesTable(op) { // Pebble itself has opened
			fails.Store(true)
		}
		return nil
	}))
	if _, err := Open(dir, Options{fs: fs, Log: slog.New(slog.DiscardHandler), part: 16}); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("Open: %v, want ErrEnded and what to do", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, formatFile)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the old file was changed: %v", err)
	}
}

// A full disk stops a conversion with an error. The file is unchanged, and is converted when there
// is room.
func TestConversionOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bolt, err := bbolt.Open(filepath.Join(dir, formatFile), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	const memory = 1 << 20
	n := shortform.Or(400, 100) // values, and the bytes that the tables keep in memory: the values are larger
	err = bolt.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte(Blobs.String()))
		for i := range uint64(n) {
			err = errors.Join(err, bucket.Put(k8(i), make([]byte, 64<<10)))
		}
		return err
	})
	if err = errors.Join(err, bolt.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, formatFile))
	if err != nil {
		t.Fatal(err)
	}
	var full atomic.Bool
	var tries atomic.Int64
	full.Store(true)
	fs := crowded(vfs.Default, &full, func(op errorfs.Op) bool {
		if writesTable(op) && tries.Add(1) > 1000 {
			t.Error("writing the tables is retried without end")
			full.Store(false)
		}
		return writesTable(op)
	})
	options := Options{fs: fs, Log: slog.New(slog.DiscardHandler), part: memTable / memory, hurry: true}
	if _, err := Open(dir, options); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("Open: %v, want ErrFull and what to do", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, formatFile)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the old file was changed: %v", err)
	}
	if left := files(t, vfs.Default, dir, func(name string) bool { return strings.HasPrefix(name, "tables") }); len(left) > 0 {
		t.Errorf("%v takes up room", left)
	}
	full.Store(false)
	d, err := Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	err = d.Read(func(tx *Tx) error {
		return tx.Ascend(Blobs, nil, nil, func(_, v []byte) bool { got += len(v); return true })
	})
	if err = errors.Join(err, d.Close()); err != nil || got != n*64<<10 {
		t.Errorf("%d bytes were converted, %v", got, err)
	}
}
