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
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// openOn opens the directory "data" of a file system.
func openOn(t *testing.T, fs vfs.FS) *DB {
	t.Helper()
	d, err := Open("data", Options{fs: fs, Log: slog.New(slog.DiscardHandler), part: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // a second Close does nothing
	return d
}

// large puts a number with a value that fills a log quickly.
func large(n uint64) Op {
	return func(tx *Tx) error {
		tx.Put(Blobs, binary.BigEndian.AppendUint64(nil, n), make([]byte, 12<<10))
		return put(n)(tx)
	}
}

// A machine that loses its power keeps what was flushed. Of the rest it keeps any part, in any
// order. Afterwards all acknowledged numbers are there. The numbers after them are there up to a
// first one that is missing.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	seeds := uint64(shortform.Or(30, 6))
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs, next := vfs.NewCrashableMem(), uint64(0)
		for range 4 {
			d := openOn(t, fs)
			got := numbers(t, d)
			for i, n := range got {
				if n != uint64(i) {
					t.Fatalf("seed %d: number %d is missing, although %d is there", seed, i, n)
				}
			}
			if uint64(len(got)) < next {
				t.Fatalf("seed %d: %d was acknowledged, and there are %d", seed, next-1, len(got))
			}
			next = uint64(len(got))
			var mu sync.Mutex // so that the acknowledged numbers are known when the power fails
			var crashed *vfs.MemFS
			at := next + rng.Uint64N(40)
			acknowledged := next
			for n := next; n < at+3; n++ {
				op := put(n)
				if rng.IntN(8) == 0 {
					op = large(n)
				}
				if n < at && rng.IntN(3) == 0 {
					_ = d.Later(op)
					continue
				}
				if err := d.Write(op); err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				if crashed == nil {
					acknowledged = n + 1
				}
				if n >= at && crashed == nil {
					for late := range uint64(3) {
						_ = d.Later(put(n + 1 + late)) // not flushed yet
					}
					crashed = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
				}
				mu.Unlock()
				if crashed != nil {
					break
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if crashed != nil {
				fs, next = crashed, acknowledged
			} else {
				next = at
			}
		}
	}
}

// segments returns the names of the log's files.
func segments(t *testing.T, fs vfs.FS) (names []string) {
	t.Helper()
	all, err := fs.List("data/log")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if strings.HasSuffix(name, walSuffix) {
			names = append(names, "data/log/"+name)
		}
	}
	return names
}

// changeFile changes the bytes of a file.
func changeFile(t *testing.T, fs vfs.FS, name string, fn func(data []byte)) {
	t.Helper()
	data, err := readFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	fn(data)
	f, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// killed writes n numbers and returns the file system that a killed process leaves, once the log
// records that everything was flushed.
func killed(t *testing.T, n uint64) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	for i := range n {
		if err := d.Write(put(i)); err != nil {
			t.Fatal(err)
		}
	}
	d.closed.Store(true)
	d.line.close()
	<-d.done // the log has recorded that
	close(d.gone)
	left := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	if err := errors.Join(d.log.close(false), d.tables.Close(), d.lock.Close()); err != nil {
		t.Fatal(err)
	}
	return left
}

// A wrong bit in the log costs at most the value that it hits. Reading that value's key then fails.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	const n = 6
	left := killed(t, n)
	name := segments(t, left)[0]
	data, err := readFile(left, name)
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(data, "\x00"))
	hit := 0
	step := shortform.Or(3, 31)
	for at := 0; at < end; at += step {
		fs := left.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
		changeFile(t, fs, name, func(data []byte) { data[at] ^= 1 << (at % 8) })
		d := openOn(t, fs)
		err := d.Read(func(tx *Tx) error {
			for i := range uint64(n) {
				k := binary.BigEndian.AppendUint64(nil, i)
				switch v, err := tx.Get(Log, k); {
				case errors.Is(err, ErrCorrupt):
					hit++
				case err != nil || !bytes.Equal(v, k):
					return fmt.Errorf("byte %d: number %d is %x, %v", at, i, v, err)
				}
			}
			return nil
		})
		if err = errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if hit == 0 || hit > end/step {
		t.Errorf("%d values were reported as damaged after %d flips; want some, and at most one for each flip", hit, end/step)
	}
}

