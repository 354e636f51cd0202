// Package blobtest is the conformance suite of the blob port, and its specification in code: every
// adapter passes it.
package blobtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/blob"
)

// Run tests an adapter. place makes a place for blobs and returns a function that opens the blobs
// in it. Each test has a place of its own. The suite opens a place again only when it no longer
// uses the blobs that it opened before.
func Run(t *testing.T, place func(t *testing.T) (open func() blob.Blobs)) {
	for name, test := range map[string]func(*fixture){
		"a blob is visible after its put": (*fixture).put,
		"keys and bodies of any kind":     (*fixture).values,
		"a missing blob":                  (*fixture).missing,
		"a list by keys":                  (*fixture).list,
		"deleted blobs are gone":          (*fixture).delete,
		"concurrent calls":                (*fixture).parallel,
		"too large":                       (*fixture).large,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := place(t)
			test(&fixture{T: t, open: open, blobs: open()})
		})
	}
}

// Damaged tests what an adapter does with a blob that is damaged while it is not open. damage
// damages the blob with a key.
func Damaged(t *testing.T, open func() blob.Blobs, damage func(key string)) {
	t.Helper()
	f := &fixture{T: t, open: open, blobs: open()}
	for _, key := range []string{"a/1", "a/2", "a/3"} {
		f.keep(key, []byte("body of "+key))
	}
	damage("a/2")
	f.blobs = f.open()
	if body, err := f.blobs.Get(f.Context(), "a/2"); !errors.Is(err, blob.ErrCorrupt) || body != nil {
		f.Errorf("the damaged blob is %q, %v; want ErrCorrupt", body, err)
	}
	f.holds("a/1", []byte("body of a/1"))
	if got := f.keys("a/", "", 10); !slices.Equal(got, []string{"a/1", "a/3"}) {
		f.Errorf("listed are %q, want those that are sound", got)
	}
	f.keep("a/2", []byte("again"))
	f.holds("a/2", []byte("again"))
	if err := f.blobs.Delete(f.Context(), "a/2"); err != nil {
		f.Error(err)
	}
	f.lacks("a/2")
}

type fixture struct {
	*testing.T
	open  func() blob.Blobs
	blobs blob.Blobs
}

func (f *fixture) keep(key string, body []byte) {
	f.Helper()
	if err := f.blobs.Put(f.Context(), key, body); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) holds(key string, want []byte) {
	f.Helper()
	got, err := f.blobs.Get(f.Context(), key)
	if err != nil || !bytes.Equal(got, want) {
		f.Errorf("%s has %d bytes, %v; want %d", key, len(got), err, len(want))
	}
}

func (f *fixture) lacks(key string) {
	f.Helper()
	if body, err := f.blobs.Get(f.Context(), key); !errors.Is(err, blob.ErrMissing) {
		f.Errorf("%s has %d bytes, %v; want ErrMissing", key, len(body), err)
	}
}

func (f *fixture) keys(prefix, after string, limit int) (keys []string) {
	f.Helper()
	list, err := f.blobs.List(f.Context(), prefix, after, limit)
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range list {
		keys = append(keys, l.Key)
	}
	return keys
}

func (f *fixture) put() {
	body := bytes.Repeat([]byte("large "), 1<<20)
	before := time.Now().Add(-time.Minute) // the server's clock may differ
	f.keep("a/b", body)
	f.keep("a/b", body)
	f.holds("a/b", body)
	f.blobs = f.open()
	f.holds("a/b", body)
	list, err := f.blobs.List(f.Context(), "a/", "", 10)
	if err != nil || len(list) != 1 || list[0].Put.Before(before) || list[0].Put.Nanosecond() != 0 {
		f.Errorf("listed as %v, %v", list, err)
	}
}

func (f *fixture) values() {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for key, body := range map[string][]byte{
		"a": {0}, "a/b/c": all, "with%20escape/1": []byte("x"), "~a.b_c-d": all, strings.Repeat("k", blob.MaxKey): []byte("long"),
	} {
		f.keep(key, body)
		f.holds(key, body)
	}
}

func (f *fixture) missing() {
	f.lacks("a")
	f.keep("a/b", []byte("x"))
	f.lacks("a")
	f.lacks("a/")
	f.lacks("a/b/c")
	if err := f.blobs.Delete(f.Context(), "nothing", "a/"); err != nil {
		f.Error(err)
	}
	if err := f.blobs.Delete(f.Context()); err != nil {
		f.Error(err)
	}
	f.holds("a/b", []byte("x"))
}

func (f *fixture) list() {
	var all []string
	for i := range 12 {
		key := fmt.Sprintf("a/%02d", i)
		f.keep(key, []byte("x"))
		all = append(all, key)
	}
	f.keep("A/1", []byte("x"))
	f.keep("b/1", []byte("x"))
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"a/", "", 1000, all},
		{"a/", "", 5, all[:5]},
		{"a/", "a/04", 5, all[5:10]},
		{"a/", "a/045", 100, all[5:]},
		{"a/", "a/11", 5, nil},
		{"a/", "a/zz", 5, nil},
		{"a/0", "a/08", 5, all[9:10]},
		{"b", "", 5, []string{"b/1"}},
		{"c", "", 5, nil},
	} {
		if got := f.keys(c.prefix, c.after, c.limit); !slices.Equal(got, c.want) {
			f.Errorf("%d of %q after %q: %q, want %q", c.limit, c.prefix, c.after, got, c.want)
		}
	}
}

func (f *fixture) delete() {
	for _, key := range []string{"a/1", "a/2", "a/3"} {
		f.keep(key, []byte(key))
	}
	if err := f.blobs.Delete(f.Context(), "a/1", "a/3"); err != nil {
		f.Fatal(err)
	}
	f.lacks("a/1")
	f.holds("a/2", []byte("a/2"))
	if got := f.keys("a/", "", 10); !slices.Equal(got, []string{"a/2"}) {
		f.Errorf("there are %q", got)
	}
	f.keep("a/1", []byte("again"))
	f.holds("a/1", []byte("again"))
}

func (f *fixture) parallel() {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			key := fmt.Sprintf("p/%02d", i)
			body := bytes.Repeat([]byte{byte(i)}, 10_000)
			if err := f.blobs.Put(f.Context(), key, body); err != nil {
				f.Errorf("put: %v", err)
			}
			if got, err := f.blobs.Get(f.Context(), key); err != nil || !bytes.Equal(got, body) {
				f.Errorf("%s has %d bytes, %v", key, len(got), err)
			}
		})
	}
	all.Wait()
	if n := len(f.keys("p/", "", 100)); n != 20 {
		f.Errorf("there are %d", n)
	}
}

func (f *fixture) large() {
	if err := f.blobs.Put(f.Context(), "a", make([]byte, blob.MaxBody+1)); !errors.Is(err, blob.ErrTooLarge) {
		f.Errorf("put: %v, want ErrTooLarge", err)
	}
	f.lacks("a")
}
