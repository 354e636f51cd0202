package codec

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

// Any text of a key file is read as keys or refused, and no error contains part of a key.
func FuzzKeyFile(f *testing.F) {
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	for _, text := range []string{
		"k1 " + key + "\n", "# a comment\n\nk2 " + key + "\nk1 " + key + "\n", NoKey + "\nk1 " + key + "\n", "k1 " + key + "\nk1 " + key + "\n",
		"k1 " + key[:len(key)-4] + "\n", "k1\n", key, "k/1 " + key, "", "\xff\x00",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parseKeys(text)
		if (keys == nil) != (err != nil) {
			t.Errorf("%v, %v", keys, err)
		}
		if err != nil && strings.Contains(err.Error(), key[:20]) {
			t.Errorf("the error shows a key: %v", err)
		}
		if err == nil && keys.current != "" && keys.keys[keys.current] == nil {
			t.Errorf("the current key %q is not in the file", keys.current)
		}
	})
}

// A header that is read encodes to the same bytes.
func FuzzHeader(f *testing.F) {
	for _, h := range []header{{}, {compressed: true}, {key: "k1", wrapped: []byte("wrapped")}} {
		f.Add(append(h.encode(), "body"...))
		f.Add(h.encode()[:1])
	}
	f.Add([]byte{marker, flagEncrypted, 255, 0})
	f.Add([]byte{marker, 128})
	f.Fuzz(func(t *testing.T, stored []byte) {
		h, rest, err := decodeHeader(stored)
		if err == nil && !bytes.Equal(append(h.encode(), rest...)[1:], stored[1:]) {
			t.Errorf("%x is read as %+v and %x", stored, h, rest)
		}
	})
}
