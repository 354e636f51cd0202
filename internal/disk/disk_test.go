package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func open(t *testing.T, dir string) *DB {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // a second Close does nothing
	return d
}

// put returns an operation that puts a number, and that refuses if the number is there.
func put(n uint64) Op {
	return func(tx *Tx) error {
		k := binary.BigEndian.AppendUint64(nil, n)
		there, err := tx.Get(Log, k)
		if err != nil {
			return err
		}
		if there != nil {
			return errThere
		}
		tx.Put(Log, k, k)
		return nil
	}
}

var errThere = errors.New("it is there")

// numbers returns the numbers in the directory.
func numbers(t *testing.T, d *DB) (all []uint64) {
	t.Helper()
	err := d.Read(func(tx *Tx) error {
		return tx.Ascend(Log, nil, nil, func(k, v []byte) bool {
			if !bytes.Equal(k, v) {
				t.Errorf("%x has the value %x", k, v)
			}
			all = append(all, binary.BigEndian.Uint64(k))
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Many writers share transactions. Each gets the result of its own operation.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	var writers sync.WaitGroup
	const n = 400
	results := make([]error, 2*n)
	for i := range results {
		writers.Go(func() { results[i] = d.Write(put(uint64(i % n))) })
	}
	writers.Wait()
	for i := range n {
		a, b := results[i], results[i+n]
		if !(a == nil && errors.Is(b, errThere) || b == nil && errors.Is(a, errThere)) {
			t.Errorf("number %d: %v and %v, want one nil and one refusal", i, a, b)
		}
	}
	if got := numbers(t, d); len(got) != n {
		t.Errorf("%d numbers, want %d", len(got), n)
	}
}

// An operation queued with Later is on the disk before the operations behind it, and Close loses
// no queued one.
func TestLaterComesBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	for i := range uint64(100) {
		if err := d.Later(put(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Write(put(1000)); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, d); len(got) != 101 {
		t.Errorf("%d numbers after a later write, want 101", len(got))
	}
	if err := d.Later(put(2000)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, open(t, dir)); len(got) != 102 {
		t.Errorf("%d numbers after Close, want 102", len(got))
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Write": d.Write(put(1)), "Later": d.Later(put(1)), "Read": d.Read(func(*Tx) error { return nil }),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// failing is a file system that can stop flushing the files of the log.
type failing struct {
	vfs.FS
	fails atomic.Bool
}

var errIO = errors.New("the disk is gone")

func (f *failing) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, category, o...)
	return &failingFile{file, f}, err
}

type failingFile struct {
	vfs.File
	fs *failing
}

func (f *failingFile) SyncData() error {
	if f.fs.fails.Load() {
		return errIO
	}
	return f.File.SyncData()
}

// After a failed flush it is unknown what is on the disk. The waiting caller gets ErrUnknown, later
// writes are refused, and the write is not seen.
func TestAFlushThatFails(t *testing.T) {
	t.Parallel()
	fs := &failing{FS: vfs.NewMem()}
	d := openOn(t, fs)
	if err := d.Write(put(1)); err != nil {
		t.Fatal(err)
	}
	fs.fails.Store(true)
	if err := d.Write(put(2)); !errors.Is(err, ErrUnknown) || !errors.Is(err, errIO) {
		t.Errorf("a write that cannot be flushed: %v, want ErrUnknown", err)
	}
	<-d.Ended()
	for _, write := range []func(Op) error{d.Write, d.Later} {
		if err := write(put(2)); !errors.Is(err, ErrEnded) || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), errIO.Error()) {
			t.Errorf("a write after that: %v, want ErrEnded", err)
		}
	}
	if got := numbers(t, d); len(got) != 1 {
		t.Errorf("%v can be read, want the flushed number only", got)
	}
}

// dirVariable is the environment variable that names the directory to the child process of
// TestKilled.
const dirVariable = "WEFT_DISK_TEST_DIR"

// child writes numbers, prints the acknowledged ones, and kills itself while others are queued.
func child(dir string) {
	d, err := Open(dir)
	if err != nil {
		panic(err)
	}
	first := uint64(0)
	_ = d.Read(func(tx *Tx) error {
		return tx.Descend(Log, nil, nil, func(k, _ []byte) bool {
			first = binary.BigEndian.Uint64(k) + 1
			return false
		})
	})
	for n := first; n < first+50; n++ {
		if n%3 != 0 {
			_ = d.Later(put(n))
			continue
		}
		if err := d.Write(put(n)); err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// A killed process loses no acknowledged number, and none that was queued before an acknowledged
// one.
func TestKilled(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(dirVariable); dir != "" {
		child(dir)
	}
	dir := t.TempDir()
	for range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), dirVariable+"="+dir)
		out, err := cmd.CombinedOutput()
		acknowledged := strings.Fields(string(out))
		if err == nil || len(acknowledged) == 0 {
			t.Fatalf("the child ended with %v:\n%s", err, out)
		}
		last, err := strconv.Atoi(acknowledged[len(acknowledged)-1])
		if err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		d := open(t, dir)
		got := numbers(t, d)
		for i, n := range got {
			if n != uint64(i) {
				t.Fatalf("number %d is missing, although %d is there", i, n)
			}
		}
		if len(got) <= last {
			t.Fatalf("%d was acknowledged, and the last number is %d", last, len(got)-1)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func k8(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func number(key []byte) uint64 { return binary.BigEndian.Uint64(key) }
