package disk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// crowded returns a file system that has no room for the operations that concerns selects, while
// full is set.
func crowded(fs vfs.FS, full *atomic.Bool, concerns func(op errorfs.Op) bool) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && concerns(op) {
			return syscall.ENOSPC
		}
		return nil
	}))
}

func writesTable(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".sst")
}

// fillsSegment selects the flush of a new segment. The flush of a record is another operation.
func fillsSegment(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileSync && strings.HasSuffix(op.Path, walSuffix+unfilledSuffix)
}

// While the disk is full, writes are refused at once and reads are answered. No acknowledged number
// is lost, and no refused one is there. When there is room, writes succeed again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name, concerns := range map[string]func(errorfs.Op) bool{"tables": writesTable, "log": fillsSegment} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var full atomic.Bool
				mem := vfs.NewCrashableMem()
				d, err := Open("data", Options{fs: crowded(mem, &full, concerns), Log: slog.New(slog.DiscardHandler), part: 16, hurry: true})
				if err != nil {
					t.Fatal(err)
				}
				full.Store(true)
				next := uint64(0)
				for ; err == nil; next++ {
					if next > 5000 {
						t.Fatal("the full disk takes writes without end")
					}
					err = d.Write(large(next))
				}
				next-- // it was refused
				for range 3 {
					if err := d.Write(large(next)); !errors.Is(err, ErrFull) || errors.Is(err, ErrUnknown) {
						t.Errorf("a write to a full disk: %v, want ErrFull", err)
					}
				}
				if err := d.Later(put(next)); !errors.Is(err, ErrFull) {
					t.Errorf("Later on a full disk: %v, want ErrFull", err)
				}
				if got := numbers(t, d); uint64(len(got)) != next {
					t.Errorf("%d numbers are there, want %d", len(got), next)
				}
				left := mem.CrashClone(vfs.CrashCloneCfg{})
				if name == "log" {
					time.Sleep(time.Minute) // the log's retries fail meanwhile; writing the tables does not wait
				}
				if n := len(segments(t, mem)); n > mostFull+4 {
					t.Errorf("%d segments are there, including some that could not be filled", n)
				}
				full.Store(false)
				time.Sleep(time.Minute)
				writeNumbers(t, d, next, next+1)
				closed(t, d)
				if got := numbers(t, openAgain(t, left)); uint64(len(got)) != next {
					t.Errorf("%d numbers are there after a crash, want %d", len(got), next)
				}
				if got := numbers(t, openAgain(t, mem)); uint64(len(got)) != next+1 {
					t.Errorf("%d numbers are there in the end, want %d", len(got), next+1)
				}
			})
		})
	}
}

// openAgain opens a directory until the end of the test's bubble.
func openAgain(t *testing.T, fs vfs.FS) *DB {
	t.Helper()
	return openOn(t, fs)
}

// On a full disk, opening and closing a directory fail with ErrFull instead of waiting for ever.
func TestOpenAndCloseOnAFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		mem := vfs.NewCrashableMem()
		on := crowded(mem, &full, writesTable)
		d, err := Open("data", Options{fs: on, Log: slog.New(slog.DiscardHandler), part: 16, hurry: true})
		if err != nil {
			t.Fatal(err)
		}
		writeNumbers(t, d, 0, 3)
		full.Store(true)
		if err := d.Close(); !errors.Is(err, ErrFull) {
			t.Errorf("Close: %v, want ErrFull", err)
		}
		if _, err := Open("data", Options{fs: on, Log: slog.New(slog.DiscardHandler), part: 16, hurry: true}); !errors.Is(err, ErrFull) {
			t.Errorf("Open: %v, want ErrFull", err)
		}
		full.Store(false)
		if got := numbers(t, openAgain(t, mem)); len(got) != 3 {
			t.Errorf("%v is there, want all acknowledged numbers", got)
		}
	})
}

