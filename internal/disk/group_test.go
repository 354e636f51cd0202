package disk

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// keys returns the keys of a space that begin with k.
func keys(t *testing.T, tx *Tx) (all []string) {
	t.Helper()
	if err := tx.Ascend(Rows, []byte("k"), After([]byte("k")), func(k, v []byte) bool {
		all = append(all, fmt.Sprintf("%s=%s", k, v))
		return true
	}); err != nil {
		t.Error(err)
	}
	return all
}

// After returns the end of a prefix, whatever its bytes. A number in a key can end in any byte, and
// most bytes are not UTF-8.
func TestAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, after string }{
		{"a", "b"},
		{"a\x00", "a\x01"},
		{"a\x7f", "a\x80"},
		{"a\x80", "a\x81"},
		{"a\x00\x80\x80", "a\x00\x80\x81"},
		{"a\xfe", "a\xff"},
		{"a\xff", "b"},
		{"a\x80\xff\xff", "a\x81"},
		{"a\ufffd", "a\xef\xbf\xbe"},
		{"\x80", "\x81"},
		{"\xff\xff", ""},
		{"", ""},
	} {
		if got := After([]byte(c.prefix)); string(got) != c.after || (got == nil) != (c.after == "") {
			t.Errorf("after %q is %q, want %q", c.prefix, got, c.after)
		}
	}
	for i := range 1 << 16 {
		prefix := []byte{'a', byte(i >> 8), byte(i)}
		if got := After(prefix); !bytes.Equal(got, After(append(prefix, 0xff))) || string(got) <= string(prefix)+"\xff\xff" || i < 1<<16-1 && string(got) > string([]byte{'a', byte((i + 1) >> 8), byte(i + 1)}) {
			t.Fatalf("after %q is %q", prefix, got)
		}
	}
}

func value(t *testing.T, tx *Tx, key string) string {
	t.Helper()
	v, err := tx.Get(Rows, []byte(key))
	if err != nil {
		t.Error(err)
	}
	if v == nil {
		return "none"
	}
	return string(v)
}

// An operation reads its own changes and those of earlier operations in its group, by key and by
// range. An operation that refuses leaves no change.
func TestGroup(t *testing.T) {
	t.Parallel()
	for _, scans := range []bool{false, true} {
		d := openOn(t, vfs.NewMem())
		put := func(tx *Tx, key, value string) { tx.Put(Rows, []byte(key), []byte(value)) }
		want := func(tx *Tx, values string) {
			t.Helper()
			got := []string{value(t, tx, "k1"), value(t, tx, "k2"), value(t, tx, "k3")}
			if strings.Join(got, " ") != values {
				t.Errorf("the values are %q, want %q", got, values)
			}
			var there []string
			for i, v := range got {
				if v != "none" {
					there = append(there, fmt.Sprintf("k%d=%s", i+1, v))
				}
			}
			if scanned := keys(t, tx); scans && !slices.Equal(scanned, there) {
				t.Errorf("the range is %q, want %q", scanned, there)
			}
		}
		if err := d.Write(func(tx *Tx) error { put(tx, "k1", "old"); return nil }); err != nil {
			t.Fatal(err)
		}
		refused := errors.New("refused")
		operations := []struct {
			op  Op
			err error
		}{
			{func(tx *Tx) error {
				want(tx, "old none none")
				put(tx, "k2", "a")
				put(tx, "k2", "")
				want(tx, "old  none")
				return nil
			}, nil},
			{func(tx *Tx) error {
				want(tx, "old  none")
				put(tx, "k2", "b")
				tx.Delete(Rows, []byte("k1"))
				put(tx, "k3", "c")
				want(tx, "none b c")
				return refused
			}, refused},
			{func(tx *Tx) error {
				want(tx, "old  none")
				tx.Delete(Rows, []byte("k1"))
				want(tx, "none  none")
				return nil
			}, nil},
			{func(tx *Tx) error { want(tx, "none  none"); return refused }, refused},
			{func(tx *Tx) error { put(tx, "k3", "d"); want(tx, "none  d"); return nil }, nil},
		}
		group := make([]*job, len(operations))
		for i, o := range operations {
			group[i] = &job{op: o.op, answer: make(chan error, 1)}
		}
		d.order.Lock()
		d.lead(group)
		for i, j := range group {
			if err := <-j.answer; !errors.Is(err, operations[i].err) {
				t.Errorf("operation %d: %v, want %v", i, err, operations[i].err)
			}
		}
		if s := d.Stats(); s.Flushes != 2 {
			t.Errorf("%d flushes, want one for the first write and one for the group", s.Flushes)
		}
		if err := d.Read(func(tx *Tx) error { want(tx, "none  d"); return nil }); err != nil {
			t.Error(err)
		}
	}
}