// A log that is cut off anywhere is read up to its last whole record.
func TestTruncatedLog(t *testing.T) {
	t.Parallel()
	left := killed(t, 5)
	name := segments(t, left)[0]
	data, err := readFile(left, name)
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(data, "\x00"))
	for at := 0; at < end; at += shortform.Or(7, 50) {
		fs := left.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
		changeFile(t, fs, name, func(data []byte) { clear(data[at:]) })
		d := openOn(t, fs)
		got, sound := []uint64{}, true
		err := d.Read(func(tx *Tx) error {
			return tx.AscendSound(Log, nil, nil, func(k, v []byte) bool {
				got, sound = append(got, binary.BigEndian.Uint64(k)), sound && bytes.Equal(k, v)
				return true
			})
		})
		if err != nil || !sound || !slices.IsSorted(got) || len(got) > 0 && int(got[len(got)-1]) != len(got)-1 {
			t.Fatalf("cut off at %d: %v, %v", at, got, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Bytes of a value that look like a record are not read as one, not even after damage.
func TestRecordInAValue(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	forged := &record{header: header{number: 2, flushed: 1 << 40}}
	key := inSpace(Log, binary.BigEndian.AppendUint64(nil, 7))
	forged.list = append(forged.list, change{key: key, value: withCheck(nil, plain, key, key[1:])})
	err := d.Write(func(tx *Tx) error {
		tx.Put(Blobs, []byte("k"), forged.append(nil))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	changeFile(t, left, segments(t, left)[0], func(data []byte) { data[5], data[headerSize+5] = ^data[5], ^data[headerSize+5] })
	if got := numbers(t, openOn(t, left)); len(got) != 0 {
		t.Errorf("%v were read from within a value", got)
	}
}

// A log that goes through many segments, which are reused, has everything after a crash.
func TestManySegments(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	d := openOn(t, fs)
	n := shortform.Or(600, 300)
	for i := range uint64(n) {
		if err := d.Write(large(i)); err != nil {
			t.Fatal(err)
		}
	}
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	if n := len(segments(t, left)); n > mostFull+4 {
		t.Errorf("there are %d segments: they are not reused", n)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(segments(t, fs)); n != 1 {
		t.Errorf("%d segments are left after Close, want one, which records that the tables have everything", n)
	}
	for _, fs := range []vfs.FS{left, fs} {
		if got := numbers(t, openOn(t, fs)); len(got) != n {
			t.Errorf("%d numbers, want %d", len(got), n)
		}
	}
}

// A directory of an earlier version is converted, even if an earlier conversion was interrupted.
// The earlier version then refuses the directory.
func TestConversion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := filepath.Join(dir, formatFile)
	writeOld(t, dir, 3)
	before, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	if err := d.Write(put(1000)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// This is the state after a crash before the file was replaced. What was converted is dropped
	// and converted again.
	if err := errors.Join(os.WriteFile(old, before, 0o600), os.WriteFile(filepath.Join(dir, converting), nil, 0o600), os.RemoveAll(filepath.Join(dir, "log"))); err != nil {
		t.Fatal(err)
	}
	writeOld(t, dir, 5)
	d = open(t, dir)
	if got := numbers(t, d); len(got) != 5 {
		t.Errorf("%v; want the values of the earlier version", got)
	}
	err = d.Read(func(tx *Tx) error {
		for space := range spaceNames {
			if v, err := tx.Get(space, binary.BigEndian.AppendUint64(nil, 4)); err != nil || len(v) != 8 {
				return fmt.Errorf("%s: %x, %w", space, v, err)
			}
		}
		return nil
	})
	if err = errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := bbolt.Open(old, 0o600, nil); err == nil {
		t.Error("an earlier version can open the directory, and would find nothing there")
	}
	if _, err := os.Stat(filepath.Join(dir, oldFile)); err != nil {
		t.Errorf("the old file: %v", err)
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, "*.before")); len(aside) > 0 {
		t.Errorf("%v: what an interrupted conversion left is kept", aside)
	}
	if err := os.WriteFile(old, []byte("weft data directory, format 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("a directory of a later format: %v", err)
	}
}

// A record is read back as it was written. No input makes the reader of records panic.
func FuzzRecord(f *testing.F) {
	key := inSpace(Log, []byte("key"))
	r := &record{header: header{number: 1, segment: 7}}
	r.list = append(r.list, change{key: key, value: withCheck(nil, plain, key, []byte("value"))})
	r.list = append(r.list, change{key: inSpace(Timers, []byte("other"))})
	f.Add(r.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := readSegment(data, 7)
		if err != nil && !errors.Is(err, errLaterRecord) {
			t.Error(err)
		}
		for _, r := range records {
			if r.list == nil {
				continue
			}
			again := &record{header: r.header, list: r.list}
			got, err := readRecord(again.append(nil), 7)
			if err != nil || len(got.list) != len(r.list) || got.number != r.number {
				t.Errorf("%v, %v; want %v", got, err, r)
			}
		}
	})
}
