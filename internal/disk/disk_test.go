package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
)

var bucket = []byte("bucket")

func open(t *testing.T, dir string) *DB {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // a second Close does nothing
	return d
}

// put returns an operation that puts a number, and refuses one that is there.
func put(n uint64) Op {
	return func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		k := binary.BigEndian.AppendUint64(nil, n)
		if b.Get(k) != nil {
			return errThere
		}
		return b.Put(k, k)
	}
}

var errThere = errors.New("it is there")

// numbers lists what is in the file.
func numbers(t *testing.T, d *DB) (all []uint64) {
	t.Helper()
	err := d.Read(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, _ []byte) error {
			all = append(all, binary.BigEndian.Uint64(k))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Many writers share transactions; each is answered for its own operation alone.
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
			t.Errorf("number %d: %v and %v, want one to be put and one to be refused", i, a, b)
		}
	}
	if got := numbers(t, d); len(got) != n {
		t.Errorf("%d numbers, want %d", len(got), n)
	}
}

// What is queued with Later is on the disk before what waits behind it, and Close loses nothing of the line.
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
		t.Errorf("%d numbers when what came after them was written, want 101", len(got))
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
		"Write": d.Write(put(1)), "Later": d.Later(put(1)), "Read": d.Read(func(*bbolt.Tx) error { return nil }),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// A flush that fails leaves nobody knowing: those who wait are told so, and no write is tried again.
func TestAFlushThatFails(t *testing.T) {
	t.Parallel()
	var file *os.File
	d, err := openWith(t.TempDir(), func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // the file is closed already
	if err := d.Write(put(1)); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil { // as a disk that is gone
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Write(put(2)); !errors.Is(err, ErrUnknown) {
			t.Errorf("a write that cannot be flushed: %v, want ErrUnknown", err)
		}
	}
	if err := d.Later(put(3)); !errors.Is(err, ErrUnknown) {
		t.Errorf("a write after that: %v, want ErrUnknown", err)
	}
}

// dirVariable names the directory to the child of TestKilled.
const dirVariable = "WEFT_DISK_TEST_DIR"

// child writes numbers, prints those that were acknowledged, and kills itself while some are on their way.
func child(dir string) {
	d, err := Open(dir)
	if err != nil {
		panic(err)
	}
	first := uint64(0)
	_ = d.Read(func(tx *bbolt.Tx) error {
		if b := tx.Bucket(bucket); b != nil {
			k, _ := b.Cursor().Last()
			first = binary.BigEndian.Uint64(k) + 1
		}
		return nil
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

// A process that is killed loses nothing that was acknowledged, and nothing that was queued before that.
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
			t.Fatalf("%d was acknowledged, and the file ends with %d", last, len(got)-1)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