// Close writes the operations that were queued while the disk was full if there is room again. If
// there is none, Close returns an error that says that operations are lost.
func TestCloseOfAFullDisk(t *testing.T) {
	t.Parallel()
	for name, concerns := range map[string]func(errorfs.Op) bool{"tables": writesTable, "log": fillsSegment} {
		for _, stays := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stays full: %v", name, stays), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var full atomic.Bool
					mem := vfs.NewCrashableMem()
					d, err := Open("data", Options{fs: crowded(mem, &full, concerns), Log: slog.New(slog.DiscardHandler), part: 16, hurry: true})
					if err != nil {
						t.Fatal(err)
					}
					full.Store(true)
					taken := uint64(0)
					for ; err == nil; taken++ {
						if err = d.Later(large(taken)); err == nil && taken%8 == 7 {
							taken++
							err = d.Write(large(taken))
						}
						if taken > 5000 {
							t.Fatal("the full disk takes writes without end")
						}
					}
					taken-- // the last one was refused
					d.order.Lock()
					waiting := uint64(len(d.line.jobs))
					full.Store(stays)
					d.order.Unlock()
					err = d.Close()
					got := uint64(len(numbers(t, openAgain(t, mem))))
					switch {
					case waiting == 0:
						t.Error("no operation is queued, so this tests nothing")
					case stays && (!errors.Is(err, ErrFull) || got != taken-waiting):
						t.Errorf("%d of %d are there, and Close returns %v, want %d and ErrFull", got, taken, err, taken-waiting)
					case !stays && (err != nil || got != taken):
						t.Errorf("%d of %d are there, and Close returns %v although there was room", got, taken, err)
					}
				})
			})
		}
	}
}

// A refusal says why: a failing disk is not reported as a full one.
func TestRefusedForAnotherReason(t *testing.T) {
	t.Parallel()
	for name, concerns := range map[string]func(errorfs.Op) bool{"tables": writesTable, "log": fillsSegment} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fails atomic.Bool
			d := openOn(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if fails.Load() && concerns(op) {
					return syscall.EIO
				}
				return nil
			})))
			fails.Store(true)
			err := error(nil)
			for n := uint64(0); err == nil; n++ {
				err = d.Write(large(n))
			}
			if !errors.Is(err, ErrFull) || !errors.Is(err, syscall.EIO) || strings.Contains(err.Error(), "room") {
				t.Errorf("a write to a disk that fails: %v, want ErrFull and the reason, and no word of room", err)
			}
			fails.Store(false)
		})
	}
}

// If a segment cannot be created in advance, it is created when it is needed.
func TestOneSegmentFails(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	once := func(op errorfs.Op) bool { return fillsSegment(op) && full.CompareAndSwap(true, false) }
	d := openOn(t, crowded(vfs.NewMem(), &full, once))
	full.Store(true)
	for n := range uint64(50) {
		if err := d.Write(large(n)); err != nil {
			t.Fatalf("write %d: %v", n, err)
		}
	}
	if full.Load() {
		t.Error("no segment was created")
	}
}

// A write that is refused for lack of room is not counted.
func TestCountsOfAFullDisk(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	d := openOn(t, crowded(vfs.NewMem(), &full, fillsSegment))
	full.Store(true)
	for n := uint64(0); ; n++ {
		before := d.Stats()
		if err := d.Write(large(n)); err != nil {
			if got := d.Stats(); got.Flushes != before.Flushes || got.Waited != before.Waited {
				t.Errorf("a refused write changed the counts from %+v to %+v", before, got)
			}
			return
		}
	}
}

// One operation on a file fails, at any place. No acknowledged number is lost, and no caller waits
// for ever. TestPebbleCannotGoOn covers the list of the tables' files.
func TestOneFailure(t *testing.T) {
	t.Parallel()
	concerns := func(op errorfs.Op) bool {
		return op.Kind.ReadOrWrite() == errorfs.OpIsWrite &&
			(strings.HasPrefix(op.Path, "data/log") || strings.HasSuffix(op.Path, ".sst") || strings.HasPrefix(op.Path, "data/weft"))
	}
	step := int64(shortform.Or(5, 300))
	for k := int64(1); ; k += step {
		mem := vfs.NewCrashableMem()
		var n atomic.Int64
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if concerns(op) && n.Add(1) == k {
				return errIO
			}
			return nil
		}))
		acknowledged := writeThroughFailure(t, fs)
		if n.Load() < k {
			if k < 200 {
				t.Errorf("there were only %d operations", n.Load())
			}
			return
		}
		for _, unsynced := range []int{0, 100} {
			left := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rand.New(rand.NewPCG(uint64(k), 1))})
			d := openOn(t, left)
			there := map[uint64]bool{}
			for _, number := range numbers(t, d) {
				there[number] = true
			}
			for _, number := range acknowledged {
				if !there[number] {
					t.Errorf("operation %d failed: %d was acknowledged, and is lost", k, number)
				}
			}
			closed(t, d)
		}
	}
}

