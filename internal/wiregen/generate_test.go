package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The codecs that are checked in are those that the structs' tags ask for.
func TestCodecsAreCurrent(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	for _, target := range targets {
		want, err := generate(root, target)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(root, target.dir, fileName)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s is out of date (%v): run go generate ./engine/internal/wire", target.dir, fileName, err)
		}
	}
}

// What cannot be encoded like the library does is refused, not left out.
func TestGenerateRefuses(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"X int":                                    `S.X: the tag "" is none of`,
		"X int `cbor:\"x\"`":                       `S.X: the tag "x" is none of`,
		"X int `cbor:\"64,keyasint\"`":             `S.X: the tag "64,keyasint" is none of`,
		"X int `cbor:\"1,keyasint,omitzero\"`":     `S.X: the tag "1,keyasint,omitzero" is none of`,
		"X map[int]int `cbor:\"1,keyasint\"`":      "no codec for map[int]int",
		"X int16 `cbor:\"1,keyasint\"`":            "no codec for int16",
		"X, Y int `cbor:\"1,keyasint\"`":           "S has the key 1 twice",
		"X [8]byte `cbor:\"1,keyasint\"`":          "no codec for [8]byte",
		"X interface{ A() } `cbor:\"1,keyasint\"`": "no codec for interface{A()}",
	} {
		root := t.TempDir()
		text := "package p\n\ntype S struct {\n\t" + field + "\n}\n"
		if err := os.WriteFile(filepath.Join(root, "p.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := generate(root, target{roots: []string{"S"}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", field, err, want)
		}
	}
}
