package seal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/seal"
)

// fileOf writes a key file with these lines and returns its path. A line that is one word gets a key of its own.
func fileOf(t testing.TB, lines ...string) string {
	t.Helper()
	var text strings.Builder
	for _, id := range lines {
		if id == seal.NoKey {
			fmt.Fprintln(&text, id)
			continue
		}
		key := bytes.Repeat([]byte{id[len(id)-1]}, 32)
		fmt.Fprintln(&text, id, base64.StdEncoding.EncodeToString(key))
	}
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func keysOf(t testing.TB, lines ...string) seal.Keys {
	t.Helper()
	keys, err := seal.ReadKeyFile(fileOf(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func sealed(t testing.TB, s *seal.Sealer, place string, body []byte) []byte {
	t.Helper()
	stored, err := s.Seal(t.Context(), place, body)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// opens wants a stored form to open to a body.
func opens(t testing.TB, s *seal.Sealer, place string, stored, body []byte) {
	t.Helper()
	got, err := s.Open(t.Context(), place, stored)
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("opened to %d bytes, %v; want the %d of the body", len(got), err, len(body))
	}
}

// refuses wants a stored form not to open, because of want.
func refuses(t testing.TB, s *seal.Sealer, place string, stored []byte, want error) {
	t.Helper()
	if got, err := s.Open(t.Context(), place, stored); !errors.Is(err, want) || got != nil {
		t.Errorf("opened to %q, %v; want the error %q", got, err, want)
	}
}

var (
	secret = []byte("\x01a secret of four words")
	long   = bytes.Repeat([]byte("all work and no play. "), 300)
	odd    = []byte{history.Sealed, 2, 0, 0, 0}
)

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]seal.Options{
		"plain":                    {},
		"compressed":               {Compress: true},
		"encrypted":                {Keys: keysOf(t, "k1")},
		"compressed and encrypted": {Keys: keysOf(t, "k1"), Compress: true},
		"switched off":             {Keys: keysOf(t, seal.NoKey, "k1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := seal.New(o)
			for _, body := range [][]byte{nil, {0}, secret, long, odd, {history.Sealed}} {
				stored := sealed(t, s, "here", body)
				opens(t, s, "here", stored, body)
				encrypts := o.Keys != nil && o.Keys.Current() != ""
				if encrypts && len(body) > 1 && bytes.Contains(stored, body) {
					t.Error("what is stored has the body in it")
				}
				if !encrypts && !o.Compress && !bytes.Equal(stored, body) && (len(body) == 0 || body[0] != history.Sealed) {
					t.Errorf("a plain body is stored as %q", stored)
				}
				if o.Compress && len(body) == len(long) && len(stored) > len(body)/10 {
					t.Errorf("%d bytes of repeated text are stored as %d", len(body), len(stored))
				}
			}
		})
	}
}

// A body that was sealed is no body that anything decodes.
func TestSealedIsNoBody(t *testing.T) {
	t.Parallel()
	stored := sealed(t, seal.New(seal.Options{Keys: keysOf(t, "k1")}), "here", secret)
	if err := history.DecodeBody(stored, new(string)); !errors.Is(err, history.ErrSealed) {
		t.Errorf("decoded: %v", err)
	}
	if _, err := history.Decode(0, stored); !errors.Is(err, history.ErrSealed) {
		t.Errorf("decoded: %v", err)
	}
}

// The identical put has the identical bytes, and no other has.
func TestRepeatedSealIsIdentical(t *testing.T) {
	t.Parallel()
	s := seal.New(seal.Options{Keys: keysOf(t, "k1"), Compress: true})
	for _, body := range [][]byte{secret, long} {
		first := sealed(t, s, "here", body)
		if !bytes.Equal(first, sealed(t, s, "here", body)) {
			t.Error("the same body at the same place has two forms")
		}
		other := append(bytes.Clone(body), 'x')
		if nonce(first) == nonce(sealed(t, s, "here", other)) || nonce(first) == nonce(sealed(t, s, "there", body)) {
			t.Error("two bodies share a nonce")
		}
	}
}

// nonce is that of a body that was sealed with key k1 of a file: behind two bytes, the id and the wrapped data key.
func nonce(stored []byte) string {
	const before = 2 + 1 + len("k1") + 2 + 12 + 32 + 16
	return string(stored[before : before+12])
}

// A body opens in no other place, namespace or with another key, and not when any bit of it was changed.
func TestTampering(t *testing.T) {
	t.Parallel()
	s := seal.New(seal.Options{Keys: keysOf(t, "k1")})
	stored := sealed(t, s, "here", secret)
	refuses(t, s, "there", stored, seal.ErrTampered)
	refuses(t, seal.New(seal.Options{Namespace: "other", Keys: keysOf(t, "k1")}), "here", stored, seal.ErrTampered)
	for i := 2; i < len(stored); i++ {
		changed := bytes.Clone(stored)
		changed[i] ^= 0x40
		if got, err := s.Open(t.Context(), "here", changed); !errors.Is(err, seal.ErrTampered) && !errors.Is(err, seal.ErrKey) {
			t.Errorf("with byte %d changed it opens to %q, %v", i, got, err)
		}
		if got, err := s.Open(t.Context(), "here", stored[:i]); !errors.Is(err, seal.ErrTampered) {
			t.Errorf("cut to %d bytes it opens to %q, %v", i, got, err)
		}
	}
	refuses(t, s, "here", []byte{history.Sealed}, seal.ErrTampered)
	refuses(t, s, "here", []byte{history.Sealed, 0x80}, seal.ErrKey)
	refuses(t, s, "here", []byte{history.Sealed, 1, 'n', 'o'}, seal.ErrTampered)
}

// Keys are rotated by a new one in the first place. An old one that is taken away leaves what it encrypted closed, and says
// which key is missing; the wrong bytes under its name say so, too.
func TestRotation(t *testing.T) {
	t.Parallel()
	before := seal.New(seal.Options{Keys: keysOf(t, "k1")})
	old := sealed(t, before, "here", secret)
	rotated := seal.New(seal.Options{Keys: keysOf(t, "k2", "k1")})
	opens(t, rotated, "here", old, secret)
	opens(t, rotated, "here", secret, secret)
	young := sealed(t, rotated, "here", secret)
	refuses(t, before, "here", young, seal.ErrKey)
	for _, without := range []seal.Options{{Keys: keysOf(t, "k2")}, {}} {
		refuses(t, seal.New(without), "here", old, seal.ErrKey)
		if _, err := seal.New(without).Open(t.Context(), "here", old); !strings.Contains(err.Error(), `"k1"`) {
			t.Errorf("the error does not name the key: %v", err)
		}
	}
	path := fileOf(t, "k1")
	wrong := "k1 " + base64.StdEncoding.EncodeToString(make([]byte, 32))
	if err := os.WriteFile(path, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := seal.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, seal.New(seal.Options{Keys: keys}), "here", old, seal.ErrTampered)
	off := seal.New(seal.Options{Keys: keysOf(t, seal.NoKey, "k1")})
	opens(t, off, "here", old, secret)
}

// counted counts what is asked of keys, and fails while there is a reason.
type counted struct {
	seal.Keys
	mu                  sync.Mutex
	generated, unwraped int
	fail                error
}

func (c *counted) Generate(ctx context.Context, namespace string) ([32]byte, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generated++
	if c.fail != nil {
		return [32]byte{}, nil, c.fail
	}
	return c.Keys.Generate(ctx, namespace)
}

func (c *counted) Unwrap(ctx context.Context, namespace, id string, wrapped []byte) ([32]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwraped++
	if c.fail != nil {
		return [32]byte{}, c.fail
	}
	return c.Keys.Unwrap(ctx, namespace, id, wrapped)
}

func (c *counted) asked(t *testing.T, generated, unwrapped int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generated != generated || c.unwraped != unwrapped {
		t.Errorf("asked for %d data keys and to unwrap %d, want %d and %d", c.generated, c.unwraped, generated, unwrapped)
	}
}

// A data key serves for its age and its uses, and one that was unwrapped for its age.
func TestDataKeysAreKept(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	keys := &counted{Keys: keysOf(t, "k1")}
	o := seal.Options{Keys: keys, MaxUses: 3, MaxAge: time.Hour, Clock: func() time.Time { return now }}
	s := seal.New(o)
	keys.asked(t, 0, 0)
	var all [][]byte
	for range 3 {
		all = append(all, sealed(t, s, "here", secret))
	}
	keys.asked(t, 1, 0)
	all = append(all, sealed(t, s, "here", secret)) // one use too many
	keys.asked(t, 2, 0)
	now = now.Add(time.Hour)
	all = append(all, sealed(t, s, "here", secret)) // too old
	keys.asked(t, 3, 0)
	reader := seal.New(o)
	for range 2 {
		for _, stored := range all {
			opens(t, reader, "here", stored, secret)
		}
	}
	keys.asked(t, 3, 3)
	now = now.Add(time.Hour)
	opens(t, reader, "here", all[0], secret)
	keys.asked(t, 3, 4)
}

func TestKeyFiles(t *testing.T) {
	t.Parallel()
	good := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for text, want := range map[string]string{
		"":                            "there is no key in it",
		"# nothing\n\n":               "there is no key in it",
		"k1":                          "line 1: it has 1 words",
		"k1 " + good + " more":        "line 1: it has 3 words",
		"k/1 " + good:                 "the id is not made of",
		"none " + good:                "the id is not made of",
		"# a\nk1 c2VjcmV0":            `line 2: key "k1" is not 32 bytes in base64`,
		"k1 not-base64":               `key "k1" is not 32 bytes in base64`,
		"k1 " + good + "\nk1 " + good: `there is a key "k1" before`,
		"k1 " + good + "\nnone":       "line 2: it has 1 words",
		"k1 " + good + "\n" + strings.Repeat("k", 1<<17): "line 2: it has 1 words",
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := seal.ReadKeyFile(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "openssl rand -base64 32") {
			t.Errorf("%q: %v, want %q and how to make one", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), good) || strings.Contains(err.Error(), "c2VjcmV0")) {
			t.Errorf("the error has the key in it: %v", err)
		}
	}
	path := fileOf(t, "k1")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.ReadKeyFile(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that everybody can read: %v", err)
	}
	if _, err := seal.ReadKeyFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// Nothing that is stored makes Open panic, or open to what nobody sealed.
func FuzzOpen(f *testing.F) {
	s := seal.New(seal.Options{Keys: keysOf(f, "k1"), Compress: true})
	plain := seal.New(seal.Options{Compress: true})
	for _, body := range [][]byte{secret, long, odd} {
		for _, sealer := range []*seal.Sealer{s, plain} {
			f.Add(sealed(f, sealer, "here", body))
		}
	}
	f.Add([]byte{})
	f.Add([]byte{history.Sealed, 2, 255})
	f.Fuzz(func(t *testing.T, stored []byte) {
		body, err := s.Open(t.Context(), "here", stored)
		switch {
		case err != nil && body != nil:
			t.Errorf("a body and an error: %v", err)
		case err != nil && !errors.Is(err, seal.ErrKey) && !errors.Is(err, seal.ErrGone) && !errors.Is(err, seal.ErrTampered):
			t.Errorf("an error that is for now: %v", err)
		case err == nil && len(stored) > 1 && stored[0] == history.Sealed && stored[1]&2 != 0:
			if !bytes.Equal(stored, sealed(t, s, "here", body)) && !bytes.Equal(body, secret) && !bytes.Equal(body, long) && !bytes.Equal(body, odd) {
				t.Errorf("%q opens to what nobody sealed: %q", stored, body)
			}
		}
	})
}
