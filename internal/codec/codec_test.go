package codec_test

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
	"github.com/seed-41655fb1/weft/internal/codec"
)

// fileOf writes a key file with these lines and returns its path. A line that is one word gets a
// key of its own.
func fileOf(t testing.TB, lines ...string) string {
	t.Helper()
	var text strings.Builder
	for _, id := range lines {
		if id == codec.NoKey {
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

func keysOf(t testing.TB, lines ...string) codec.Keys {
	t.Helper()
	keys, err := codec.ReadKeyFile(fileOf(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func encoded(t testing.TB, s *codec.Codec, place string, body []byte) []byte {
	t.Helper()
	stored, err := s.Encode(t.Context(), place, body)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// opens fails the test if a stored form does not open to a body.
func opens(t testing.TB, s *codec.Codec, place string, stored, body []byte) {
	t.Helper()
	got, err := s.Open(t.Context(), place, stored)
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("opened to %d bytes, %v; want the %d of the body", len(got), err, len(body))
	}
}

// refuses fails the test unless a stored form fails to open with the error want.
func refuses(t testing.TB, s *codec.Codec, place string, stored []byte, want error) {
	t.Helper()
	if got, err := s.Open(t.Context(), place, stored); !errors.Is(err, want) || got != nil {
		t.Errorf("opened to %q, %v; want the error %q", got, err, want)
	}
}

var (
	secret = []byte("\x01a secret of four words")
	long   = bytes.Repeat([]byte("all work and no play. "), 300)
	odd    = []byte{history.Encoded, 2, 0, 0, 0}
)

func TestEncodeAndOpen(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]codec.Options{
		"plain":                    {},
		"compressed":               {Compress: true},
		"encrypted":                {Keys: keysOf(t, "k1")},
		"compressed and encrypted": {Keys: keysOf(t, "k1"), Compress: true},
		"switched off":             {Keys: keysOf(t, codec.NoKey, "k1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := codec.New(o)
			for _, body := range [][]byte{nil, {0}, secret, long, odd, {history.Encoded}} {
				stored := encoded(t, s, "here", body)
				opens(t, s, "here", stored, body)
				encrypts := o.Keys != nil && o.Keys.Current() != ""
				if encrypts && len(body) > 1 && bytes.Contains(stored, body) {
					t.Error("what is stored has the body in it")
				}
				if !encrypts && !o.Compress && !bytes.Equal(stored, body) && (len(body) == 0 || body[0] != history.Encoded) {
					t.Errorf("a plain body is stored as %q", stored)
				}
				if o.Compress && len(body) == len(long) && len(stored) > len(body)/10 {
					t.Errorf("%d bytes of repeated text are stored as %d", len(body), len(stored))
				}
			}
		})
	}
}

// A body that is still encoded does not decode.
func TestEncodedBodiesDoNotDecode(t *testing.T) {
	t.Parallel()
	stored := encoded(t, codec.New(codec.Options{Keys: keysOf(t, "k1")}), "here", secret)
	if err := history.DecodeBody(stored, new(string)); !errors.Is(err, history.ErrEncoded) {
		t.Errorf("decoded: %v", err)
	}
	if _, err := history.Decode(0, stored); !errors.Is(err, history.ErrEncoded) {
		t.Errorf("decoded: %v", err)
	}
}

// An identical put has identical bytes; different puts do not.
func TestRepeatedEncodingIsIdentical(t *testing.T) {
	t.Parallel()
	s := codec.New(codec.Options{Keys: keysOf(t, "k1"), Compress: true})
	for _, body := range [][]byte{secret, long} {
		first := encoded(t, s, "here", body)
		if !bytes.Equal(first, encoded(t, s, "here", body)) {
			t.Error("the same body at the same place has two forms")
		}
		other := append(bytes.Clone(body), 'x')
		if nonce(first) == nonce(encoded(t, s, "here", other)) || nonce(first) == nonce(encoded(t, s, "there", body)) {
			t.Error("two bodies share a nonce")
		}
	}
}

// nonce is that of a body that was encoded with key k1 of a file: behind two bytes, the id and the
// wrapped data key.
func nonce(stored []byte) string {
	const before = 2 + 1 + len("k1") + 2 + 12 + 32 + 16
	return string(stored[before : before+12])
}

// A body does not open in another place or namespace, with another key, or with any bit changed.
func TestTampering(t *testing.T) {
	t.Parallel()
	s := codec.New(codec.Options{Keys: keysOf(t, "k1")})
	stored := encoded(t, s, "here", secret)
	refuses(t, s, "there", stored, codec.ErrTampered)
	refuses(t, codec.New(codec.Options{Namespace: "other", Keys: keysOf(t, "k1")}), "here", stored, codec.ErrTampered)
	for i := 2; i < len(stored); i++ {
		changed := bytes.Clone(stored)
		changed[i] ^= 0x40
		if got, err := s.Open(t.Context(), "here", changed); !errors.Is(err, codec.ErrTampered) && !errors.Is(err, codec.ErrKey) {
			t.Errorf("with byte %d changed it opens to %q, %v", i, got, err)
		}
		if got, err := s.Open(t.Context(), "here", stored[:i]); !errors.Is(err, codec.ErrTampered) {
			t.Errorf("cut to %d bytes it opens to %q, %v", i, got, err)
		}
	}
	refuses(t, s, "here", []byte{history.Encoded}, codec.ErrTampered)
	refuses(t, s, "here", []byte{history.Encoded, 0x80}, codec.ErrKey)
	refuses(t, s, "here", []byte{history.Encoded, 1, 'n', 'o'}, codec.ErrTampered)
}

// A new key in the first place rotates the keys. Without an old key, what it encrypted does not
// open, and the error names the missing key. So does the error for the wrong bytes under its name.
func TestRotation(t *testing.T) {
	t.Parallel()
	before := codec.New(codec.Options{Keys: keysOf(t, "k1")})
	old := encoded(t, before, "here", secret)
	rotated := codec.New(codec.Options{Keys: keysOf(t, "k2", "k1")})
	opens(t, rotated, "here", old, secret)
	opens(t, rotated, "here", secret, secret)
	young := encoded(t, rotated, "here", secret)
	refuses(t, before, "here", young, codec.ErrKey)
	for _, without := range []codec.Options{{Keys: keysOf(t, "k2")}, {}} {
		refuses(t, codec.New(without), "here", old, codec.ErrKey)
		if _, err := codec.New(without).Open(t.Context(), "here", old); !strings.Contains(err.Error(), `"k1"`) {
			t.Errorf("the error does not name the key: %v", err)
		}
	}
	path := fileOf(t, "k1")
	wrong := "k1 " + base64.StdEncoding.EncodeToString(make([]byte, 32))
	if err := os.WriteFile(path, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := codec.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, codec.New(codec.Options{Keys: keys}), "here", old, codec.ErrTampered)
	off := codec.New(codec.Options{Keys: keysOf(t, codec.NoKey, "k1")})
	opens(t, off, "here", old, secret)
}

// counted counts the calls to keys, and fails them with fail if it is set.
type counted struct {
	codec.Keys
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

// A data key is used until it reaches its age or its uses, and one that was unwrapped until its
// age.
func TestDataKeysAreKept(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	keys := &counted{Keys: keysOf(t, "k1")}
	o := codec.Options{Keys: keys, MaxUses: 3, MaxAge: time.Hour, Clock: func() time.Time { return now }}
	s := codec.New(o)
	keys.asked(t, 0, 0)
	var all [][]byte
	for range 3 {
		all = append(all, encoded(t, s, "here", secret))
	}
	keys.asked(t, 1, 0)
	all = append(all, encoded(t, s, "here", secret)) // one use too many
	keys.asked(t, 2, 0)
	now = now.Add(time.Hour)
	all = append(all, encoded(t, s, "here", secret)) // too old
	keys.asked(t, 3, 0)
	reader := codec.New(o)
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
		"k1 " + good + "\nk1 " + good: `key "k1" is there twice`,
		"k1 " + good + "\nnone":       "line 2: it has 1 words",
		"k1 " + good + "\n" + strings.Repeat("k", 1<<17): "line 2: it has 1 words",
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := codec.ReadKeyFile(path)
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
	if _, err := codec.ReadKeyFile(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that everybody can read: %v", err)
	}
	if _, err := codec.ReadKeyFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// No stored bytes make Open panic, and Open returns only bodies that were encoded.
func FuzzOpen(f *testing.F) {
	s := codec.New(codec.Options{Keys: keysOf(f, "k1"), Compress: true})
	plain := codec.New(codec.Options{Compress: true})
	for _, body := range [][]byte{secret, long, odd} {
		for _, codec := range []*codec.Codec{s, plain} {
			f.Add(encoded(f, codec, "here", body))
		}
	}
	f.Add([]byte{})
	f.Add([]byte{history.Encoded, 2, 255})
	f.Fuzz(func(t *testing.T, stored []byte) {
		body, err := s.Open(t.Context(), "here", stored)
		switch {
		case err != nil && body != nil:
			t.Errorf("a body and an error: %v", err)
		case err != nil && !errors.Is(err, codec.ErrKey) && !errors.Is(err, codec.ErrGone) && !errors.Is(err, codec.ErrTampered):
			t.Errorf("an error that is for now: %v", err)
		case err == nil && len(stored) > 1 && stored[0] == history.Encoded && stored[1]&2 != 0:
			if !bytes.Equal(stored, encoded(t, s, "here", body)) && !bytes.Equal(body, secret) && !bytes.Equal(body, long) && !bytes.Equal(body, odd) {
				t.Errorf("%q opens to a body that nobody encoded: %q", stored, body)
			}
		}
	})
}
