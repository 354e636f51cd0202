package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// listFails returns a file system on which the list of the tables' files cannot be written while
// fails is set.
func listFails(fs vfs.FS, fails *atomic.Bool) vfs.FS { return listFailsWith(fs, fails, syscall.EIO) }

func listFailsWith(fs vfs.FS, fails *atomic.Bool, err error) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fails.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.Contains(op.Path, "MANIFEST") {
			return err
		}
		return nil
	}))
}

// If Pebble cannot write its list of files, it calls Fatalf in a goroutine of its own. That ends
// all writing with one line in the log. The process and its reads continue, and no caller waits for
// ever. The next process finds all acknowledged numbers.
func TestPebbleCannotGoOn(t *testing.T) {
	t.Parallel()
	mem := vfs.NewCrashableMem()
	var fails atomic.Bool
	r := &reports{}
	d, err := Open("data", Options{fs: listFails(mem, &fails), Log: slog.New(r), part: 16})
	if err != nil {
		t.Fatal(err)
	}
	writeNumbers(t, d, 0, 1)
	fails.Store(true)
	var acknowledged []uint64
	n := uint64(1)
	for ; err == nil; n++ {
		if err = d.Write(large(n)); err == nil {
			acknowledged = append(acknowledged, n)
		}
	}
	<-d.Ended()
	if !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrEnded) {
		t.Errorf("the write that notices it: %v", err)
	}
	if err := d.Write(put(n)); !errors.Is(err, ErrEnded) || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("a write after that: %v, want ErrEnded and the reason", err)
	}
	if err := d.Later(put(n)); !errors.Is(err, ErrEnded) {
		t.Errorf("Later after that: %v, want ErrEnded", err)
	}
	if got := numbers(t, d); len(got) < len(acknowledged) || r.n.Load() != 1 {
		t.Errorf("%d of %d numbers can be read, and %d lines are in the log", len(got), len(acknowledged), r.n.Load())
	}
	left := clone(mem)
	if err := d.Close(); !errors.Is(err, ErrEnded) {
		t.Errorf("Close: %v, want ErrEnded", err)
	}
	got := numbers(t, openAgain(t, left))
	for _, number := range acknowledged {
		if !slices.Contains(got, number) {
			t.Errorf("%d was acknowledged, and is lost", number)
		}
	}
}

// If Pebble cannot write its list of files while the log is replayed, Open returns an error.
func TestPebbleCannotGoOnInOpen(t *testing.T) {
	t.Parallel()
	left := killed(t, 20)
	var fails atomic.Bool
	fs := listFails(left, &fails)
	opened := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasPrefix(op.Path, "data/log") { // Pebble itself has opened
			fails.Store(true)
		}
		return nil
	}))
	_, _, err := openReporting(opened)
	if !errors.Is(err, ErrEnded) {
		t.Errorf("Open: %v, want ErrEnded", err)
	}
}

// If Pebble cannot write its list of files in a goroutine that it starts while it opens, Open and
// Compact return an error that says what to do, and log nothing. The directory stays locked,
// because Pebble still has it open. The next process finds everything.
func TestPebbleCannotGoOnWhileItOpens(t *testing.T) {
	t.Parallel()
	for number, advice := range map[syscall.Errno]string{syscall.ENOSPC: "make room", syscall.EIO: "start again"} {
		for name, open := range map[string]func(o Options) error{
			"open":    func(o Options) error { _, err := Open("data", o); return err },
			"compact": func(o Options) error { _, _, err := Compact(t.Context(), "data", o); return err },
		} {
			t.Run(name+" "+number.Error(), func(t *testing.T) {
				t.Parallel()
				left := killed(t, 20)
				var fails atomic.Bool
				fails.Store(true)
				r := &reports{}
				err := open(Options{fs: listFailsWith(left, &fails, number), Log: slog.New(r), part: 16})
				if !errors.Is(err, ErrEnded) || !errors.Is(err, number) || !strings.Contains(err.Error(), advice) {
					t.Errorf("%v, want ErrEnded, %v and %q", err, number, advice)
				}
				if r.n.Load() > 0 {
					t.Errorf("%d lines are in the log, want none", r.n.Load())
				}
				if lock, err := pebble.LockDirectory("data", left); err == nil {
					t.Error("the directory can be locked, although Pebble has it open")
					_ = lock.Close()
				}
				if got := numbers(t, openAgain(t, clone(left))); len(got) != 20 {
					t.Errorf("%d numbers are there when it opens again, want 20", len(got))
				}
			})
		}
	}
}

// If Pebble stops for good while a directory is compacted or a backup is restored, that work fails
// with an error.
func TestPebbleCannotGoOnInLongWork(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	d, err := Open("data", Options{fs: listFails(vfs.NewMem(), &fails), Log: slog.New(slog.DiscardHandler), part: 16})
	if err != nil {
		t.Fatal(err)
	}
	writeNumbers(t, d, 0, 20)
	var backup bytes.Buffer
	if _, err := d.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	fails.Store(true)
	if err := d.compact(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("compact: %v, want ErrEnded", err)
	}
	var failsToo atomic.Bool
	fs := errorfs.Wrap(listFails(vfs.NewMem(), &failsToo), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if writesTable(op) { // Pebble itself has opened
			failsToo.Store(true)
		}
		return nil
	}))
	if _, err := Restore(bytes.NewReader(backup.Bytes()), "restored", false, Options{fs: fs, Log: slog.New(slog.DiscardHandler), part: 16}); !errors.Is(err, ErrEnded) {
		t.Errorf("Restore: %v, want ErrEnded", err)
	}
}

// A panic in a callback that Pebble's goroutines call ends all writing, but not the process.
func TestPanicInACallback(t *testing.T) {
	t.Parallel()
	d := openOn(t, vfs.NewMem())
	writeNumbers(t, d, 0, 1)
	d.watch.backgroundError(nil) // a nil error has no text, so the callback panics
	<-d.Ended()
	if err := d.Write(put(1)); !errors.Is(err, ErrEnded) {
		t.Errorf("a write: %v, want ErrEnded", err)
	}
	if got := numbers(t, d); len(got) != 1 {
		t.Errorf("%v can be read", got)
	}
}

// A log with a record of an unknown version does not open and is not changed. The record is not
// taken for the end of the log.
func TestLogOfALaterVersion(t *testing.T) {
	t.Parallel()
	left := killed(t, 20)
	name := segments(t, left)[0]
	changeFile(t, left, name, func(data []byte) {
		_, nonce, _ := parseName(filepath.Base(name))
		records, err := readSegment(data, nonce)
		if err != nil || len(records) < 3 {
			t.Fatal(len(records), err)
		}
		at := records[0].size() + records[1].size()
		for _, at := range []int{at, at + headerSize} {
			binary.BigEndian.PutUint32(data[at+8:], (version+1)*maxChanges|1)
			binary.BigEndian.PutUint32(data[at+4:], crc32.Checksum(data[at+8:at+headerSize], castagnoli))
		}
	})
	if _, _, err := openReporting(left); !errors.Is(err, errLaterRecord) {
		t.Errorf("Open: %v, want an error that a later version wrote the log", err)
	}
}