// The changes that an operation made before it refused are not on the disk either.
func TestRefusedAfterChanges(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	d := openOn(t, fs)
	refused := errors.New("refused")
	if err := d.Write(func(tx *Tx) error { _ = put(1)(tx); return refused }); !errors.Is(err, refused) {
		t.Errorf("%v, want the operation's error", err)
	}
	for range 2 {
		if got := numbers(t, d); len(got) != 0 {
			t.Errorf("%v is there, although it was refused", got)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = openOn(t, fs)
	}
}

// A group holds no more operations than its limit of bytes allows. The rest is committed after it.
func TestGroupBytes(t *testing.T) {
	t.Parallel()
	d := openOn(t, vfs.NewMem())
	var group []*job
	for n := range uint64(groupBytes/(12<<10) + 2) {
		group = append(group, &job{op: large(n), answer: make(chan error, 1)})
	}
	d.order.Lock()
	d.lead(group)
	for _, j := range group {
		if err := <-j.answer; err != nil {
			t.Error(err)
		}
	}
	if s := d.Stats(); s.Flushes != 2 || s.Waited != 2 {
		t.Errorf("%+v, want two groups", s)
	}
	if got := numbers(t, d); len(got) != len(group) {
		t.Errorf("%d numbers are there, want %d", len(got), len(group))
	}
}

// An operation that panics counts as refused, with its panic as the error, and leaves no change.
// Operations before and after it are not affected.
func TestPanic(t *testing.T) {
	t.Parallel()
	d := openOn(t, vfs.NewMem())
	if err := d.Later(put(1)); err != nil {
		t.Fatal(err)
	}
	panics := func(tx *Tx) error {
		_ = put(7)(tx)
		panic("a defect")
	}
	if err := d.Write(panics); !errors.Is(err, ErrPanicked) || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "a defect") {
		t.Errorf("an operation that panics: %v", err)
	}
	if err := d.Later(panics); err != nil { // the writer runs it, or the next caller
		t.Error(err)
	}
	if err := d.Write(put(2)); err != nil {
		t.Errorf("a write after that: %v", err)
	}
	if got := numbers(t, d); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("%v is there", got)
	}
}

// A panic in a goroutine of the directory ends all writing, but not the process.
func TestContained(t *testing.T) {
	t.Parallel()
	d, r, err := openReporting(vfs.NewMem())
	if err != nil {
		t.Fatal(err)
	}
	writeNumbers(t, d, 0, 1)
	d.contained(func() { panic("a defect") })()
	if err := d.Write(put(1)); !errors.Is(err, ErrEnded) || r.n.Load() != 2 {
		t.Errorf("a write after that: %v, with %d lines in the log; want ErrEnded and 2", err, r.n.Load())
	}
	if got := numbers(t, d); len(got) != 1 {
		t.Errorf("%v is there", got)
	}
	closed(t, d)
}

// settle waits until the group under way is committed.
func settle(d *DB) {
	d.order.Lock()
	defer d.order.Unlock()
}

// A caller who is alone commits his operation himself. Meanwhile other operations are left to the
// writer. After a group of several, the writer also commits the next operation.
func TestWhoCommits(t *testing.T) {
	t.Parallel()
	d := openOn(t, vfs.NewMem())
	add := func(n uint64) (*job, []*job) {
		j := &job{op: put(n), answer: make(chan error, 1)}
		lead, err := d.line.add(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return j, lead
	}
	if err := d.Later(put(1)); err != nil {
		t.Fatal(err)
	}
	first, lead := add(2)
	if len(lead) != 2 || lead[1] != first {
		t.Fatalf("a caller alone commits %d operations, want his own and the one before", len(lead))
	}
	var others []*job
	for n := range uint64(3) {
		j, theirs := add(3 + n)
		if theirs != nil {
			t.Errorf("operation %d is committed by its caller, while another caller commits", n)
		}
		others = append(others, j)
	}
	d.lead(lead)
	for _, j := range append(others, first) {
		if err := <-j.answer; err != nil {
			t.Error(err)
		}
	}
	settle(d)
	for n, want := range []bool{false, true} {
		j, lead := add(6 + uint64(n))
		if (lead != nil) != want {
			t.Errorf("write %d after a group of three: committed by its caller: %v, want %v", n, lead != nil, want)
		}
		if lead != nil {
			d.lead(lead)
		}
		if err := <-j.answer; err != nil {
			t.Error(err)
		}
		settle(d)
	}
	if got := numbers(t, d); !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("%v is there", got)
	}
}
