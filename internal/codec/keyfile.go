package codec

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// NoKey in place of the first key encrypts nothing new, and lets encrypted bodies be read.
const NoKey = "none"

const keyFileHelp = "give a line for each key, as made by: echo \"2026-11 $(openssl rand -base64 32)\""

// isKeyID reports whether a text has 1 to 64 letters, digits, and "._-".
func isKeyID(s string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	return len(s) > 0 && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(characters, r) })
}

// fileKeys are the keys of a file.
type fileKeys struct {
	current string
	keys    map[string]cipher.AEAD
}

// ReadKeyFile reads a file of keys: a line for each, with its id, a space, and 32 bytes in base64.
// The first key encrypts everything that is written from now on, and all of them open what was
// written before. The line "none" in the first place encrypts nothing new. Empty lines, and those
// that begin with #, are ignored. Only the file's owner may be able to read it.
func ReadKeyFile(path string) (Keys, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the key file cannot be read: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("the key file cannot be read: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("the key file %s can be read by others (mode %#o): chmod 600 %s", path, mode, path)
	}
	k, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("the key file %s: %w", path, err)
	}
	return k, nil
}

func parseKeys(text []byte) (*fileKeys, error) {
	f := &fileKeys{keys: map[string]cipher.AEAD{}}
	first, n := true, 0
	for text := range strings.Lines(string(text)) {
		n++
		line := strings.Fields(text)
		if len(line) == 0 || strings.HasPrefix(line[0], "#") {
			continue
		}
		if !first || len(line) != 1 || line[0] != NoKey {
			id, err := f.add(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w; %s", n, err, keyFileHelp)
			}
			if first {
				f.current = id
			}
		}
		first = false
	}
	if first {
		return nil, errors.New("there is no key in it; " + keyFileHelp)
	}
	return f, nil
}

// add adds the key of a line. Its errors contain nothing of the key.
func (f *fileKeys) add(line []string) (id string, err error) {
	if len(line) != 2 {
		return "", fmt.Errorf("it has %d words instead of an id and a key", len(line))
	}
	id = line[0]
	if !isKeyID(id) || id == NoKey {
		return "", errors.New("the id is not made of 1 to 64 letters, digits, '.', '_' and '-'")
	}
	if f.keys[id] != nil {
		return "", fmt.Errorf("key %q is there twice", id)
	}
	key, err := base64.StdEncoding.DecodeString(line[1])
	if err != nil || len(key) != 32 {
		return "", fmt.Errorf("key %q is not 32 bytes in base64", id)
	}
	f.keys[id] = must(cipher.NewGCMWithRandomNonce(must(aes.NewCipher(key))))
	return id, nil
}

// Current implements Keys.
func (f *fileKeys) Current() string { return f.current }

// Generate implements Keys.
func (f *fileKeys) Generate(_ context.Context, namespace string) (plain [32]byte, wrapped []byte, err error) {
	_, _ = rand.Read(plain[:]) // crypto/rand.Read never fails
	return plain, f.keys[f.current].Seal(nil, nil, plain[:], wrapping(namespace, f.current)), nil
}

// Unwrap implements Keys.
func (f *fileKeys) Unwrap(_ context.Context, namespace, id string, wrapped []byte) (plain [32]byte, err error) {
	key := f.keys[id]
	if key == nil {
		return plain, fmt.Errorf("%w: key %q is not in the key file", ErrKey, id)
	}
	opened, err := key.Open(nil, nil, wrapped, wrapping(namespace, id))
	if err != nil || copy(plain[:], opened) != len(plain) {
		return plain, fmt.Errorf("%w: its data key was not wrapped by this key %q in namespace %q", ErrTampered, id, namespace)
	}
	return plain, nil
}

func wrapping(namespace, id string) []byte { return []byte("weft data key/" + namespace + "/" + id) }