// writeThroughFailure opens a directory, writes, and closes it, twice. It returns the acknowledged
// numbers.
func writeThroughFailure(t *testing.T, fs vfs.FS) (acknowledged []uint64) {
	t.Helper()
	for life := range uint64(2) {
		d, err := Open("data", Options{fs: fs, Log: slog.New(slog.DiscardHandler), part: 64, hurry: true})
		if errors.Is(err, errIO) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(40) {
			n := 100*life + i
			if i%3 == 1 {
				_ = d.Later(large(n)) // nobody waits for this write
			} else if err := d.Write(large(n)); err == nil {
				acknowledged = append(acknowledged, n)
			} else if !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrFull) && !errors.Is(err, ErrEnded) {
				t.Error(err)
			}
		}
		_ = d.Close() // Close reports the failure if it meets it
	}
	return acknowledged
}

// While the tables cannot be written to the disk, no write waits for them, whatever its size and
// its number of changes. The memory of the tables is bounded.
func TestFullDiskBoundsMemory(t *testing.T) {
	t.Parallel()
	part := int64(shortform.Or(16, 64))
	many := func(n int, change func(tx *Tx, key []byte)) func(uint64) Op {
		return func(i uint64) Op {
			return func(tx *Tx) error {
				for k := range n {
					change(tx, k8(i*uint64(n)+uint64(k)))
				}
				return nil
			}
		}
	}
	for name, op := range map[string]func(uint64) Op{
		"values of a quarter of a table": many(1, func(tx *Tx, key []byte) { tx.Put(Blobs, key, make([]byte, memTable/part/4)) }),
		"values of almost a table":       many(1, func(tx *Tx, key []byte) { tx.Put(Blobs, key, make([]byte, memTable/part-4096)) }),
		"values of four tables":          many(1, func(tx *Tx, key []byte) { tx.Put(Blobs, key, make([]byte, 4*memTable/part)) }),
		"many values":                    many(48_000/int(part), func(tx *Tx, key []byte) { tx.Put(Log, key, nil) }),
		"many deletes":                   many(48_000/int(part), func(tx *Tx, key []byte) { tx.Delete(Log, key) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var full, waited atomic.Bool
				mem := vfs.NewCrashableMem()
				lines := onLine(func(r slog.Record) {
					if strings.Contains(r.Message, "a write waits for the tables") {
						waited.Store(true)
						full.Store(false) // so that the test ends
					}
				})
				d, err := Open("data", Options{fs: crowded(mem, &full, writesTable), Log: slog.New(lines), part: part, hurry: true})
				if err != nil {
					t.Fatal(err)
				}
				defer closed(t, d)
				full.Store(true)
				n := uint64(0)
				for ; err == nil && full.Load(); n++ {
					err = d.Write(op(n))
				}
				if waited.Load() || !errors.Is(err, ErrFull) {
					t.Errorf("write %d to a full disk: %v, want ErrFull; it waited for the tables: %v", n, err, waited.Load())
				}
				most := uint64(mostInMemory * memTable / part)
				if got := d.tables.Metrics().MemTable.Size; got > 2*most || got < most/10 {
					t.Errorf("the tables have %d bytes in memory after %d writes, want about %d at most", got, n, most)
				}
				full.Store(false)
				time.Sleep(time.Minute)
				if err := d.Write(op(n)); err != nil {
					t.Errorf("a write after there is room again: %v", err)
				}
			})
		})
	}
}

// onLine is a log handler that calls a function with each line.
type onLine func(r slog.Record)

func (onLine) Enabled(context.Context, slog.Level) bool           { return true }
func (l onLine) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l onLine) WithGroup(string) slog.Handler                    { return l }
func (l onLine) Handle(_ context.Context, line slog.Record) error { l(line); return nil }
